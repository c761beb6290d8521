//! Browsers: the pre-flight request, and the headers that let a page read an answer (decision B18).

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
    VARY,
};
use http::{HeaderMap, HeaderValue, Method};

use crate::settings::Cors;

const EXPOSED: HeaderValue = HeaderValue::from_static(
    "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Quota-Daily-Remaining, \
     X-Quota-Monthly-Remaining, X-Quota-Key-Daily-Remaining, X-Request-Id, Retry-After",
);
const ALLOWED: HeaderValue = HeaderValue::from_static("X-API-Key, Authorization, Content-Type");
/// A day: how long a browser may remember the answer, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("86400");

/// Is this a browser's question whether it may send the request that it has in mind?
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS
        && headers.contains_key(ORIGIN)
        && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// The value of `Access-Control-Allow-Origin` for a request, if it came from a page that may ask.
pub(crate) fn allowed_origin(cors: &Cors, headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(ORIGIN)?;
    match cors {
        Cors::Any => Some(HeaderValue::from_static("*")),
        Cors::Only(list) => list.contains(origin).then(|| origin.clone()),
    }
}

/// Lets the page at `origin` read an answer.
pub(crate) fn expose(headers: &mut HeaderMap, cors: &Cors, origin: HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    if matches!(cors, Cors::Only(_)) {
        headers.insert(VARY, HeaderValue::from_static("Origin"));
    }
}

/// Answers a pre-flight question: which verbs and headers a page may send.
pub(crate) fn answer_preflight(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST"));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED);
    headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
}
