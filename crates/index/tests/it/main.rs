//! The indexes held against the truth: rows, rounds and nodes, a module each.

#![allow(clippy::unwrap_used, reason = "a test says with a panic what went wrong")]

mod live;
mod ring;
mod utxo;
