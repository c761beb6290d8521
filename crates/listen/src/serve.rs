//! What a service must offer to stand behind a listener.
//!
//! Leaves sockets, TLS and limits to the accept loop; a service sees whole request heads and the
//! address they came from. Invariant: every answer on a connection is the service's own, also
//! where the HTTP layer refuses a request before the service hears of it.

use std::error::Error;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};

use crate::request_body::RequestBody;

/// A service behind a listener.
pub trait Serve: Send + Sync + 'static {
    /// The body of its answers.
    type Body: http_body::Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>>
        + Send
        + 'static;

    /// Answers one request that came from `peer` (an IPv4 address mapped into IPv6 comes as IPv4).
    fn serve(
        self: &Arc<Self>,
        request: Request<RequestBody>,
        peer: IpAddr,
    ) -> impl Future<Output = Response<Self::Body>> + Send;

    /// Is that address a trusted proxy, whose connections many clients share?
    fn is_proxy(&self, peer: IpAddr) -> bool {
        let _ = peer;
        false
    }

    /// Every further request is to be refused: the socket is closed, and the process ends.
    fn refuse_further(&self) {}

    /// The answer to a request whose head cannot be read, is too large or came too slowly.
    ///
    /// It is sent with status 400 and `Connection: close`. Called once for each such answer.
    fn http_refusal(&self) -> HttpRefusal;
}

/// An answer to something that is not a request. It always has status 400.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRefusal {
    /// Value of `Content-Type`; ASCII without control characters.
    pub content_type: &'static str,
    /// Value of `X-Request-Id`; ASCII without control characters.
    pub request_id: String,
    /// The whole body.
    pub body: Bytes,
}
