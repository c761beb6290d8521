//! The accept loop that all listeners share, and what the services behind it share of HTTP.
//!
//! Turns a bound socket into answered requests: connection cap, TLS, slow and oversized heads,
//! idle connections, drain. Services find here their request ids, the addresses of their clients,
//! CORS, and counts of requests and answers. Leaves what is answered to a [`Serve`]. Invariant:
//! every answer that leaves a connection carries `X-Request-Id`, those of the HTTP layer included,
//! and an answer that breaks off ends with a reset, never with an end that looks like its own.

mod accept;
mod bind;
mod client;
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
mod serve;
mod socket;
mod tls;
mod watch;

pub use accept::run;
pub use bind::{BindError, bind, connections_allowed, raise_open_files};
pub use client::client_address;
pub use cors::Cors;
pub use counters::{Counters, Labels};
pub use drain::{Drain, Phase};
pub use in_flight::{InFlight, Places};
pub use limits::Limits;
pub use request_body::RequestBody;
pub use request_id::RequestId;
pub use serve::{HttpRefusal, Serve};
pub use tls::{Renewed, Tls, TlsError};
