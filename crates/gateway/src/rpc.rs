//! One request from its head to its answer, in the order of decision B6.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::ORIGIN;
use http::request::Parts;
use http::{Request, Response};
use listen::{Cors, RequestBody, Visit};
use meter::Service;

use crate::body::Body;
use crate::envelope::Posted;
use crate::gateway::{Gateway, State};
use crate::handler::Handler;
use crate::outcome::{Answered, Refused};
use crate::refusal::{Echo, Reason, Refusal};
use crate::route::{Route, only_post};
use crate::settings::Refusals;
use crate::{envelope, head, metrics};

/// Answers one request.
pub(crate) async fn handle(
    gateway: &Arc<Gateway>,
    request: Request<RequestBody>,
    peer: IpAddr,
) -> Response<Body> {
    let mut visit = Visit::begin("gateway");
    visit.route = Some(metrics::RPC);
    let (mut parts, body) = request.into_parts();
    let origin = parts.headers.get(ORIGIN).cloned();
    let state = gateway.state();
    let preflight_here =
        Route::of(parts.uri.path()).is_ok() && Cors::is_preflight(&parts.method, &parts.headers);
    let mut response = if preflight_here {
        preflight(&visit)
    } else {
        // Boxed: the layers above would otherwise copy a future of some kilobytes each.
        let walk = Box::pin(walk(gateway, &state, &parts, body, peer, &mut visit));
        match walk.await {
            Ok(Answered { body, remains, recalled }) => {
                // The map of the request serves for the answer: it is as large.
                let headers = std::mem::take(&mut parts.headers);
                head::answered(headers, visit.id, &remains, recalled, body)
            }
            Err(refused) => refuse(gateway, &state, &mut visit, refused, &parts),
        }
    };
    state.settings.clients.cors.expose(origin.as_ref(), response.headers_mut());
    response.body_mut().is_of(visit.id);
    visit.units = response.body().units();
    visit.end(gateway.metrics().counters(), response.status());
    response
}

/// The whole path of a request.
async fn walk(
    gateway: &Gateway,
    state: &State,
    parts: &Parts,
    mut body: RequestBody,
    peer: IpAddr,
    visit: &mut Visit,
) -> Result<Answered, Refused> {
    let route = Route::of(parts.uri.path())?;
    only_post(&parts.method)?;
    gateway.serving()?;
    // In a block, so that nothing of it but the handler is kept while the rest waits.
    let handler = {
        let client = state.settings.clients.address(&parts.headers, peer);
        let origin = parts.headers.get(ORIGIN).and_then(|value| value.to_str().ok());
        let presented = meter::presented_key(&parts.headers, route.key);
        let caller = gateway.meter().caller(presented, Service::Gateway, client, origin).await?;
        visit.called_by(caller.account_id(), caller.key_id());
        let service = state.chains.find(route.chain).ok_or_else(|| no_chain(state, route.chain))?;
        visit.chain = Some(metrics::label(service.chain));
        caller.may_use(service.chain)?;
        Handler { gateway, state, service, caller }
    };
    let (text, hold) = handler.take_in(&parts.headers, &mut body).await?;
    // Looked at where it lies: what is moved is kept twice.
    let posted = envelope::read(&text, handler.caller.plan().batch_size as usize);
    match &posted {
        Err(_) => Err(handler.charge(Reason::Unreadable.into(), Echo::default(), hold).await),
        Ok(Posted::Neither) => {
            Err(handler.charge(Reason::InvalidRequest.into(), Echo::default(), hold).await)
        }
        Ok(Posted::One(envelope)) => {
            let answered = handler.one(envelope, hold, visit).await;
            answered.map_err(|refused| Refused { of_call: true, ..refused })
        }
        // Boxed, so that the future of the common single call stays small.
        Ok(Posted::Batch { elements, count }) => {
            Box::pin(handler.batch(elements, *count, hold, visit)).await
        }
    }
}

/// CHAIN_NOT_FOUND, with the right spelling where that is all that is wrong.
#[cold]
fn no_chain(state: &State, slug: &str) -> Refusal {
    match state.chains.near(slug) {
        Some(near) => {
            let text = format!("no such chain here: it is written {near}");
            Refusal::saying(Reason::ChainNotFound, text)
        }
        None => Reason::ChainNotFound.into(),
    }
}

fn refuse(
    gateway: &Gateway,
    state: &State,
    visit: &mut Visit,
    refused: Refused,
    parts: &Parts,
) -> Response<Body> {
    let Refused { refusal, body, hold, of_call } = refused;
    let Refusal { reason, retry_after_secs, .. } = refusal;
    visit.reason = Some(reason.label());
    gateway.metrics().refusal(reason);
    if of_call && reason.is_of_call() && state.settings.refusals == Refusals::Ok {
        let remains = hold.permit.as_ref().map(|permit| *permit.remains());
        return head::refused_with_ok(visit.id, remains.as_ref(), Body::whole(body, hold));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    type Walk<'a, F> =
        fn(&'a Gateway, &'a State, &'a Parts, RequestBody, IpAddr, &'a mut Visit) -> F;

    fn layout<'a, F: Future>(_: Walk<'a, F>) -> (usize, usize) {
        (size_of::<F>(), align_of::<F>())
    }

    /// It is made and moved with every call, and the allocator is quick up to 1024 bytes. What waits long,
    /// or seldom, is boxed where it waits.
    #[test]
    fn the_way_of_a_call_is_small_and_lies_anywhere() {
        let (size, align) = layout(walk);
        assert!(size <= 1024 && align <= 16, "{size} bytes, aligned to {align}");
    }
}
