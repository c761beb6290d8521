//! The byte stream to a node, plain or TLS, which knows how much went either way.
//!
//! Opening it is left to `line`. Invariant: the counters never lag behind the bytes, so that "not
//! a byte was written" can be said with certainty.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// A byte stream with counters.
pub(crate) struct Stream {
    socket: Socket,
    progress: Arc<Progress>,
}

/// Plain TCP or TLS over it.
pub(crate) enum Socket {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Bytes that went through a stream since it was opened, without those of a TLS handshake.
#[derive(Default)]
pub(crate) struct Progress {
    written: AtomicU64,
    read: AtomicU64,
}

impl Progress {
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    pub(crate) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

impl Stream {
    pub(crate) fn new(socket: Socket) -> (Stream, Arc<Progress>) {
        let progress = Arc::new(Progress::default());
        (Stream { socket, progress: Arc::clone(&progress) }, progress)
    }

    fn count_written(&self, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &outcome {
            self.progress.written.fetch_add(*bytes as u64, Ordering::Relaxed);
        }
        outcome
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let outcome = match &mut self.socket {
            Socket::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Socket::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        };
        self.progress.read.fetch_add((buf.filled().len() - before) as u64, Ordering::Relaxed);
        outcome
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = match &mut self.socket {
            Socket::Plain(tcp) => Pin::new(tcp).poll_write(cx, bytes),
            Socket::Tls(tls) => Pin::new(tls).poll_write(cx, bytes),
        };
        self.count_written(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = match &mut self.socket {
            Socket::Plain(tcp) => Pin::new(tcp).poll_write_vectored(cx, slices),
            Socket::Tls(tls) => Pin::new(tls).poll_write_vectored(cx, slices),
        };
        self.count_written(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.socket {
            Socket::Plain(tcp) => tcp.is_write_vectored(),
            Socket::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Socket::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Socket::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Socket::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Socket::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}
