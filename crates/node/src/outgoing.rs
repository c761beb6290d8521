//! A request on its way to a node: a head that is written as bytes, and a body.
//!
//! What stands in the head is left to `attempt`. Invariant: "not a byte was written" is said only
//! where it is certain.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::io::AsyncWrite;

use crate::stream::Socket;

/// Bodies up to so many bytes go out in one piece with their heads; the copy is cheaper than a
/// second write.
const COPIED_BYTES: usize = 8 << 10;

/// What is to be written over a connection. Its buffer is kept from request to request.
#[derive(Default)]
pub(crate) struct Outgoing {
    head: Vec<u8>,
    body: Bytes,
    written: usize,
    /// TLS broke while it wrote, and does not say what went out before.
    doubtful: bool,
    flushed: bool,
}

impl Outgoing {
    /// Begins a request; its head is to be written into what is returned.
    pub(crate) fn begin(&mut self, body: Bytes) -> &mut Vec<u8> {
        self.head.clear();
        self.body = body;
        (self.written, self.doubtful, self.flushed) = (0, false, false);
        &mut self.head
    }

    /// The head is whole.
    pub(crate) fn seal(&mut self) {
        if self.body.len() <= COPIED_BYTES {
            self.head.extend_from_slice(&self.body);
            self.body = Bytes::new();
        }
    }

    /// Whether a byte of it may be on its way.
    pub(crate) fn has_begun(&self) -> bool {
        self.written > 0 || self.doubtful
    }

    /// Whether all of it is with the socket.
    pub(crate) fn is_done(&self) -> bool {
        self.flushed
    }

    /// Nothing more of it is written.
    pub(crate) fn give_up(&mut self) {
        self.flushed = true;
        self.body = Bytes::new();
    }

    /// Writes what the socket takes; ready when all of it is there.
    pub(crate) fn poll(
        &mut self,
        socket: &mut Socket,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if self.flushed {
            return Poll::Ready(Ok(()));
        }
        loop {
            let rest = match self.head.get(self.written..) {
                Some(rest) if !rest.is_empty() => rest,
                _ => &self.body[self.written - self.head.len()..],
            };
            if rest.is_empty() {
                break;
            }
            match ready!(Pin::new(&mut *socket).poll_write(cx, rest)) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(bytes) => self.written += bytes,
                Err(error) => {
                    self.doubtful = matches!(socket, Socket::Tls(_));
                    return Poll::Ready(Err(error));
                }
            }
        }
        ready!(Pin::new(socket).poll_flush(cx))?;
        self.flushed = true;
        self.body = Bytes::new();
        Poll::Ready(Ok(()))
    }
}
