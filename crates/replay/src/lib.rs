//! Recorded nodes over real HTTP: what `portolan demo` runs on, and the tests.
//!
//! [`Replay`] plays back what a real node of a chain answered, down to the byte: envelopes, HTTP
//! statuses, framing, quirks. [`Mock`] is the cheapest node there can be, for load tests. What an
//! answer means is not known here.
//!
//! Invariant: nothing that a client sends makes a replayed node panic or hang; a call that was not
//! recorded gets an error in the node's own shape, and not the one for a method that it lacks where
//! nodes of its chain have it.

#![warn(unreachable_pub)]

mod anvil;
mod auth;
mod canonical;
mod chunks;
mod core;
mod dcrd;
mod derived;
mod epee;
mod exchange;
mod geth;
mod go;
mod json;
mod mock;
mod monerod;
mod node;
mod options;
mod player;
mod recorded;
mod recording;
mod replay;
mod server;
mod sources;
mod spans;
mod univalue;
mod websocket;
mod wire;
mod zebrad;

pub use mock::{Mock, MockOptions};
pub use options::{Auth, Phase, ReplayOptions, Take, Tls, TlsError};
pub use player::Logged;
pub use recorded::{Recorded, RecordedKind, recorded, recorded_take};
pub use recording::Unreadable;
pub use replay::{Replay, ReplayError};
pub use wire::Framing;
