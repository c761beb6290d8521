//! What the tests of other crates lean on: live nodes, stub nodes, a proxy that breaks the network.

#![allow(clippy::unwrap_used, reason = "a test says with a panic what went wrong")]

mod chaos;
mod live;
mod stub;
