//! The body of an answer.
//!
//! Invariant: it holds the caller's permit, the place in the process and the room for its bytes
//! until the last byte is taken or the client is gone, whichever comes first.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use listen::InFlight;
use meter::Permit;

use crate::room::Taken;
use crate::stream::{CutOff, Stream};

/// What a request holds until its answer is sent.
#[derive(Default)]
pub(crate) struct Hold {
    pub(crate) permit: Option<Permit>,
    pub(crate) _in_flight: Option<InFlight>,
    pub(crate) _room: Option<Taken>,
}

/// The body of an answer.
pub struct Body {
    content: Content,
    _hold: Hold,
}

enum Content {
    Whole(Bytes),
    Stream(Box<Stream>),
}

impl Body {
    pub(crate) fn new(bytes: Bytes, hold: Hold) -> Body {
        Body { content: Content::Whole(bytes), _hold: hold }
    }

    pub(crate) fn stream(stream: Stream, hold: Hold) -> Body {
        Body { content: Content::Stream(Box::new(stream)), _hold: hold }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = CutOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        match &mut self.content {
            Content::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            Content::Stream(stream) => {
                stream.poll_piece(cx).map(|piece| piece.map(|piece| piece.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Whole(bytes) => bytes.is_empty(),
            Content::Stream(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Stream(stream) => {
                stream.length().map_or_else(SizeHint::new, SizeHint::with_exact)
            }
        }
    }
}
