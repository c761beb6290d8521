//! What a service left of a request's body, on its way back to the connection.
//!
//! Leaves reading it to `request_body`.

use hyper::body::Incoming;

/// A body that was not read to its end.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) body: Incoming,
    /// Was it read at all? Then a client that waits for `100 Continue` has been told to send it.
    pub(crate) touched: bool,
}
