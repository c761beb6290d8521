//! Answers a call from what is remembered, or by the same read of somebody else (decision G19).
//!
//! What is remembered, and for how long, is left to `cache`. Invariants: whatever goes wrong with
//! another's read, the call is asked for itself; and who asks first gets the node's own bytes.

use bytes::Bytes;

use crate::answer::Opened;
use crate::body::Hold;
use crate::cache::{End, Key, Kind, Lead, Look, Question, Said, Sending, is_plain_id};
use crate::call::Call;
use crate::failure::Failure;
use crate::forward::forward;
use crate::gateway::Remember;
use crate::handler::Handler;
use crate::metrics::Recalled;
use crate::split::wrap;

/// How often a call waits for another before it asks for itself.
const WAITS: usize = 3;
/// Answers up to this many bytes are not counted as buffered: a connection costs as much.
const UNCOUNTED_BYTES: usize = 64 << 10;

impl Handler<'_> {
    /// Brings the answer to a call, and says how it came where that was not by asking a node.
    pub(crate) async fn fetch(
        &self,
        call: &Call<'_>,
        body: Bytes,
        hold: &Hold,
    ) -> Result<(Opened, Option<Recalled>), Failure> {
        match self.question(call) {
            // Boxed, so that the future of the common call stays small.
            Some(question) => Box::pin(self.recall(question, call, body, hold)).await,
            None => {
                let _sending = call.method.send.then(|| self.sending());
                let outgoing = self.outgoing(call, body);
                // Two small futures are made and moved faster than one that is as large as both.
                Ok((Box::pin(forward(&outgoing, &hold.begun)).await?, None))
            }
        }
    }

    /// Marks a send of this account, from now until what is returned is dropped.
    pub(crate) fn sending(&self) -> Sending<'_> {
        let (account, chain) = (self.caller.account_id(), self.service.chain.ordinal);
        self.gateway.cache().sends.begin(account, chain)
    }

    /// The answer to a call of a batch, if it is at hand and small.
    pub(crate) fn at_hand(&self, call: &Call<'_>) -> Option<Bytes> {
        let question = self.question(call)?;
        let known = self.gateway.cache().known(&question);
        let Some(said) = known.filter(|said| said.len() <= UNCOUNTED_BYTES) else {
            self.tell(Recalled::Not);
            return None;
        };
        self.tell(Recalled::Hit);
        let answer = said.to(call.envelope.id?);
        Some(if call.method.path {
            wrap(call, &answer)
        } else {
            answer.slice_ref(answer.trim_ascii())
        })
    }

    /// What is to be looked for, if the call is one that may be answered so.
    fn question(&self, call: &Call<'_>) -> Option<Question> {
        let (service, remember) = (self.service, self.service.remember);
        if remember == Remember::Nothing {
            return None;
        }
        let chain = service.chain;
        let deep = || service.pool.tip()?.checked_sub(chain.final_depth);
        let kind = Kind::of(call, deep)?;
        let id = call.envelope.id?;
        let plain = is_plain_id(id, chain.dialect) && call.is_answered(chain.dialect);
        if !plain || kind == Kind::Tip && remember == Remember::Final {
            return None;
        }
        let account = self.caller.account_id();
        let sent = self.gateway.cache().sends.last(account, chain.ordinal);
        let tip = service.pool.tip_changes();
        Some(Question { key: Key::of(chain, call), kind, account, tip, sent })
    }

    async fn recall(
        &self,
        question: Question,
        call: &Call<'_>,
        body: Bytes,
        hold: &Hold,
    ) -> Result<(Opened, Option<Recalled>), Failure> {
        let cache = self.gateway.cache();
        for _ in 0..WAITS {
            let (said, how) = match cache.look(&question) {
                Look::Known(said) => (said, Recalled::Hit),
                Look::Join(waiting) => match waiting.end().await {
                    End::Said(said) => (said, Recalled::Joined),
                    End::Nothing => break,
                    End::Gone => continue,
                },
                Look::Lead(lead) => {
                    self.tell(Recalled::Not);
                    let answer = Box::pin(self.lead(lead, call, body, hold));
                    return Ok((answer.await?, None));
                }
            };
            if !hold.has_room(said.len(), UNCOUNTED_BYTES) {
                break;
            }
            self.tell(how);
            return Ok((said.open(call.envelope.id.unwrap_or_default()), Some(how)));
        }
        self.tell(Recalled::Not);
        let outgoing = self.outgoing(call, body);
        Ok((Box::pin(forward(&outgoing, &hold.begun)).await?, None))
    }

    /// Asks for all who wait. What is too large to be shared streams to who asked.
    async fn lead(
        &self,
        lead: Lead,
        call: &Call<'_>,
        body: Bytes,
        hold: &Hold,
    ) -> Result<Opened, Failure> {
        let largest = self.gateway.cache().largest();
        let asked = async {
            let outgoing = self.outgoing(call, body);
            let opened = Box::pin(forward(&outgoing, &hold.begun)).await?;
            let fits = |bytes: usize| bytes <= largest && hold.has_room(bytes, UNCOUNTED_BYTES);
            let length = opened.length.and_then(|bytes| usize::try_from(bytes).ok());
            if opened.rest.is_some() && !length.is_some_and(fits) {
                return Ok((opened, None));
            }
            let whole = opened.collect(|_| Ok(())).await?;
            let said = Said::of(&whole, self.service.chain.dialect, call.method.path);
            Ok((Opened::whole(whole), said))
        };
        let outcome = asked.await;
        match outcome {
            Ok((opened, Some(said))) => {
                lead.said(said);
                Ok(opened)
            }
            Ok((opened, None)) => {
                lead.nothing();
                Ok(opened)
            }
            Err(failure) => {
                lead.nothing();
                Err(failure)
            }
        }
    }

    fn tell(&self, how: Recalled) {
        self.gateway.metrics().recalled(self.service.chain, how);
    }
}
