//! The byte stream to a node, plain or TLS, which knows how much went either way.
//!
//! Opening it is left to `connections`. Invariants: the counters never lag behind the bytes, so that "not
//! a byte was written" can be said with certainty; no request is written over bytes that the node
//! sent before it.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// First bytes of an alert and of a handshake (RFC 8446, section 5.1). No HTTP begins with these.
const TLS_RECORDS: [u8; 2] = [0x15, 0x16];

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

impl Socket {
    /// What it rests on.
    pub(crate) fn tcp(&self) -> &TcpStream {
        match self {
            Socket::Plain(tcp) => tcp,
            Socket::Tls(tls) => tls.get_ref().0,
        }
    }
}

/// Bytes that went through a stream since it was opened, without those of a TLS handshake.
#[derive(Default)]
pub(crate) struct Progress {
    written: AtomicU64,
    read: AtomicU64,
    /// The next write begins an exchange, and nothing may have come before it.
    silence_is_due: AtomicBool,
    /// The node answered a request in the clear with a record of TLS.
    spoke_tls: AtomicBool,
}

impl Progress {
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    pub(crate) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Lets the next write fail, before a byte of it goes out, if the node has sent anything or
    /// closed the connection until then.
    pub(crate) fn demand_silence(&self) {
        self.silence_is_due.store(true, Ordering::Relaxed);
    }

    /// Whether the node's first byte was one of TLS, where we do not speak it.
    pub(crate) fn spoke_tls(&self) -> bool {
        self.spoke_tls.load(Ordering::Relaxed)
    }

    fn note_first(&self, byte: u8) {
        self.spoke_tls.store(TLS_RECORDS.contains(&byte), Ordering::Relaxed);
    }
}

impl Stream {
    pub(crate) fn new(socket: Socket) -> (Stream, Arc<Progress>) {
        let progress = Arc::new(Progress::default());
        (Stream { socket, progress: Arc::clone(&progress) }, progress)
    }

    /// Looks past tokio at the socket itself: what arrived a moment ago may not have been told to
    /// the runtime yet.
    fn is_silent(&self) -> bool {
        if !self.progress.silence_is_due.swap(false, Ordering::Relaxed) {
            return true;
        }
        let outcome = SockRef::from(self.socket.tcp()).peek(&mut [MaybeUninit::uninit()]);
        outcome.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
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
        let fresh = &buf.filled()[before..];
        let earlier = self.progress.read.fetch_add(fresh.len() as u64, Ordering::Relaxed);
        if earlier == 0
            && let Some(first) = fresh.first()
        {
            self.progress.note_first(*first);
        }
        outcome
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if !self.is_silent() {
            return Poll::Ready(Err(unasked()));
        }
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
        if !self.is_silent() {
            return Poll::Ready(Err(unasked()));
        }
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

fn unasked() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the node spoke or hung up while nothing was asked")
}
