//! What deals with a request once its chain and its caller are known: takes its body in, checks its
//! calls, charges and forwards them.
//!
//! Leaves the order of what comes before to `rpc`. Invariant: nothing is forwarded that was not
//! admitted, and what was forwarded in vain gives its units back (decision B7).

use std::pin::Pin;

use bytes::Bytes;
use http::HeaderMap;
use listen::{RequestBody, Visit};
use meter::{AccountInFlight, Caller, Denial, Permit, Remains};
use node::Weight;

use crate::answer::Expect;
use crate::batch::Batch;
use crate::body::{Body, Hold};
use crate::call::Call;
use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::forward::{Outgoing, forward};
use crate::gateway::{ChainService, Gateway, State};
use crate::guard::Ranges;
use crate::intake;
use crate::json::unescape;
use crate::metrics::Recalled;
use crate::outcome::{Answered, Refused};
use crate::refusal::{Echo, Reason, Refusal};
use crate::split::{Split, wrapping};

/// Largest body that monerod takes, in bytes (decision G13).
const MONEROD_BODY_BYTES: usize = 1_000_000;

/// Deals with one request that found its chain.
pub(crate) struct Handler<'a> {
    pub(crate) gateway: &'a Gateway,
    pub(crate) state: &'a State,
    pub(crate) service: &'a ChainService,
    pub(crate) caller: Caller,
}

impl<'a> Handler<'a> {
    /// Takes the body in. The account has its place before, and a body that is work to read has
    /// its token.
    pub(crate) async fn take_in(
        &self,
        headers: &HeaderMap,
        body: &mut RequestBody,
    ) -> Result<(Bytes, Box<Hold>), Refused> {
        let (load, settings) = (self.gateway.load(), &self.state.settings);
        let mut place = self.gateway.meter().enter(&self.caller)?;
        if place.in_flight() as usize > settings.account_in_flight() {
            return Err(Reason::GatewayBusy.into());
        }
        intake::announced(headers, body, settings).await?;
        // Before a byte of it is read: who has no token left makes no work.
        if intake::is_compressed(headers) {
            self.gateway.meter().prepay(&self.caller, &mut place).await?;
        }
        let buffered = load.buffer(self.caller.account_id(), settings);
        let posted = match intake::read(headers, body, settings, &buffered).await {
            Ok(posted) => posted,
            Err(refusal) => return Err(Box::pin(self.refuse_body(refusal, place)).await),
        };
        let account = self.caller.account_id();
        let (text, buffered) = match posted.text(settings, load, account, buffered).await {
            Ok(read) => read,
            Err(refusal) => return Err(Box::pin(self.refuse_body(refusal, place)).await),
        };
        // Only now: bodies that trickle in must not take the places of other accounts' calls.
        let in_flight = self.gateway.enter(self.state)?;
        // Boxed here, so that it is copied no more on its way.
        let mut hold = Box::<Hold>::default();
        hold.place = Some(place);
        hold._in_flight = Some(in_flight);
        hold.buffered = Some(buffered);
        Ok((text, hold))
    }

    /// Deals with a single call.
    pub(crate) async fn one(
        &self,
        envelope: &Envelope<'_>,
        mut hold: Box<Hold>,
        visit: &mut Visit,
    ) -> Result<Answered, Refused> {
        let echo = Echo { jsonrpc: envelope.jsonrpc, id: envelope.id };
        let call = match self.check(*envelope) {
            Ok(call) => call,
            Err(refusal) => return Err(self.charge(refusal, echo, hold).await),
        };
        visit.method = Some(call.method.name);
        let body = call.body();
        self.fits(&body).map_err(|refusal| Refused::saying(refusal, echo))?;
        let admitted = self.admit(1, 1, &mut hold).await;
        let remains = admitted.map_err(|refusal| Refused::saying(refusal, echo))?;
        self.count(&call);
        match self.fetch(&call, body, &hold).await {
            Ok((opened, recalled)) => {
                let around = if call.method.path { wrapping(&call) } else { Default::default() };
                let body = Body::relay(opened, around.0, around.1, hold);
                Ok(Answered { body, remains, recalled })
            }
            Err(failure) => Err(self.fail(failure, 1, hold, echo)),
        }
    }

    /// Deals with a batch.
    pub(crate) async fn batch(
        &self,
        elements: &[Envelope<'_>],
        count: usize,
        mut hold: Box<Hold>,
        visit: &mut Visit,
    ) -> Result<Answered, Refused> {
        visit.method = Some("batch");
        if count == 0 {
            let empty = Refusal::saying(Reason::InvalidRequest, "the batch is empty");
            return Err(self.charge(empty, Echo::default(), hold).await);
        }
        if count > elements.len() {
            let large = Reason::BatchTooLarge.into();
            return Err(self.charge(large, Echo::default(), hold).await);
        }
        let mut batch = Batch::of(elements, |envelope| {
            self.check(envelope)
                .inspect_err(|refusal| self.gateway.metrics().refusal(refusal.reason))
        });
        if self.is_split() {
            batch.calls.iter().try_for_each(|call| self.fits(&call.body()))?;
        }
        let units = batch.calls.len() as u32;
        let remains = self.admit(count as u32, units, &mut hold).await?;
        batch.calls.iter().for_each(|call| self.count(call));
        let sends = batch.calls.iter().any(|call| call.method.send);
        let _sending = sends.then(|| self.sending());
        let known = if sends { 0 } else { batch.take_known(|call| self.at_hand(call)) };
        let recalled = (known > 0 && batch.calls.is_empty()).then_some(Recalled::Hit);
        let body = if batch.calls.is_empty() {
            Body::whole(batch.join(Vec::new()), hold)
        } else if self.is_split() {
            self.split(&batch, hold).await?
        } else {
            self.whole(&batch, hold).await?
        };
        Ok(Answered { body, remains, recalled })
    }

    /// Forwards a batch as one array.
    async fn whole(&self, batch: &Batch<'_>, hold: Box<Hold>) -> Result<Body, Refused> {
        let dialect = self.service.chain.dialect;
        let outgoing = Outgoing {
            pool: &self.service.pool,
            account: self.caller.account_id(),
            weight: self.weight(batch.calls.iter().any(|call| call.is_heavy(dialect))),
            resend: !batch.calls.iter().any(|call| call.method.send),
            path: None,
            body: batch.body(),
            ids: batch.ids(dialect),
            expect: batch.expect(dialect),
            expect_of_old: batch.expect_of_old(dialect),
        };
        match forward(&outgoing, &hold.begun).await {
            Ok(opened) => Ok(Body::relay(opened, Bytes::new(), Bytes::new(), hold)),
            Err(failure) => {
                let units = hold.units;
                Err(self.fail(failure, units, hold, Echo::default()))
            }
        }
    }

    /// Forwards the calls of a batch one by one.
    async fn split<'s>(
        &'s self,
        batch: &'s Batch<'s>,
        mut hold: Box<Hold>,
    ) -> Result<Body, Refused> {
        let (load, settings) = (self.gateway.load(), &self.state.settings);
        let new = || load.buffer(self.caller.account_id(), settings);
        let buffered = hold.buffered.take().unwrap_or_else(new);
        let outgoing = |call: &Call<'s>| self.outgoing(call, call.body());
        let split = Split::new(&batch.calls, outgoing, buffered, &hold.begun);
        let joined = split.run().await;
        let Split { buffered, .. } = split;
        hold.buffered = Some(buffered);
        match joined {
            Ok(joined) => {
                hold.give_back(joined.refund);
                Ok(Body::whole(batch.join(joined.parts), hold))
            }
            Err((failure, refund)) => {
                // What was known is refused along with the rest.
                let known = hold.units.saturating_sub(batch.calls.len() as u32);
                Err(self.fail(failure, refund + known, hold, Echo::default()))
            }
        }
    }

    /// The checks of one call: its shape, its method, its ranges.
    fn check<'c>(&'c self, envelope: Envelope<'c>) -> Result<Call<'c>, Refusal> {
        if let Some(flaw) = envelope.flaw {
            return Err(Refusal::saying(Reason::InvalidRequest, flaw));
        }
        let name = unescape(envelope.method);
        let method = self.service.offered.find(&name).ok_or_else(|| self.no_method(&name))?;
        self.caller.may_call(method.name).map_err(|denial| self.no_right(&name, denial))?;
        if let Some(guard) = method.guard {
            self.ranges().check(guard, envelope.params)?;
        }
        Ok(Call { envelope, method })
    }

    #[cold]
    fn no_method(&self, name: &str) -> Refusal {
        let alike = |offered: &&chain::Method| offered.name.eq_ignore_ascii_case(name.trim());
        let near = self.service.offered.iter().find(alike).map(|offered| offered.name);
        Refusal::no_method(self.service.chain.dialect, name, near)
    }

    /// A method outside the key's scope, in the words that libraries of the chain look for
    /// (decision G4).
    #[cold]
    fn no_right(&self, name: &str, denial: Denial) -> Refusal {
        match self.service.chain.dialect {
            dialect @ chain::Dialect::Geth => Refusal::no_method(dialect, name, None),
            _ => denial.into(),
        }
    }

    fn ranges(&self) -> Ranges {
        let settings = &self.state.settings;
        Ranges {
            logs: settings.log_range,
            headers: settings.header_range,
            tip: self.service.pool.tip(),
        }
    }

    pub(crate) fn outgoing<'e>(&'e self, call: &Call<'e>, body: Bytes) -> Outgoing<'e> {
        let dialect = self.service.chain.dialect;
        let path = call.method.path;
        Outgoing {
            pool: &self.service.pool,
            account: self.caller.account_id(),
            weight: self.weight(call.is_heavy(dialect)),
            resend: !call.method.send,
            path: path.then_some(call.method.name),
            ids: call.ids(&body),
            body,
            expect: if path {
                Expect::Path
            } else {
                Expect::One { answered: call.is_answered(dialect) }
            },
            expect_of_old: None,
        }
    }

    fn weight(&self, heavy: bool) -> Weight {
        if heavy { Weight::Heavy } else { Weight::Light }
    }

    fn is_split(&self) -> bool {
        !node::takes_batches(self.service.chain.dialect)
    }

    /// Refuses what monerod would refuse without reading it.
    fn fits(&self, body: &Bytes) -> Result<(), Refusal> {
        let most = match self.service.chain.dialect {
            chain::Dialect::Monerod => MONEROD_BODY_BYTES,
            _ => usize::MAX,
        };
        if body.len() > most { Err(Reason::RequestTooLarge.into()) } else { Ok(()) }
    }

    /// Charges `tokens` and `units`; the permit goes into `hold`.
    async fn admit(&self, tokens: u32, units: u32, hold: &mut Hold) -> Result<Remains, Refusal> {
        let permit = self.permit(hold.place.take(), tokens, units).await?;
        let remains = *permit.remains();
        hold.permit = Some(permit);
        hold.units = units;
        hold.is_owed = true;
        Ok(remains)
    }

    fn count(&self, call: &Call<'_>) {
        let (methods, method) = (self.service.chain.methods(), call.method);
        // Where an operator did not narrow the set it stands at the same place.
        let own = methods.at(method.index).filter(|own| own.name == method.name);
        let own = own.or_else(|| methods.find(method.name));
        self.gateway.metrics().call(self.service.chain, own.map(|method| method.index));
    }

    /// Charges a request, which has its place mostly.
    fn permit(
        &self,
        place: Option<AccountInFlight>,
        tokens: u32,
        units: u32,
    ) -> impl Future<Output = Result<Permit, Denial>> {
        let (meter, chain) = (self.gateway.meter(), self.service.chain);
        meter.admit_in(&self.caller, place, chain, tokens, units)
    }

    /// A refusal that takes a token, unless the meter refuses first (decision B7). Boxed, since few calls
    /// are refused.
    pub(crate) fn charge(
        &self,
        refusal: Refusal,
        echo: Echo<'_>,
        mut hold: Box<Hold>,
    ) -> Pin<Box<impl Future<Output = Refused>>> {
        Box::pin(async move {
            match self.permit(hold.place.take(), 1, 0).await {
                Err(denial) => Refused::saying(denial.into(), echo),
                Ok(permit) => {
                    hold.permit = Some(permit);
                    Refused { hold, ..Refused::saying(refusal, echo) }
                }
            }
        })
    }

    /// A refusal for a body that was not taken in: what is too large or came at a busy time is
    /// free of charge, but for the token that was taken before it was decompressed.
    async fn refuse_body(&self, refusal: Refusal, place: AccountInFlight) -> Refused {
        if matches!(refusal.reason, Reason::RequestTooLarge | Reason::GatewayBusy) {
            return refusal.into();
        }
        let mut hold = Box::<Hold>::default();
        hold.place = Some(place);
        self.charge(refusal, Echo::default(), hold).await
    }

    /// A refusal after the call was charged: units come back unless the time limit passed.
    fn fail(&self, failure: Failure, units: u32, mut hold: Box<Hold>, echo: Echo<'_>) -> Refused {
        if !failure.charged {
            hold.give_back(units);
        }
        Refused { hold, ..Refused::saying(failure.reason.into(), echo) }
    }
}
