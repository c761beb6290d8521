//! The heads of answers: request id, allowance, waiting time (decision B9).

use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use listen::RequestId;
use meter::Remains;

use crate::body::Body;
use crate::metrics::Recalled;

const X_CACHE: HeaderName = HeaderName::from_static("x-cache");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Room of a map, in lines, beyond which it is not used again: it would stay with its connection.
const MOST_KEPT: usize = 32;

/// A refusal with status 200, and what is left of the allowance where the call was admitted.
pub(crate) fn refused_with_ok(
    id: RequestId,
    remains: Option<&Remains>,
    body: Body,
) -> Response<Body> {
    let mut response = refused(id, StatusCode::OK, None, body);
    if let Some(remains) = remains {
        remains.show(response.headers_mut());
    }
    response
}

/// An answer with status 200, what is left of the allowance, and how it came if not from a node. What
/// stands in `headers` goes.
pub(crate) fn answered(
    mut headers: HeaderMap,
    id: RequestId,
    remains: &Remains,
    recalled: Option<Recalled>,
    body: Body,
) -> Response<Body> {
    let mut response = Response::new(body);
    match headers.capacity() > MOST_KEPT {
        true => headers = HeaderMap::new(),
        false => headers.clear(),
    }
    headers.reserve(12);
    headers.insert(CONTENT_TYPE, JSON);
    remains.show(&mut headers);
    id.stamp(&mut headers);
    if let Some(how) = recalled {
        headers.insert(X_CACHE, HeaderValue::from_static(how.word()));
    }
    *response.headers_mut() = headers;
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
