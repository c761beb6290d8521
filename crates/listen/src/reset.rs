//! Resets of a connection: ours, so that nobody takes a part of an answer for the whole, and the
//! client's, who is gone then.
//!
//! A socket that is closed as usual sends FIN, which to a client of HTTP/1.0, and to a proxy that
//! speaks it, is the end of an answer without a length. Invariant: after [`Reset::reset`] the close
//! sends RST.

use std::io;
use std::task::{Context, Poll};

use tokio::io::ReadBuf;
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// A connection that can be reset.
pub(crate) trait Reset {
    /// Makes the close of this connection a reset, and drops what was not sent yet.
    fn reset(&self);

    /// Ready once the client has reset it, or broken TLS off without the word that ends it. Not to be
    /// seen behind bytes that came before and were not read, nor behind an end in good order: there it
    /// shows when something is written.
    fn poll_reset(&self, cx: &mut Context<'_>) -> Poll<io::Error>;
}

impl Reset for TcpStream {
    fn reset(&self) {
        // Where the system refuses, the connection is gone already.
        let _ = self.set_zero_linger();
    }

    fn poll_reset(&self, cx: &mut Context<'_>) -> Poll<io::Error> {
        match self.poll_peek(cx, &mut ReadBuf::new(&mut [0])) {
            Poll::Ready(Err(error)) => Poll::Ready(error),
            // More bytes, or the end of one that still waits for its answer.
            Poll::Ready(Ok(_)) | Poll::Pending => Poll::Pending,
        }
    }
}

impl Reset for TlsStream<TcpStream> {
    fn reset(&self) {
        self.get_ref().0.reset();
    }

    fn poll_reset(&self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let (tcp, tls) = self.get_ref();
        match tcp.poll_peek(cx, &mut ReadBuf::new(&mut [0])) {
            Poll::Ready(Err(error)) => Poll::Ready(error),
            // Once that word has come nothing is to be read any more.
            Poll::Ready(Ok(0)) if tls.wants_read() => {
                Poll::Ready(io::ErrorKind::UnexpectedEof.into())
            }
            Poll::Ready(Ok(_)) | Poll::Pending => Poll::Pending,
        }
    }
}
