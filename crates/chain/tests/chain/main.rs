//! Tests of the chain table against the specification, the recorded nodes and the workspace.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

mod any_bytes;
mod genesis;
mod mainnet;
mod method_lists;
mod networks;
mod recorded_blocks;
mod ring;
mod ring_bytes;
mod ring_check;
mod tenth_chain;
