//! The explorer over real HTTP, on recorded nodes.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as expected")]
