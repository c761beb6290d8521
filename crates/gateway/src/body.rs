//! The body of a gateway answer: bytes made here, or a node's answer passing through.
//!
//! It holds the caller's permit and the place in the process until the last byte is taken or the
//! client is gone, whichever comes first.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use listen::{InFlight, RequestId};
use meter::{AccountInFlight, Permit};
use node::{AnswerBody, NodeError};

use crate::answer::{Opened, Watch};
use crate::failure::is_overtime;
use crate::frames::Frames;
use crate::load::Buffered;

/// What a request holds until its answer is sent.
#[derive(Default)]
pub(crate) struct Hold {
    /// The place of the account, until the permit has it.
    pub(crate) place: Option<AccountInFlight>,
    pub(crate) permit: Option<Permit>,
    /// Units that are charged as things stand; they go back should the node's answer break off.
    pub(crate) units: u32,
    /// Charged, and not answered yet.
    pub(crate) is_owed: bool,
    /// A node was asked.
    pub(crate) begun: AtomicBool,
    /// For a line of the log about that.
    pub(crate) id: Option<RequestId>,
    pub(crate) _in_flight: Option<InFlight>,
    pub(crate) buffered: Option<Buffered>,
}

/// The body of an answer.
pub struct Body {
    content: Content,
    hold: Option<Box<Hold>>,
}

enum Content {
    Whole(Bytes),
    Relay(Box<Relay>),
}

/// A node's answer on its way.
struct Relay {
    ready: Frames,
    rest: Option<AnswerBody>,
    watch: Watch,
    /// What follows the node's last byte.
    suffix: Bytes,
    /// Bytes still to be given, if the length is known.
    left: Option<u64>,
}

/// Why an answer broke off after its head was sent. The connection is reset.
#[derive(Debug)]
pub enum BodyError {
    /// The node's side failed.
    Node(NodeError),
    /// The node's answer ended before it was complete.
    Incomplete,
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BodyError::Node(error) => error.fmt(f),
            BodyError::Incomplete => f.write_str("the node's answer ended before it was complete"),
        }
    }
}

impl std::error::Error for BodyError {}

impl Body {
    /// Bytes made here.
    pub(crate) fn whole(bytes: Bytes, mut hold: Box<Hold>) -> Body {
        hold.is_owed = false;
        Body { content: Content::Whole(bytes), hold: Some(hold) }
    }

    /// Bytes that nobody is charged for.
    pub(crate) fn free(bytes: Bytes) -> Body {
        Body { content: Content::Whole(bytes), hold: None }
    }

    /// A node's answer between `prefix` and `suffix`.
    pub(crate) fn relay(opened: Opened, prefix: Bytes, suffix: Bytes, mut hold: Box<Hold>) -> Body {
        hold.is_owed = false;
        let Opened { mut ready, rest, length, watch } = opened;
        let around = (prefix.len() + suffix.len()) as u64;
        if !prefix.is_empty() {
            ready.push_front(prefix);
        }
        if rest.is_none() && suffix.is_empty() && ready.len() == 1 {
            return Body::whole(ready.pop_front().unwrap_or_default(), hold);
        }
        let left = length.map(|length| length + around);
        let relay = Relay { ready, rest, watch, suffix, left };
        Body { content: Content::Relay(Box::new(relay)), hold: Some(hold) }
    }

    /// Units that are charged for the request as things stand.
    pub(crate) fn units(&self) -> u32 {
        self.hold.as_ref().map_or(0, |hold| hold.units)
    }

    /// Says whose answer it is.
    pub(crate) fn is_of(&mut self, id: RequestId) {
        if let Some(hold) = self.hold.as_mut() {
            hold.id = Some(id);
        }
    }

    /// The answer broke off. A node's failures are told with the node.
    fn broke_off(&mut self, error: &BodyError) {
        let overtime = matches!(error, BodyError::Node(error) if is_overtime(error));
        let reader =
            matches!(error, BodyError::Node(error) if error.cause == node::Cause::SlowReader);
        let Some(hold) = self.hold.as_mut() else { return };
        let units = if overtime || reader { 0 } else { hold.units };
        hold.give_back(units);
        let request_id = hold.id.map(tracing::field::display);
        tracing::debug!(request_id, units_back = units, %error, "an answer broke off");
    }
}

impl Hold {
    /// Claims room for bytes that are buffered, unless they are `few`; says whether there is any.
    pub(crate) fn has_room(&self, bytes: usize, few: usize) -> bool {
        let Some(buffered) = self.buffered.as_ref().filter(|_| bytes > few) else { return true };
        let fits = buffered.grow(bytes);
        if !fits {
            buffered.shrink(bytes);
        }
        fits
    }

    /// Gives units back to the account.
    pub(crate) fn give_back(&mut self, units: u32) {
        if let Some(permit) = self.permit.as_mut() {
            permit.refund(units);
            self.units = self.units.saturating_sub(units);
        }
    }
}

impl Drop for Hold {
    /// A client that is gone before a node was asked has had nothing for its units.
    fn drop(&mut self) {
        if self.is_owed && !*self.begun.get_mut() {
            self.give_back(self.units);
        }
    }
}

impl Relay {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                self.left = self.left.map(|left| left.saturating_sub(frame.len() as u64));
                // The last bytes of a known length are kept back if they do not end the value: once
                // they are sent, nothing more can be said.
                if self.left == Some(self.suffix.len() as u64) && !self.watch.is_whole() {
                    self.rest = None;
                    return Poll::Ready(Some(Err(BodyError::Incomplete)));
                }
                return Poll::Ready(Some(Ok(frame)));
            }
            let Some(rest) = self.rest.as_mut() else {
                let suffix = std::mem::take(&mut self.suffix);
                self.left = Some(0);
                return Poll::Ready((!suffix.is_empty()).then_some(Ok(suffix)));
            };
            match ready!(Pin::new(rest).poll_frame(context)) {
                Some(Ok(frame)) => {
                    self.watch.pass(frame.into_data().unwrap_or_default(), &mut self.ready);
                }
                Some(Err(error)) => {
                    self.rest = None;
                    return Poll::Ready(Some(Err(BodyError::Node(error))));
                }
                None => {
                    self.rest = None;
                    if !self.watch.is_whole() {
                        return Poll::Ready(Some(Err(BodyError::Incomplete)));
                    }
                }
            }
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let frame = match &mut self.content {
            Content::Whole(bytes) if bytes.is_empty() => None,
            Content::Whole(bytes) => Some(Ok(std::mem::take(bytes))),
            Content::Relay(relay) => ready!(relay.poll(context)),
        };
        if let Some(Err(error)) = &frame {
            self.broke_off(error);
        }
        Poll::Ready(frame.map(|frame| frame.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Whole(bytes) => bytes.is_empty(),
            Content::Relay(relay) => {
                relay.rest.is_none() && relay.ready.is_empty() && relay.suffix.is_empty()
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Relay(relay) => {
                relay.left.map_or_else(SizeHint::default, SizeHint::with_exact)
            }
        }
    }
}
