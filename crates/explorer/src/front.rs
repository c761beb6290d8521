//! The way of a request, top to bottom: id, path and verb, key, account, chain, plan, admit,
//! handler, settle, headers.
//!
//! The order is that of decision B6. Leaves arguments and answers to the handlers of a family.
//! Invariants: what is charged was admitted before; a 5xx gives its unit back, except one that ran
//! past the time limit (decision B7).

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::ORIGIN;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use index::ChainIndex;
use listen::{Cors, InFlight, RequestBody, Visit};
use meter::{Caller, Permit, Remains, Service};

use crate::account;
use crate::answer::Question;
use crate::body::{Body, Hold};
use crate::content::Content;
use crate::encoding::Coding;
use crate::explorer::{ChainService, Explorer, State};
use crate::head::{self, Tagged};
use crate::metrics;
use crate::path::{self, Path};
use crate::posted::{self, Posted};
use crate::refusal::{Reason, Refusal};
use crate::ring;
use crate::room::{Full, Room, Taken};
use crate::stream::Stream;
use crate::utxo;

/// Answers of fewer bytes are not counted as under way.
const COUNTED_BYTES: u64 = 4096;

/// A refusal on its way out, with what it holds.
struct Refused {
    refusal: Refusal,
    hold: Hold,
}

impl<R: Into<Refusal>> From<R> for Refused {
    fn from(refusal: R) -> Refused {
        Refused { refusal: refusal.into(), hold: Hold::default() }
    }
}

impl Refused {
    fn holding(mut self, in_flight: InFlight) -> Refused {
        self.hold._in_flight = Some(in_flight);
        self
    }
}

/// An answer on its way out.
struct Answered {
    tagged: Tagged,
    hold: Hold,
    account: u64,
}

/// Answers one request.
pub(crate) async fn handle(
    explorer: &Arc<Explorer>,
    request: Request<RequestBody>,
    peer: IpAddr,
) -> Response<Body> {
    let mut visit = Visit::begin("explorer");
    let (parts, mut body) = request.into_parts();
    let state = explorer.state();
    let mut response = match preflight(&parts) {
        Some(response) => response,
        None => {
            // Boxed: the layers above would otherwise copy a large future.
            match Box::pin(walk(explorer, &state, &parts, &mut body, peer, &mut visit)).await {
                Ok(answered) => answer(answered, &parts, &state).await,
                Err(refused) => refuse(explorer, &mut visit, refused),
            }
        }
    };
    visit.id.stamp(response.headers_mut());
    state.settings.clients.cors.expose(parts.headers.get(ORIGIN), response.headers_mut());
    if let (1.., Some(endpoint)) = (visit.units, visit.route) {
        explorer.metrics().request(visit.chain, endpoint);
    }
    visit.end(explorer.metrics().counters(), response.status());
    response
}

/// The whole path of a request.
async fn walk(
    explorer: &Explorer,
    state: &State,
    parts: &Parts,
    body: &mut RequestBody,
    peer: IpAddr,
    visit: &mut Visit,
) -> Result<Answered, Refused> {
    let path = Path::of(&parts.method, parts.uri.path())
        .ok_or_else(|| path::unknown(&parts.method, parts.uri.path()))?;
    visit.route = Some(path.endpoint.label());
    explorer.serving()?;
    let client = state.settings.clients.address(&parts.headers, peer);
    let origin = parts.headers.get(http::header::ORIGIN).and_then(|value| value.to_str().ok());
    let presented = meter::presented_key(&parts.headers, None);
    let caller = explorer.meter().caller(presented, Service::Explorer, client, origin).await?;
    visit.called_by(caller.account_id(), caller.key_id());
    let Some(service) = state.chains.find(path.slug) else {
        let permit = explorer.meter().admit_elsewhere(&caller, 1, 1).await?;
        visit.units = 1;
        return Err(charged(state.unknown_chain(path.slug), permit));
    };
    visit.chain = Some(metrics::label(service.chain));
    caller.may_use(service.chain)?;
    let in_flight = explorer.enter(state.settings.max_in_flight)?;
    let permit = admit(explorer, &caller, service, visit).await?;
    if !path.endpoint.is_of(service.chain.family) {
        return Err(charged(Reason::NotOnThisChain.into(), permit));
    }
    let query = parts.uri.query().unwrap_or_default();
    let account = caller.account_id();
    // A body of a GET means nothing; the connection drops it.
    let body = match path.endpoint.takes_body() {
        true => match posted::read(&parts.headers, body, state.settings.timeout).await {
            Ok(body) => body,
            Err(refusal) => return Err(charged(refusal, permit).holding(in_flight)),
        },
        false => Posted::default(),
    };
    let question = Question { id: visit.id, path, query, body, service, account };
    let asked = async {
        let content = ask(&question, state).await?;
        let room = room_for(content.room(), explorer.room(), account).await?;
        Ok((content, room))
    };
    match tokio::time::timeout(state.settings.timeout, asked).await {
        Ok(Ok((content, room))) => {
            let hold = Hold { permit: Some(permit), _in_flight: Some(in_flight), _room: room };
            Ok(Answered { tagged: Tagged::of(content), hold, account })
        }
        Ok(Err(refusal)) => Err(charged(refusal, permit).holding(in_flight)),
        Err(_) => Err(charged(Reason::UpstreamTimeout.into(), permit).holding(in_flight)),
    }
}

/// Room for an answer; small ones need none, as the cap of requests in flight bounds them.
async fn room_for(bytes: u64, room: &Room, account: u64) -> Result<Option<Taken>, Full> {
    if bytes < COUNTED_BYTES {
        return Ok(None);
    }
    room.take(account, bytes).await.map(Some)
}

/// The one match on family.
async fn ask(question: &Question<'_>, state: &State) -> Result<Content, Refusal> {
    match &question.service.index {
        Some(ChainIndex::Utxo(index)) => utxo::answer(question, index, &state.reads).await,
        Some(ChainIndex::Account(index)) => account::answer(question, index, &state.reads).await,
        Some(ChainIndex::Ring(index)) => ring::answer(question, index, &state.reads).await,
        Some(ChainIndex::Stopped(_)) => Err(Refusal::unavailable(
            "the index of this chain is stopped; its operator knows why",
            60,
        )),
        None => Err(Refusal::unavailable("this chain is not indexed here yet", 3600)),
    }
}

async fn admit(
    explorer: &Explorer,
    caller: &Caller,
    service: &ChainService,
    visit: &mut Visit,
) -> Result<Permit, Refusal> {
    let permit = explorer.meter().admit(caller, service.chain, 1, 1).await?;
    visit.units = 1;
    Ok(permit)
}

/// A refusal of what was admitted: trouble on our side gives the unit back.
fn charged(refusal: Refusal, mut permit: Permit) -> Refused {
    if !is_charged(refusal.reason) {
        permit.refund(1);
    }
    Refused { refusal, hold: Hold { permit: Some(permit), ..Hold::default() } }
}

/// Whether a refusal behind admission keeps its unit: it is an answer, or ran past the time limit.
fn is_charged(reason: Reason) -> bool {
    let status = reason.status();
    let is_busy = status == StatusCode::TOO_MANY_REQUESTS;
    reason == Reason::UpstreamTimeout || !(status.is_server_error() || is_busy)
}

/// What is left to the caller, to be shown if the answer is a charged one.
fn remains(hold: &Hold) -> Option<Remains> {
    hold.permit.as_ref().map(|permit| *permit.remains())
}

async fn answer(answered: Answered, parts: &Parts, state: &State) -> Response<Body> {
    let Answered { tagged: Tagged { content, tag }, hold, account } = answered;
    let remains = remains(&hold);
    let may_be_kept = parts.method != Method::POST;
    let (status, body, coding) = match content {
        _ if may_be_kept && head::has(&parts.headers, &tag) => {
            (StatusCode::NOT_MODIFIED, Body::new(Bytes::new(), hold), Coding::Plain)
        }
        Content::Whole(body) => {
            let (body, coding) = Coding::of(&parts.headers).write(body).await;
            (StatusCode::OK, Body::new(body, hold), coding)
        }
        Content::Long(long) => {
            let coding = Coding::of(&parts.headers);
            let stream = Stream::new(long, coding.writer(), Arc::clone(&state.reads), account);
            (StatusCode::OK, Body::stream(stream, hold), coding)
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    head::answered(response.headers_mut(), &tag, coding, status);
    if !may_be_kept {
        head::not_kept(response.headers_mut());
    }
    if let Some(remains) = remains {
        remains.show(response.headers_mut());
    }
    response
}

fn refuse(explorer: &Explorer, visit: &mut Visit, refused: Refused) -> Response<Body> {
    let Refused { refusal, hold } = refused;
    let Refusal { reason, retry_after_secs, .. } = refusal;
    visit.reason = Some(reason.label());
    explorer.metrics().refusal(reason);
    let status = reason.status();
    let remains = remains(&hold);
    let mut response = Response::new(Body::new(refusal.body(), hold));
    *response.status_mut() = status;
    head::refused(response.headers_mut(), retry_after_secs);
    if !is_charged(reason) {
        visit.units = 0;
    }
    if let Some(remains) = remains.filter(|_| is_charged(reason)) {
        remains.show(response.headers_mut());
    }
    response
}

/// The answer to a browser's pre-flight question about a path of ours.
fn preflight(parts: &Parts) -> Option<Response<Body>> {
    let known = |verb| Path::of(&verb, parts.uri.path()).is_some();
    let verbs = match (known(Method::GET), known(Method::POST)) {
        (true, _) => "GET, HEAD",
        (false, true) => "POST",
        (false, false) => return None,
    };
    if !Cors::is_preflight(&parts.method, &parts.headers) {
        return None;
    }
    let mut response = Response::new(Body::new(Bytes::new(), Hold::default()));
    *response.status_mut() = StatusCode::NO_CONTENT;
    Cors::answer_preflight(response.headers_mut(), verbs);
    Some(response)
}
