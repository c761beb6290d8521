//! Replayed nodes over real HTTP: against every line that was recorded, against live nodes, and on
//! the wire.

#![allow(clippy::unwrap_used, reason = "a test says with a panic what went wrong")]

mod against_live;
mod every_line;
mod mock;
mod tls;
mod wire;
