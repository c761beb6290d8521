//! The heads of answers: request id, allowance, waiting time (decision B9).

use http::header::{ALLOW, CONTENT_TYPE, HeaderName, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use meter::Standing;

use listen::RequestId;

use crate::body::Body;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const DAILY: HeaderName = HeaderName::from_static("x-quota-daily-remaining");
const MONTHLY: HeaderName = HeaderName::from_static("x-quota-monthly-remaining");
const KEY_DAILY: HeaderName = HeaderName::from_static("x-quota-key-daily-remaining");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

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
    id.stamp(headers);
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
    id.stamp(headers);
    response
}

/// Says which verb a path takes.
pub(crate) fn allow_post(headers: &mut HeaderMap) {
    headers.insert(ALLOW, HeaderValue::from_static("POST"));
}
