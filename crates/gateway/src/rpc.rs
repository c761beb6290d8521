//! One request from its head to its answer, in the order of decision B6.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use listen::{Cors, RequestBody, client_address};
use meter::{Caller, Service, Standing};
use node::Weight;

use crate::answer::Expect;
use crate::batch::Batch;
use crate::body::{Body, Hold};
use crate::call::Call;
use crate::envelope::{Envelope, Posted};
use crate::forward::{Errand, Failure, forward};
use crate::gateway::{ChainService, Gateway, State};
use crate::guard::Ranges;
use crate::json::unescape;
use crate::refusal::{Echo, Reason, Refusal};
use crate::route::{Route, only_post};
use crate::split::{Split, wrapping};
use crate::visit::Visit;
use crate::{envelope, head, intake};

/// Largest body that monerod takes, in bytes (decision G13).
const MONEROD_BODY_BYTES: usize = 1_000_000;

/// A refusal on its way out, with what it holds.
pub(crate) struct Refused {
    refusal: Refusal,
    body: Bytes,
    hold: Hold,
}

/// An answer on its way out.
pub(crate) struct Answered {
    body: Body,
    standing: Standing,
}

/// Answers one request.
pub(crate) async fn handle(
    gateway: &Arc<Gateway>,
    request: Request<RequestBody>,
    peer: IpAddr,
) -> Response<Body> {
    let mut visit = Visit::begin();
    let (parts, body) = request.into_parts();
    let state = gateway.state();
    let preflight_here =
        Route::of(parts.uri.path()).is_ok() && Cors::is_preflight(&parts.method, &parts.headers);
    let mut response = if preflight_here {
        preflight(&visit)
    } else {
        // Boxed: the layers above would otherwise copy a future of some kilobytes each.
        let walk = Box::pin(walk(gateway, &state, &parts, body, peer, &mut visit));
        match walk.await {
            Ok(Answered { body, standing }) => head::answered(visit.id, &standing, body),
            Err(refused) => refuse(gateway, &mut visit, refused, &parts),
        }
    };
    state.settings.cors.expose(&parts.headers, response.headers_mut());
    gateway.metrics().answer(visit.chain, response.status(), visit.took());
    visit.log(response.status());
    response
}

/// The whole path of a request.
async fn walk(
    gateway: &Gateway,
    state: &State,
    parts: &Parts,
    body: RequestBody,
    peer: IpAddr,
    visit: &mut Visit,
) -> Result<Answered, Refused> {
    let route = Route::of(parts.uri.path())?;
    only_post(&parts.method)?;
    gateway.serving()?;
    let client = client_address(&parts.headers, peer, &state.settings.trusted_proxies);
    let origin = parts.headers.get(http::header::ORIGIN).and_then(|value| value.to_str().ok());
    let presented = meter::presented_key(&parts.headers, route.key);
    let caller = gateway.meter().caller(presented, Service::Gateway, client, origin).await?;
    visit.called_by(&caller);
    let service = state.chain(route.chain).ok_or(Reason::ChainNotFound)?;
    visit.chain = Some(service.chain);
    caller.may_use(service.chain)?;
    let buffered = gateway.load().buffer();
    let desk = Desk { gateway, state, service, caller };
    let text = match intake::read(&parts.headers, body, &state.settings, &buffered).await {
        Ok(text) => text,
        Err(refusal) => return Err(desk.refuse_body(refusal)),
    };
    // Only now: bodies that trickle in must not take the places of other accounts' calls.
    let in_flight =
        gateway.load().places.enter(state.settings.max_in_flight).ok_or(Reason::GatewayBusy)?;
    let hold = Hold { _in_flight: Some(in_flight), buffered: Some(buffered), ..Hold::default() };
    match envelope::read(&text, desk.caller.plan().batch_size as usize) {
        Err(_) => Err(desk.charge(Reason::Unreadable.into(), Echo::default())),
        Ok(Posted::Neither) => Err(desk.charge(Reason::InvalidRequest.into(), Echo::default())),
        Ok(Posted::One(envelope)) => desk.one(envelope, hold, visit).await,
        // Boxed, so that the future of the common single call stays small.
        Ok(Posted::Batch { elements, count }) => {
            Box::pin(desk.batch(&elements, count, hold, visit)).await
        }
    }
}

/// What a request that found its chain is dealt with at.
struct Desk<'a> {
    gateway: &'a Gateway,
    state: &'a State,
    service: &'a ChainService,
    caller: Caller,
}

impl<'a> Desk<'a> {
    /// Deals with a single call.
    async fn one(
        &self,
        envelope: Envelope<'_>,
        mut hold: Hold,
        visit: &mut Visit,
    ) -> Result<Answered, Refused> {
        let echo = Echo { jsonrpc: envelope.jsonrpc, id: envelope.id };
        let call = match self.check(envelope, self.ranges()) {
            Ok(call) => call,
            Err(refusal) => return Err(self.charge(refusal, echo)),
        };
        visit.method = Some(call.method.name);
        let body = call.body();
        self.fits(&body).map_err(|refusal| Refused::saying(refusal, echo))?;
        let standing =
            self.admit(1, 1, &mut hold, visit).map_err(|refusal| Refused::saying(refusal, echo))?;
        self.count(&call);
        match forward(&self.errand(&call, body)).await {
            Ok(opened) => {
                let around = if call.method.path { wrapping(&call) } else { Default::default() };
                Ok(Answered { body: Body::relay(opened, around.0, around.1, hold), standing })
            }
            Err(failure) => Err(self.fail(failure, 1, hold, echo)),
        }
    }

    /// Deals with a batch.
    async fn batch(
        &self,
        elements: &[Envelope<'_>],
        count: usize,
        mut hold: Hold,
        visit: &mut Visit,
    ) -> Result<Answered, Refused> {
        visit.method = Some("batch");
        if count == 0 {
            return Err(self.charge(
                Refusal::saying(Reason::InvalidRequest, "the batch is empty"),
                Echo::default(),
            ));
        }
        if count > elements.len() {
            return Err(self.charge(Reason::BatchTooLarge.into(), Echo::default()));
        }
        let ranges = self.ranges();
        let batch = Batch::of(elements, |envelope| {
            self.check(envelope, ranges)
                .inspect_err(|refusal| self.gateway.metrics().refusal(refusal.reason))
        });
        if self.is_split() {
            batch.calls.iter().try_for_each(|call| self.fits(&call.body()))?;
        }
        let units = batch.calls.len() as u32;
        let standing = self.admit(count as u32, units, &mut hold, visit)?;
        batch.calls.iter().for_each(|call| self.count(call));
        let body = if batch.calls.is_empty() {
            Body::whole(batch.join(Vec::new()), hold)
        } else if self.is_split() {
            self.split(&batch, hold).await?
        } else {
            self.whole(&batch, hold).await?
        };
        Ok(Answered { body, standing })
    }

    /// Forwards a batch as one array.
    async fn whole(&self, batch: &Batch<'_>, hold: Hold) -> Result<Body, Refused> {
        let dialect = self.service.chain.dialect;
        let errand = Errand {
            pool: &self.service.pool,
            account: self.caller.account_id(),
            weight: self.weight(batch.calls.iter().any(|call| call.is_heavy(dialect))),
            resend: !batch.calls.iter().any(|call| call.method.send),
            path: None,
            body: batch.body(),
            expect: batch.expect(dialect),
            expect_of_old: batch.expect_of_old(dialect),
        };
        match forward(&errand).await {
            Ok(opened) => Ok(Body::relay(opened, Bytes::new(), Bytes::new(), hold)),
            Err(failure) => {
                Err(self.fail(failure, batch.calls.len() as u32, hold, Echo::default()))
            }
        }
    }

    /// Forwards the calls of a batch one by one.
    async fn split<'s>(&'s self, batch: &'s Batch<'s>, mut hold: Hold) -> Result<Body, Refused> {
        let buffered = hold.buffered.take().unwrap_or_else(|| self.gateway.load().buffer());
        let errand = |call: &Call<'s>| self.errand(call, call.body());
        let most = self.state.settings.max_buffered_bytes;
        let split = Split::new(&batch.calls, errand, buffered, most);
        let joined = split.run().await;
        hold.buffered = Some(split.buffered);
        match joined {
            Ok(joined) => {
                if let Some(permit) = hold.permit.as_mut() {
                    permit.refund(joined.refund);
                }
                Ok(Body::whole(batch.join(joined.parts), hold))
            }
            Err((failure, refund)) => Err(self.fail(failure, refund, hold, Echo::default())),
        }
    }

    /// The checks of one call: its shape, its method, its ranges.
    fn check<'c>(&'c self, envelope: Envelope<'c>, ranges: Ranges) -> Result<Call<'c>, Refusal> {
        if let Some(flaw) = envelope.flaw {
            return Err(Refusal::saying(Reason::InvalidRequest, flaw));
        }
        let method = self
            .service
            .offered
            .find(&unescape(envelope.method))
            .ok_or(Reason::MethodNotAllowed)?;
        self.caller.may_call(method.name)?;
        if let Some(guard) = method.guard {
            ranges.check(guard, envelope.params)?;
        }
        Ok(Call { envelope, method })
    }

    fn ranges(&self) -> Ranges {
        let settings = &self.state.settings;
        Ranges {
            logs: settings.log_range,
            headers: settings.header_range,
            tip: self.service.pool.tip(),
        }
    }

    fn errand<'e>(&'e self, call: &Call<'e>, body: Bytes) -> Errand<'e> {
        let dialect = self.service.chain.dialect;
        let path = call.method.path;
        Errand {
            pool: &self.service.pool,
            account: self.caller.account_id(),
            weight: self.weight(call.is_heavy(dialect)),
            resend: !call.method.send,
            path: path.then_some(call.method.name),
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
        matches!(self.service.chain.dialect, chain::Dialect::Monerod | chain::Dialect::Zebrad)
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
    fn admit(
        &self,
        tokens: u32,
        units: u32,
        hold: &mut Hold,
        visit: &mut Visit,
    ) -> Result<Standing, Refusal> {
        let permit = self.gateway.meter().admit(&self.caller, self.service.chain, tokens, units)?;
        let standing = *permit.standing();
        hold.permit = Some(permit);
        hold.units = units;
        visit.units = units;
        Ok(standing)
    }

    fn count(&self, call: &Call<'_>) {
        let own = self.service.chain.methods().find(call.method.name);
        self.gateway.metrics().call(self.service.chain, own.map(|method| method.index));
    }

    /// A refusal that takes a token, unless the meter refuses first (decision B7).
    fn charge(&self, refusal: Refusal, echo: Echo<'_>) -> Refused {
        match self.gateway.meter().admit(&self.caller, self.service.chain, 1, 0) {
            Err(denial) => Refused::saying(denial.into(), echo),
            Ok(permit) => {
                let mut refused = Refused::saying(refusal, echo);
                refused.hold.permit = Some(permit);
                refused
            }
        }
    }

    /// A refusal for a body that was not taken in: what is too large or came at a busy time is
    /// free of charge.
    fn refuse_body(&self, refusal: Refusal) -> Refused {
        match refusal.reason {
            Reason::RequestTooLarge | Reason::GatewayBusy => refusal.into(),
            _ => self.charge(refusal, Echo::default()),
        }
    }

    /// A refusal after the call was charged: units come back unless the time limit passed.
    fn fail(&self, failure: Failure, units: u32, mut hold: Hold, echo: Echo<'_>) -> Refused {
        if let Some(permit) = hold.permit.as_mut()
            && !failure.charged
        {
            permit.refund(units);
        }
        Refused { hold, ..Refused::saying(failure.reason.into(), echo) }
    }
}

impl Refused {
    fn saying(refusal: Refusal, echo: Echo<'_>) -> Refused {
        let body = refusal.body(echo);
        Refused { refusal, body, hold: Hold::default() }
    }
}

impl<R: Into<Refusal>> From<R> for Refused {
    fn from(refusal: R) -> Refused {
        Refused::saying(refusal.into(), Echo::default())
    }
}

fn refuse(gateway: &Gateway, visit: &mut Visit, refused: Refused, parts: &Parts) -> Response<Body> {
    let Refused { refusal, body, hold } = refused;
    let Refusal { reason, retry_after_secs, .. } = refusal;
    visit.reason = Some(reason);
    gateway.metrics().refusal(reason);
    let body = Body::whole(body, hold);
    let mut response = head::refused(visit.id, reason.status(), retry_after_secs, body);
    if parts.method != http::Method::POST && reason == Reason::InvalidRequest {
        head::allow_post(response.headers_mut());
    }
    response
}

fn preflight(visit: &Visit) -> Response<Body> {
    let mut response = Response::new(Body::free(Bytes::new()));
    *response.status_mut() = http::StatusCode::NO_CONTENT;
    Cors::answer_preflight(response.headers_mut(), "POST");
    visit.id.stamp(response.headers_mut());
    response
}
