//! The byte stream below a websocket, which knows how much came over it.
//!
//! Opening it is left to `connections`. Invariant: the count never lags behind the bytes, so that a
//! node that is still sending is not taken for one that is silent.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::stream::Socket;

/// A socket with a counter.
pub(super) struct Stream {
    socket: Socket,
    progress: Arc<Progress>,
}

/// Bytes that came through a stream since it was opened, without those of a TLS handshake.
#[derive(Default)]
pub(super) struct Progress(AtomicU64);

impl Progress {
    pub(super) fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Stream {
    pub(super) fn new(socket: Socket) -> (Stream, Arc<Progress>) {
        let progress = Arc::new(Progress::default());
        (Stream { socket, progress: Arc::clone(&progress) }, progress)
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let outcome = Pin::new(&mut self.socket).poll_read(cx, buf);
        let fresh = (buf.filled().len() - before) as u64;
        self.progress.0.fetch_add(fresh, Ordering::Relaxed);
        outcome
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
