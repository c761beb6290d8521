//! The accept loop that all listeners share.
//!
//! Turns a bound socket into answered requests: connection cap, TLS, slow and oversized heads,
//! idle connections, drain. Leaves what is answered to a [`Serve`]. Invariant: every answer that
//! leaves a connection carries `X-Request-Id`, those of the HTTP layer included.

mod limits;
mod serve;

pub use limits::Limits;
pub use serve::{HttpRefusal, Serve};
