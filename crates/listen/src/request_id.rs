//! The id of a request, in every answer and every log line.

use http::{HeaderMap, HeaderName, HeaderValue};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The unique id of a request: a UUID of version 7, always ours, never the client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestId(uuid::Uuid);

impl RequestId {
    /// A new id.
    #[allow(clippy::new_without_default, reason = "every id is another")]
    pub fn new() -> RequestId {
        RequestId(uuid::Uuid::now_v7())
    }

    /// Gives an answer its id.
    pub fn stamp(self, headers: &mut HeaderMap) {
        if let Some(value) = self.value() {
            headers.insert(REQUEST_ID, value);
        }
    }

    /// Gives an answer an id that is text already.
    pub(crate) fn stamp_value(value: HeaderValue, headers: &mut HeaderMap) {
        headers.insert(REQUEST_ID, value);
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
