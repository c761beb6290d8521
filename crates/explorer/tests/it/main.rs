//! The explorer over real HTTP, a module a family, and the documents of its interface.

#![allow(clippy::unwrap_used, reason = "a test says with a panic what went wrong")]

mod account;
mod generators;
mod interface;
mod ring;
mod utxo;
