//! A stream on which a server may say only so much more than it was asked.
//!
//! The protocol's reader keeps an unfinished answer whole, however long. Our answers are a few integers
//! and every request is longer than its answer, so a server that has said much more than it was asked
//! is none of ours. Invariant: what was read is at most what was written, [`MOST`] of that at once,
//! and [`FREE`]; after that every read fails.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What may come unasked: errors are longer than answers.
const FREE: usize = 64 << 10;
/// The most that is due at a time: answers to as many calls as can wait at once.
const MOST: usize = 256 << 10;

/// A connection to a server that is not trusted to stop.
#[derive(Debug)]
pub(super) struct Bounded<S> {
    stream: S,
    /// Bytes that may still come.
    due: usize,
}

impl<S> Bounded<S> {
    pub(super) fn new(stream: S) -> Bounded<S> {
        Bounded { stream, due: FREE }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Bounded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        let came = buffer.filled().len() - before;
        match self.due.checked_sub(came) {
            Some(due) => {
                self.due = due;
                Poll::Ready(Ok(()))
            }
            None => {
                self.due = 0;
                buffer.set_filled(before);
                let text = "it says more than it was asked";
                Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionAborted, text)))
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Bounded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        // What was due before is still due: it may be on its way.
        self.due = self.due.saturating_add(written).min(MOST);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn what_may_come_grows_with_what_was_asked_and_has_an_end() {
        let (ours, mut theirs) = duplex(4 * MOST);
        let mut ours = Bounded::new(ours);
        let mut read = async |most: usize| {
            let mut bytes = vec![0; most];
            ours.write_all(&bytes[..most / 2]).await.unwrap();
            ours.read_exact(&mut bytes).await.map(drop)
        };
        theirs.write_all(&vec![0; 3 * MOST]).await.unwrap();
        // Half of it was asked for, half is free; what is left does not do for the next.
        read(FREE * 2).await.unwrap();
        let error = read(1000).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted, "{error}");
        read(1).await.unwrap_err();
    }
}
