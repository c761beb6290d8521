//! A node's answer on its way to whoever asked: head, and a body that passes through untouched.
//!
//! Reading the JSON is left to the caller. Invariant: the body ends cleanly only if the node's
//! did; in every other case it ends in an error, and its connection is closed.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::StatusCode;
use http_body::{Body, Frame, SizeHint};

use crate::flow::Flow;
use crate::{Cause, NodeError, bounds};

/// What a node answered.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status of the node. Core family nodes answer their own errors with 400, 404, 500.
    pub status: StatusCode,
    /// Bytes of the body, where the node said so or the whole body is there already.
    pub length: Option<u64>,
    /// The node sent neither a length nor chunks: only complete JSON tells that nothing was cut
    /// off (dcrd).
    pub close_delimited: bool,
    /// The connection had served earlier calls.
    pub reused_connection: bool,
    /// The node's bytes.
    pub body: AnswerBody,
}

/// The bytes of an answer. Dropped before its end, it closes the connection to the node and frees
/// its slot.
pub struct AnswerBody(Kind);

enum Kind {
    Whole(Bytes),
    Streamed(Arc<Flow>),
    Failed(NodeError),
    Over,
}

impl AnswerBody {
    /// A body that was read to its end already.
    pub(crate) fn whole(bytes: Bytes) -> AnswerBody {
        AnswerBody(if bytes.is_empty() { Kind::Over } else { Kind::Whole(bytes) })
    }

    pub(crate) fn streamed(flow: Arc<Flow>) -> AnswerBody {
        AnswerBody(Kind::Streamed(flow))
    }

    /// The bytes, if all of them are here already: a small answer that came in one piece.
    pub fn into_whole(self) -> Result<Bytes, AnswerBody> {
        match &self.0 {
            Kind::Whole(bytes) => Ok(bytes.clone()),
            Kind::Over => Ok(Bytes::new()),
            Kind::Streamed(_) | Kind::Failed(_) => Err(self),
        }
    }

    /// Reads to the end into one buffer.
    ///
    /// # Errors
    /// Those of the body; `TooLarge` past `limit` bytes.
    pub async fn collect(self, limit: u64) -> Result<Bytes, NodeError> {
        self.read_whole(limit, u64::MAX).await
    }

    /// The same, with room in the process for an answer that is not small (see [`bounds`]).
    pub(crate) async fn collect_bounded(self, limit: u64) -> Result<Bytes, NodeError> {
        self.read_whole(limit, bounds::SMALL).await
    }

    /// Reads at most `limit` bytes; past `small` of them it waits for room.
    async fn read_whole(mut self, limit: u64, small: u64) -> Result<Bytes, NodeError> {
        let too_large = || NodeError::answered(Cause::TooLarge);
        if self.size_hint().exact().is_some_and(|owed| owed > limit) {
            return Err(too_large());
        }
        let mut first = Bytes::new();
        let mut all = Vec::new();
        let mut length = 0;
        let mut room = None;
        loop {
            let next = std::future::poll_fn(|cx| Pin::new(&mut self).poll_frame(cx)).await;
            let Some(frame) = next else { break };
            let Ok(data) = frame?.into_data() else { continue };
            length += data.len() as u64;
            if length > limit {
                return Err(too_large());
            }
            let owed = self.size_hint().exact();
            if room.is_none() && length.saturating_add(owed.unwrap_or_default()) > small {
                let most = owed.map_or(limit, |owed| length.saturating_add(owed));
                room = Some(bounds::room(most).await);
            }
            if first.is_empty() {
                first = data;
                continue;
            }
            if all.is_empty() {
                // Where the length is known, nothing is moved when more comes.
                all.reserve(length.saturating_add(owed.unwrap_or_default()).min(limit) as usize);
                all.extend_from_slice(&first);
            }
            all.extend_from_slice(&data);
        }
        Ok(if all.is_empty() { first } else { Bytes::from(all) })
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = NodeError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, NodeError>>> {
        if let Kind::Streamed(flow) = &self.0 {
            let (next, over) = std::task::ready!(flow.poll_data(cx));
            if over || !matches!(next, Some(Ok(_))) {
                self.0 = Kind::Over;
            }
            return Poll::Ready(next.map(|data| data.map(Frame::data)));
        }
        Poll::Ready(match std::mem::replace(&mut self.0, Kind::Over) {
            Kind::Whole(bytes) => Some(Ok(Frame::data(bytes))),
            Kind::Failed(error) => Some(Err(error)),
            Kind::Streamed(_) | Kind::Over => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Kind::Over)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Over => SizeHint::with_exact(0),
            Kind::Failed(_) => SizeHint::default(),
            Kind::Streamed(flow) => match flow.remaining() {
                Some(remaining) => SizeHint::with_exact(remaining),
                None => SizeHint::default(),
            },
        }
    }
}

impl From<NodeError> for AnswerBody {
    /// A body that fails at once.
    fn from(error: NodeError) -> AnswerBody {
        AnswerBody(Kind::Failed(error))
    }
}

impl fmt::Debug for AnswerBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Kind::Whole(_) => "AnswerBody(whole)",
            Kind::Streamed(_) => "AnswerBody(streamed)",
            Kind::Failed(_) => "AnswerBody(failed)",
            Kind::Over => "AnswerBody(over)",
        })
    }
}
