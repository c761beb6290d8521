//! The body of an answer.
//!
//! Invariant: it holds the caller's permit and the place in the process until the last byte is
//! taken or the client is gone, whichever comes first.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use listen::InFlight;
use meter::Permit;

/// What a request holds until its answer is sent.
#[derive(Default)]
pub(crate) struct Hold {
    pub(crate) permit: Option<Permit>,
    pub(crate) _in_flight: Option<InFlight>,
}

/// The body of an answer.
pub struct Body {
    bytes: Bytes,
    _hold: Hold,
}

impl Body {
    pub(crate) fn new(bytes: Bytes, hold: Hold) -> Body {
        Body { bytes, _hold: hold }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = std::mem::take(&mut self.bytes);
        Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}
