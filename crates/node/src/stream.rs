//! The byte stream to a node, plain or TLS.
//!
//! Opening it is left to `connections`, what goes over it to `connection`. Invariant: whether the
//! node spoke or hung up unasked is looked up at the socket itself.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

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

    /// Whether the node has sent nothing and has not hung up. Looks past tokio at the socket itself:
    /// what arrived a moment ago may not have been told to the runtime yet.
    pub(crate) fn is_silent(&self) -> bool {
        let outcome = SockRef::from(self.tcp()).peek(&mut [MaybeUninit::uninit()]);
        outcome.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Whether nothing that was sent unasked lies decrypted already. Session tickets, which a new
    /// connection may get at any time, are taken in.
    pub(crate) fn is_drained(&mut self) -> bool {
        let Socket::Tls(tls) = self else { return true };
        let (mut byte, mut quiet) = ([0], Context::from_waker(Waker::noop()));
        Pin::new(tls).poll_read(&mut quiet, &mut ReadBuf::new(&mut byte)).is_pending()
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Socket::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Plain(tcp) => Pin::new(tcp).poll_write(cx, bytes),
            Socket::Tls(tls) => Pin::new(tls).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Socket::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Socket::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}
