//! Recorded nodes over real HTTP: what `portolan demo` runs on, and the tests.
//!
//! [`Replay`] plays back what a real node of a chain answered, down to the byte: envelopes, HTTP
//! statuses, framing, quirks. [`Mock`] is the cheapest node there can be, for load tests. What an
//! answer means is not known here.
//!
//! Invariant: nothing that a client sends makes a replayed node panic or hang; a call that was not
//! recorded gets an error in the node's own shape.

mod options;

pub use options::{Auth, Phase, ReplayOptions, Take, Tls, TlsError};
