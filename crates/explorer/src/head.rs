//! Heads of answers: what a client may keep, how a body is written, what a refusal adds.

use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, RETRY_AFTER, VARY,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use xxhash_rust::xxh3::xxh3_64;

use crate::content::Content;
use crate::encoding::Coding;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Every answer carries confirmations, which the next block changes (decision E14).
const CACHING: HeaderValue = HeaderValue::from_static("private, no-cache");

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// The weak tag of an uncompressed body.
pub(crate) fn tag(body: &[u8]) -> String {
    tag_of(xxh3_64(body))
}

/// The weak tag that a hash makes.
fn tag_of(hash: u64) -> String {
    let mut digits = const_hex::Buffer::<8>::new();
    ["W/\"", digits.format(&hash.to_be_bytes()), "\""].concat()
}

/// Whether the client has the body of that tag (RFC 9110, 13.1.2: weak comparison).
pub(crate) fn has(headers: &HeaderMap, tag: &str) -> bool {
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let wanted = opaque(tag);
    let values = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|item| {
        let item = item.trim();
        item == "*" || opaque(item) == wanted
    })
}

/// The head of an answer with a body that may be kept.
pub(crate) fn answered(headers: &mut HeaderMap, tag: &str, coding: Coding, status: StatusCode) {
    headers.reserve(16);
    if status != StatusCode::NOT_MODIFIED {
        headers.insert(CONTENT_TYPE, JSON);
    }
    if let Some(coding) = coding.header() {
        headers.insert(CONTENT_ENCODING, coding);
    }
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(ETAG, tag);
    }
    headers.insert(CACHE_CONTROL, CACHING);
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
}

/// Makes of such a head that of an answer which nobody may keep (decision R11).
pub(crate) fn not_kept(headers: &mut HeaderMap) {
    headers.remove(ETAG);
    headers.insert(CACHE_CONTROL, NO_STORE);
}

/// The head of a refusal.
pub(crate) fn refused(headers: &mut HeaderMap, wait_secs: Option<u64>) {
    headers.insert(CONTENT_TYPE, JSON);
    headers.insert(CACHE_CONTROL, NO_STORE);
    if let Some(secs) = wait_secs {
        headers.insert(RETRY_AFTER, secs.max(1).into());
    }
}

/// An answer and its tag.
pub(crate) struct Tagged {
    pub(crate) content: Content,
    pub(crate) tag: String,
}

impl Tagged {
    pub(crate) fn of(content: Content) -> Tagged {
        let tag = match &content {
            Content::Whole(body) => tag(body),
            Content::Long(long) => tag_of(long.hash),
        };
        Tagged { content, tag }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_found_in_lists_and_in_either_strength() {
        let tag = tag(b"body");
        let ask = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(IF_NONE_MATCH, value.parse().unwrap());
            has(&headers, &tag)
        };
        assert!(ask(&tag));
        assert!(ask(&tag[2..]));
        assert!(ask("*"));
        assert!(ask(&format!("\"other\", {tag}")));
        assert!(!ask("\"other\""));
        assert!(!ask(""));
        assert!(!has(&HeaderMap::new(), &tag));
        assert_ne!(tag, super::tag(b"another"));
    }
}
