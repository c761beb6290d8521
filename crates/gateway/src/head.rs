//! The heads of answers: request id, allowance, waiting time (decision B9).

use http::header::{ALLOW, CONTENT_TYPE, HeaderName, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use meter::Standing;

use crate::body::Body;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const DAILY: HeaderName = HeaderName::from_static("x-quota-daily-remaining");
const MONTHLY: HeaderName = HeaderName::from_static("x-quota-monthly-remaining");
const KEY_DAILY: HeaderName = HeaderName::from_static("x-quota-key-daily-remaining");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The unique id of a request: a UUID of version 7, always ours, never the client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestId(uuid::Uuid);

impl RequestId {
    /// A new id.
    #[allow(clippy::new_without_default, reason = "every id is another")]
    pub fn new() -> RequestId {
        RequestId(uuid::Uuid::now_v7())
    }

    fn value(self) -> Option<HeaderValue> {
        let mut text = [0; uuid::fmt::Hyphenated::LENGTH];
        HeaderValue::from_str(self.0.hyphenated().encode_lower(&mut text)).ok()
    }
}

impl std::fmt::Display for RequestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// An answer with status 200 and what is left of the allowance.
pub(crate) fn answered(id: RequestId, standing: &Standing, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.reserve(12);
    headers.insert(CONTENT_TYPE, JSON);
    headers.insert(LIMIT, u64::from(standing.limit).into());
    headers.insert(REMAINING, u64::from(standing.remaining).into());
    headers.insert(RESET, standing.reset_secs.into());
    let quotas = [
        (DAILY, standing.daily_remaining),
        (MONTHLY, standing.monthly_remaining),
        (KEY_DAILY, standing.key_daily_remaining),
    ];
    for (name, left) in quotas {
        if let Some(left) = left {
            headers.insert(name, left.into());
        }
    }
    stamp(headers, id);
    response
}

/// An answer with the status of a refusal.
pub(crate) fn refused(
    id: RequestId,
    status: StatusCode,
    wait_secs: Option<u64>,
    body: Body,
) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, JSON);
    if let Some(secs) = wait_secs {
        headers.insert(RETRY_AFTER, secs.max(1).into());
    }
    stamp(headers, id);
    response
}

/// Says which verb a path takes.
pub(crate) fn allow_post(headers: &mut HeaderMap) {
    headers.insert(ALLOW, HeaderValue::from_static("POST"));
}

/// Gives an answer its id.
pub(crate) fn stamp(headers: &mut HeaderMap, id: RequestId) {
    if let Some(value) = id.value() {
        headers.insert(REQUEST_ID, value);
    }
}
