//! Tests of the chain table against the specification, the recorded nodes and the workspace.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

mod genesis;
mod method_lists;
mod networks;
mod recording;
mod tenth_chain;
