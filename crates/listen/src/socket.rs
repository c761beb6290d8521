//! A client's socket, watched.
//!
//! Tells the connection's [`Watch`] when bytes come and go, puts the service's refusal in the
//! place of hyper's bare one, and reads on for a moment after closing, because a socket closed
//! with unread bytes resets the connection and takes the answer with it. While an answer is owed hyper
//! reads nothing, so that a client that shuts its sending side gets it (decision B6); one that resets
//! the connection is looked for here. What moves much waits for its turn. Leaves time limits to the
//! connection. Invariants: apart from a replaced refusal, bytes pass unchanged in both directions; a
//! connection that ends within an answer is reset.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::refusal::{bare_refusal, render};
use crate::reset::Reset;
use crate::serve::Serve;
use crate::turns::{Turns, Way};
use crate::watch::Watch;

/// How long a closed connection is read on.
const LINGER: Duration = Duration::from_secs(1);

/// How much is read from a closed connection. A client that sends more gets a reset.
const LINGER_BYTES: usize = 4 << 20;

/// Heads and bodies that are together no longer than this are written as one piece: the copy is cheaper
/// than what the kernel does about a list.
const ONE_PIECE: usize = 1024;

/// A socket between a client and hyper.
pub(crate) struct Socket<I: Reset, S> {
    inner: I,
    service: Arc<S>,
    watch: Arc<Watch>,
    turns: Turns,
    /// The client has sent all it will.
    ended: bool,
    replacement: Option<Replacement>,
    linger: Option<Linger>,
}

/// Bytes that go out in the place of what hyper wrote.
struct Replacement {
    bytes: Vec<u8>,
    written: usize,
    /// What hyper believes to have written.
    instead_of: usize,
}

struct Linger {
    until: Pin<Box<Sleep>>,
    left: usize,
}

impl<I: Reset, S> Socket<I, S> {
    pub(crate) fn new(inner: I, service: Arc<S>, watch: Arc<Watch>) -> Self {
        Socket {
            inner,
            service,
            watch,
            turns: Turns::here(),
            ended: false,
            replacement: None,
            linger: None,
        }
    }
}

impl<I: AsyncRead + AsyncWrite + Reset + Unpin, S: Serve> Socket<I, S> {
    /// If these slices end in hyper's own refusal, prepares ours.
    fn replace(&mut self, slices: &[&[u8]]) {
        if self.replacement.is_some() || self.watch.is_active() {
            return;
        }
        let Some(last) = slices.iter().rposition(|slice| !slice.is_empty()) else { return };
        let Some(start) = bare_refusal(slices[last]) else { return };
        let mut bytes = slices[..last].concat();
        bytes.extend_from_slice(&slices[last][..start]);
        bytes.extend_from_slice(&render(&self.service.http_refusal()));
        let instead_of = slices.iter().map(|slice| slice.len()).sum();
        self.replacement = Some(Replacement { bytes, written: 0, instead_of });
    }

    /// Writes what is left of the replacement; ready with what hyper is to believe.
    fn poll_replacement(&mut self, cx: &mut Context<'_>) -> Option<Poll<io::Result<usize>>> {
        let replacement = self.replacement.as_mut()?;
        while replacement.written < replacement.bytes.len() {
            let rest = &replacement.bytes[replacement.written..];
            match Pin::new(&mut self.inner).poll_write(cx, rest) {
                Poll::Ready(Ok(0)) => {
                    return Some(Poll::Ready(Err(io::ErrorKind::WriteZero.into())));
                }
                Poll::Ready(Ok(n)) => replacement.written += n,
                unfinished => return Some(unfinished),
            }
        }
        let instead_of = replacement.instead_of;
        self.replacement = None;
        Some(Poll::Ready(Ok(instead_of)))
    }

    /// Writes what is small as one piece.
    fn poll_write_all(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let inner = Pin::new(&mut self.inner);
        let mut piece = [0; ONE_PIECE];
        let mut length = 0;
        for buf in bufs {
            match piece.get_mut(length..length + buf.len()) {
                Some(place) => place.copy_from_slice(buf),
                None => return inner.poll_write_vectored(cx, bufs),
            }
            length += buf.len();
        }
        inner.poll_write(cx, &piece[..length])
    }

    fn noted(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = written {
            self.turns.moved(Way::Out, bytes);
        }
        self.watch.wrote(written.is_ready());
        written
    }

    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let linger = self
            .linger
            .get_or_insert_with(|| Linger { until: Box::pin(sleep(LINGER)), left: LINGER_BYTES });
        let mut scratch = [0; 16 << 10];
        loop {
            ready!(self.turns.poll(Way::In, cx));
            let mut buf = ReadBuf::new(&mut scratch);
            match Pin::new(&mut self.inner).poll_read(cx, &mut buf) {
                Poll::Ready(Ok(())) if !buf.filled().is_empty() && linger.left > 0 => {
                    linger.left = linger.left.saturating_sub(buf.filled().len());
                    self.turns.moved(Way::In, buf.filled().len());
                }
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => return linger.until.as_mut().poll(cx).map(Ok),
            }
        }
    }
}

impl<I: AsyncRead + AsyncWrite + Reset + Unpin, S: Serve> AsyncRead for Socket<I, S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(self.turns.poll(Way::In, cx));
        ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        match buf.filled().len() - before {
            0 => self.ended = true,
            bytes => {
                self.turns.moved(Way::In, bytes);
                self.watch.received();
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<I: AsyncRead + AsyncWrite + Reset + Unpin, S: Serve> AsyncWrite for Socket<I, S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.turns.poll(Way::Out, cx));
        self.replace(&[buf]);
        let written = match self.poll_replacement(cx) {
            Some(written) => written,
            None => Pin::new(&mut self.inner).poll_write(cx, buf),
        };
        self.noted(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.turns.poll(Way::Out, cx));
        if let Some(last) = bufs.iter().rev().find(|buf| !buf.is_empty())
            && last.ends_with(b"\r\n\r\n")
        {
            let slices: Vec<&[u8]> = bufs.iter().map(|buf| &**buf).collect();
            self.replace(&slices);
        }
        let written = match self.poll_replacement(cx) {
            Some(written) => written,
            None => self.poll_write_all(cx, bufs),
        };
        self.noted(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.inner).poll_flush(cx))?;
        self.watch.flushed();
        // hyper comes here whenever it was woken, and would not hear of it elsewhere.
        if self.watch.is_active()
            && let Poll::Ready(error) = self.inner.poll_reset(cx)
        {
            return Poll::Ready(Err(error));
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger.is_none() {
            ready!(Pin::new(&mut self.inner).poll_shutdown(cx))?;
        }
        if self.ended { Poll::Ready(Ok(())) } else { self.poll_linger(cx) }
    }
}

impl<I: Reset, S> Drop for Socket<I, S> {
    fn drop(&mut self) {
        if self.watch.is_cut_off() {
            self.inner.reset();
        }
    }
}
