//! A batch for a node that takes none: each call is sent alone, the answers are joined in order.
//!
//! Trouble of one call becomes a refusal in its place and gives its unit back; only if no call of
//! the batch was answered is the batch refused as a whole. Answers are buffered, all of them under
//! one cap that is counted while they come; once it is spent no further call is sent.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::stream::{FuturesOrdered, StreamExt};

use crate::call::Call;
use crate::failure::Failure;
use crate::forward::{Outgoing, forward};
use crate::load::Buffered;
use crate::refusal::{Echo, Reason, Refusal};

/// Calls of one batch that are under way at once.
const AT_ONCE: usize = 4;
/// Largest joined answer of a batch, in bytes.
const JOINED_BYTES: u64 = 64 << 20;

/// The calls of a batch, and how to send one.
pub(crate) struct Split<'a, 'b, F> {
    pub(crate) calls: &'a [Call<'a>],
    pub(crate) outgoing: F,
    /// What the answers take up in the process.
    pub(crate) buffered: Buffered,
    /// A node was asked for one of them.
    begun: &'b AtomicBool,
    /// Bytes of answers so far.
    taken: AtomicU64,
}

/// What came of a batch.
pub(crate) struct Joined {
    /// The answer or refusal of each call, in order; empty where a call gets no answer.
    pub(crate) parts: Vec<Bytes>,
    /// Units to give back.
    pub(crate) refund: u32,
}

impl<'a, 'b, F: Fn(&Call<'a>) -> Outgoing<'a>> Split<'a, 'b, F> {
    /// A batch that was not sent yet.
    pub(crate) fn new(
        calls: &'a [Call<'a>],
        outgoing: F,
        buffered: Buffered,
        begun: &'b AtomicBool,
    ) -> Split<'a, 'b, F> {
        Split { calls, outgoing, buffered, begun, taken: AtomicU64::new(0) }
    }

    /// Sends every call and waits for all answers.
    ///
    /// # Errors
    /// The first failure, if no call was answered.
    pub(crate) async fn run(&self) -> Result<Joined, (Failure, u32)> {
        let mut outcomes = self.all().await;
        for (call, outcome) in self.calls.iter().zip(&mut outcomes) {
            // The batch may have been in its own way: its busy calls get a second chance, alone.
            if *outcome == Err(Failure::of(Reason::NodeBusy)) {
                *outcome = self.one(call).await;
            }
        }
        let refund = outcomes.iter().filter(|outcome| outcome.is_err_and_free()).count() as u32;
        let first = outcomes.iter().find_map(|outcome| outcome.as_ref().err().copied());
        match first {
            Some(failure) if outcomes.iter().all(Result::is_err) => Err((failure, refund)),
            _ => Ok(Joined { parts: self.parts(outcomes), refund }),
        }
    }

    /// The outcome of every call, in order, with few of them under way at once.
    async fn all(&self) -> Vec<Result<Bytes, Failure>> {
        let mut outcomes = Vec::with_capacity(self.calls.len());
        let mut under_way = FuturesOrdered::new();
        for call in self.calls {
            if under_way.len() == AT_ONCE {
                outcomes.extend(under_way.next().await);
            }
            under_way.push_back(self.one(call));
        }
        while let Some(outcome) = under_way.next().await {
            outcomes.push(outcome);
        }
        outcomes
    }

    async fn one(&self, call: &Call<'a>) -> Result<Bytes, Failure> {
        self.take(0)?;
        let opened = forward(&(self.outgoing)(call), self.begun).await?;
        let body = opened.collect(|bytes| self.take(bytes)).await?;
        Ok(if call.method.path && !body.is_empty() { wrap(call, &body) } else { trim(&body) })
    }

    /// Claims room for bytes of an answer.
    fn take(&self, bytes: u64) -> Result<(), Failure> {
        let before = self.taken.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > JOINED_BYTES {
            return Err(Failure::of(Reason::ResponseTooLarge));
        }
        let few = usize::try_from(bytes).unwrap_or(usize::MAX);
        if self.buffered.grow(few) { Ok(()) } else { Err(Failure::of(Reason::GatewayBusy)) }
    }

    fn parts(&self, outcomes: Vec<Result<Bytes, Failure>>) -> Vec<Bytes> {
        let refuse = |call: &Call<'_>, failure: Failure| {
            let echo = Echo { jsonrpc: call.envelope.jsonrpc, id: call.envelope.id };
            Refusal::from(failure.reason).body(echo)
        };
        let both = self.calls.iter().zip(outcomes);
        both.map(|(call, outcome)| outcome.unwrap_or_else(|failure| refuse(call, failure)))
            .collect()
    }
}

/// Does an outcome give its unit back?
trait Free {
    fn is_err_and_free(&self) -> bool;
}

impl Free for Result<Bytes, Failure> {
    fn is_err_and_free(&self) -> bool {
        self.as_ref().is_err_and(|failure| !failure.charged)
    }
}

/// What stands before and after the bytes of a plain path (decision G13). Without an id the
/// envelope has null, as refusals have it; what monerod writes there differs from release to
/// release.
pub(crate) fn wrapping(call: &Call<'_>) -> (Bytes, Bytes) {
    let id = call.envelope.id.unwrap_or(b"null");
    let mut prefix = BytesMut::with_capacity(40 + id.len());
    prefix.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    prefix.extend_from_slice(id);
    prefix.extend_from_slice(b",\"result\":");
    (prefix.freeze(), Bytes::from_static(b"}"))
}

pub(crate) fn wrap(call: &Call<'_>, body: &Bytes) -> Bytes {
    let (prefix, suffix) = wrapping(call);
    let mut whole = BytesMut::with_capacity(prefix.len() + body.len() + suffix.len());
    whole.put(prefix);
    whole.extend_from_slice(body);
    whole.put(suffix);
    whole.freeze()
}

/// An answer without the white space around it.
fn trim(body: &Bytes) -> Bytes {
    body.slice_ref(body.trim_ascii())
}
