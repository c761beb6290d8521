//! A batch after its elements were checked: which are forwarded, which are refused in place or
//! answered from memory.

use bytes::{BufMut, Bytes, BytesMut};
use chain::Dialect;
use node::{CallId, Ids};

use crate::answer::Expect;
use crate::call::Call;
use crate::envelope::Envelope;
use crate::join::Item;
use crate::refusal::{Echo, Refusal};

/// The elements of a batch, in order.
pub(crate) struct Batch<'a> {
    /// Those that are forwarded.
    pub(crate) calls: Vec<Call<'a>>,
    /// One entry an element: its refusal or remembered answer, or None where a call is forwarded.
    pub(crate) made_here: Vec<Option<Bytes>>,
}

impl<'a> Batch<'a> {
    /// Checks every element with `check`.
    pub(crate) fn of(
        elements: &[Envelope<'a>],
        mut check: impl FnMut(Envelope<'a>) -> Result<Call<'a>, Refusal>,
    ) -> Batch<'a> {
        let mut calls = Vec::with_capacity(elements.len());
        let mut made_here = Vec::with_capacity(elements.len());
        for element in elements {
            match check(*element) {
                Ok(call) => {
                    calls.push(call);
                    made_here.push(None);
                }
                Err(refusal) => {
                    let echo = Echo { jsonrpc: element.jsonrpc, id: element.id };
                    made_here.push(Some(refusal.body(echo)));
                }
            }
        }
        Batch { calls, made_here }
    }

    /// Takes out the calls whose answers are `known`; says how many those are.
    pub(crate) fn take_known(&mut self, known: impl Fn(&Call<'a>) -> Option<Bytes>) -> usize {
        let calls = std::mem::take(&mut self.calls);
        let all = calls.len();
        let places = self.made_here.iter_mut().filter(|made| made.is_none());
        for (call, place) in calls.into_iter().zip(places) {
            *place = known(&call);
            if place.is_none() {
                self.calls.push(call);
            }
        }
        all - self.calls.len()
    }

    /// The array that the node gets.
    pub(crate) fn body(&self) -> Bytes {
        let len = self.calls.iter().map(|call| call.written_len() + 1).sum::<usize>() + 2;
        let mut out = BytesMut::with_capacity(len);
        for (place, call) in self.calls.iter().enumerate() {
            out.put_u8(if place == 0 { b'[' } else { b',' });
            call.write(&mut out);
        }
        out.put_u8(b']');
        out.freeze()
    }

    /// The ids of the calls in [`Batch::body`].
    pub(crate) fn ids(&self, dialect: Dialect) -> Ids {
        let ids = self
            .calls
            .iter()
            .map(|call| CallId { id: call.id(), answered: call.is_answered(dialect) });
        Ids::Batch(ids.collect())
    }

    /// What a node of `dialect` should answer to [`Batch::body`].
    pub(crate) fn expect(&self, dialect: Dialect) -> Expect {
        self.expect_answers(self.calls.iter().map(|call| call.is_answered(dialect)).collect())
    }

    /// What a Bitcoin Core before 28.0 answers, which knows no notifications.
    pub(crate) fn expect_of_old(&self, dialect: Dialect) -> Option<Expect> {
        (dialect == Dialect::Core).then(|| self.expect_answers(vec![true; self.calls.len()]))
    }

    fn expect_answers(&self, answered: Vec<bool>) -> Expect {
        let count = answered.iter().filter(|answered| **answered).count();
        let any_made = self.made_here.iter().any(Option::is_some);
        let places = any_made.then(|| {
            let mut answered = answered.into_iter();
            let place = |made: &Option<Bytes>| match made {
                Some(body) => Some(Item::Made(body.clone())),
                None => answered.next().unwrap_or_default().then_some(Item::Node),
            };
            self.made_here.iter().filter_map(place).collect()
        });
        Expect::Items { answered: count, calls: self.calls.len(), places }
    }

    /// The whole answer, made of one part for each forwarded call and what was made here. An empty part
    /// belongs to a call that gets no answer; if nothing remains the answer is empty.
    pub(crate) fn join(&self, parts: Vec<Bytes>) -> Bytes {
        let mut parts = parts.into_iter();
        let mut out = BytesMut::new();
        for made in &self.made_here {
            let item = made.clone().or_else(|| parts.next()).unwrap_or_default();
            if item.is_empty() {
                continue;
            }
            out.put_u8(if out.is_empty() { b'[' } else { b',' });
            out.extend_from_slice(&item);
        }
        if !out.is_empty() {
            out.put_u8(b']');
        }
        out.freeze()
    }
}
