//! Closing a connection in such a way that nobody takes a part of an answer for the whole.
//!
//! A socket that is closed as usual sends FIN, which to a client of HTTP/1.0, and to a proxy that
//! speaks it, is the end of an answer without a length. Invariant: after [`Reset::reset`] the close
//! sends RST.

use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// A connection that can be reset.
pub(crate) trait Reset {
    /// Makes the close of this connection a reset, and drops what was not sent yet.
    fn reset(&self);
}

impl Reset for TcpStream {
    fn reset(&self) {
        // Where the system refuses, the connection is gone already.
        let _ = self.set_zero_linger();
    }
}

impl Reset for TlsStream<TcpStream> {
    fn reset(&self) {
        self.get_ref().0.reset();
    }
}
