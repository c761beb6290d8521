//! Which API key a request presents, by the order of decision B2.
//!
//! Finds the characters only; whether they are a key is decided elsewhere. What it returns must
//! never be logged.

use http::header::{AUTHORIZATION, HeaderMap, HeaderName};

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The key of a request: `X-API-Key`, else `Authorization: Bearer`, else the last path segment
/// where the service has one. An empty value is no key; another scheme is no key.
pub fn presented_key<'a>(headers: &'a HeaderMap, path_segment: Option<&'a str>) -> Option<&'a str> {
    own_header(headers)
        .or_else(|| bearer(headers))
        .or_else(|| path_segment.filter(|segment| !segment.is_empty()))
}

/// A value that is not text is returned as a key that nobody has, so that it wins over the other
/// forms like any other value.
fn own_header(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(X_API_KEY)?.to_str().unwrap_or("?").trim_ascii();
    (!value.is_empty()).then_some(value)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.as_bytes().trim_ascii();
    let (scheme, rest) = value.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"bearer") || rest.first().is_some_and(|b| *b != b' ') {
        return None;
    }
    let key = std::str::from_utf8(rest).unwrap_or("?").trim_ascii();
    (!key.is_empty()).then_some(key)
}

#[cfg(test)]
mod tests;
