//! What tests need and a release does not: live nodes on loopback, a proxy that breaks the
//! network, the barest HTTP client, a look at a process from outside.
//!
//! Invariant: whatever is started here ends with the value that stands for it, also when a test
//! panics, and only by its own process id.

mod client;

pub use client::{Answer, Connection, exchange, free_port, get, post, request};
