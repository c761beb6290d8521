//! Nodes as they are talked to: scripted ones that do what no good node does, and live ones.
//!
//! `memory` is a program of its own, since it looks at all that its process holds.

#![allow(clippy::unwrap_used, reason = "a test says with a panic what went wrong")]

mod answers;
mod batches;
mod bounds;
mod choice;
mod connections;
mod credentials;
mod inspect;
mod lanes;
mod news;
mod probes;
mod raw_blocks;
mod refusals;
mod scripted;
mod slow_readers;
mod tls;
mod websocket;
mod wire;
