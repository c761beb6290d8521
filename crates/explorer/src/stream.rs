//! A long answer on its way: the next piece is made when the client has taken the one before.
//!
//! Leaves the making to `content`, the coding of bytes to `encoding`. Invariant: pieces are made
//! away from the runtime's workers, in a place that accounts share.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::content::{Long, Pieces};
use crate::encoding::Writer;
use crate::reads::Reads;

/// Why an answer ended before its end.
#[derive(Debug)]
pub struct CutOff;

impl std::fmt::Display for CutOff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the answer could not be read to its end")
    }
}

impl std::error::Error for CutOff {}

/// What makes pieces, and writes them as the client wants them.
struct Maker {
    pieces: Box<dyn Pieces>,
    /// None once the last piece is written.
    writer: Option<Writer>,
}

type Made = (Maker, Result<Option<Bytes>, CutOff>);
type Making = Pin<Box<dyn Future<Output = Result<Made, CutOff>> + Send>>;

/// A long answer.
pub(crate) struct Stream {
    reads: Arc<Reads>,
    account: u64,
    /// None while a piece is made, and after the end.
    maker: Option<Maker>,
    making: Option<Making>,
    /// Bytes that are still to come, where they are sent as they are.
    left: Option<u64>,
}

impl Stream {
    pub(crate) fn new(long: Long, writer: Writer, reads: Arc<Reads>, account: u64) -> Stream {
        let left = writer.is_plain().then_some(long.length);
        let maker = Some(Maker { pieces: long.pieces, writer: Some(writer) });
        Stream { reads, account, maker, making: None, left }
    }

    /// Bytes that are still to come, if that is known.
    pub(crate) fn length(&self) -> Option<u64> {
        self.left
    }

    /// The next piece; none behind the last.
    pub(crate) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, CutOff>>> {
        loop {
            if let Some(maker) = self.maker.take() {
                let (reads, account) = (Arc::clone(&self.reads), self.account);
                self.making = Some(Box::pin(async move {
                    reads.run_long(account, move || maker.make()).await.map_err(|_| CutOff)
                }));
            }
            let Some(making) = &mut self.making else { return Poll::Ready(None) };
            let made = std::task::ready!(making.as_mut().poll(cx));
            self.making = None;
            let piece = match made {
                Ok((maker, Ok(Some(piece)))) => {
                    self.maker = Some(maker);
                    piece
                }
                Ok((_, Ok(None))) => return Poll::Ready(None),
                Ok((_, Err(cut))) | Err(cut) => return Poll::Ready(Some(Err(cut))),
            };
            // A writer keeps small pieces to itself at times.
            if !piece.is_empty() {
                self.left = self.left.map(|left| left.saturating_sub(piece.len() as u64));
                return Poll::Ready(Some(Ok(piece)));
            }
        }
    }
}

impl Maker {
    fn make(mut self) -> Made {
        let Some(mut writer) = self.writer.take() else { return (self, Ok(None)) };
        let piece = match self.pieces.next() {
            Ok(Some(piece)) => writer.write(piece).inspect(|_| self.writer = Some(writer)),
            Ok(None) => writer.finish(),
            Err(error) => {
                tracing::error!(?error, "a long answer is cut off");
                return (self, Err(CutOff));
            }
        };
        (self, piece.map(Some).map_err(|_| CutOff))
    }
}
