//! The accept loop that all listeners share, and what the services behind it share of HTTP.
//!
//! Turns a bound socket into answered requests: connection cap, TLS, slow and oversized heads,
//! idle connections, drain. Services find here what all of them have: what they go by and what they
//! have on their hands ([`Running`]), a request on its way ([`Visit`]), their [`Clients`], request
//! ids, and counts of requests and answers. Leaves what is answered to a [`Serve`]. Invariant:
//! every answer that leaves a connection carries `X-Request-Id`, those of the HTTP layer included,
//! and an answer that breaks off ends with a reset, never with an end that looks like its own.

#![warn(unreachable_pub)]

mod accept;
mod bind;
mod clients;
mod connection;
mod cors;
mod counters;
mod drain;
mod in_flight;
mod limits;
mod refusal;
mod request_body;
mod request_id;
mod reset;
mod running;
mod serve;
mod socket;
mod tls;
mod turns;
mod unread;
mod visit;
mod watch;
mod workers;

pub use accept::{run, run_on};
pub use bind::{BindError, bind, connections_allowed, raise_open_files};
pub use clients::Clients;
pub use cors::Cors;
pub use counters::{Counters, Label, Labels};
pub use drain::{Drain, Phase};
pub use in_flight::InFlight;
pub use limits::Limits;
pub use request_body::RequestBody;
pub use request_id::RequestId;
pub use running::{Counted, Running};
pub use serve::{HttpRefusal, Serve};
pub use tls::{Renewed, Tls, TlsError};
pub use visit::Visit;
pub use workers::{Threads, Workers};
