//! Browsers: the pre-flight request, and the headers that let a page read an answer (decision B18).

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
    VARY,
};
use http::{HeaderMap, HeaderValue, Method};

/// Which web pages may call a service from a browser (decision B18).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Cors {
    /// Every origin.
    #[default]
    Any,
    /// Only these origins, compared exactly, e.g. `https://wallet.example`.
    Only(Vec<HeaderValue>),
}

const EXPOSED: HeaderValue = HeaderValue::from_static(
    "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Quota-Daily-Remaining, \
     X-Quota-Monthly-Remaining, X-Quota-Key-Daily-Remaining, X-Request-Id, X-Cache, ETag, Retry-After",
);
const ALLOWED: HeaderValue =
    HeaderValue::from_static("X-API-Key, Authorization, Content-Type, If-None-Match");
/// A day: how long a browser may remember the answer, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("86400");

impl Cors {
    /// Is this a browser's question whether it may send the request that it has in mind?
    pub fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
        method == Method::OPTIONS
            && headers.contains_key(ORIGIN)
            && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
    }

    /// The value of `Access-Control-Allow-Origin` for a request, if it came from a page that may
    /// ask.
    fn allowed_origin(&self, origin: Option<&HeaderValue>) -> Option<HeaderValue> {
        let origin = origin?;
        match self {
            Cors::Any => Some(HeaderValue::from_static("*")),
            Cors::Only(list) => list.contains(origin).then(|| origin.clone()),
        }
    }

    /// Lets the page that asked, if it was one, read an answer, if it may; where that differs from page to
    /// page, every answer says so, for caches.
    pub fn expose(&self, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
        if matches!(self, Cors::Only(_)) {
            headers.append(VARY, HeaderValue::from_static("Origin"));
        }
        if let Some(origin) = self.allowed_origin(origin) {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        }
    }

    /// Answers a pre-flight question: which verbs and headers a page may send.
    pub fn answer_preflight(headers: &mut HeaderMap, verbs: &'static str) {
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(verbs));
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED);
        headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    }
}
