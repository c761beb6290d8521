//! The body of a request that has one, read whole within a bound.
//!
//! Leaves what it says to the handlers. Invariants: it is read behind admission; no more of it is
//! held than `MOST_BYTES`; what does not come whole is refused and never half read; since it may
//! hold a secret, what was held is cleared when it is dropped, and never shown.

use std::fmt;
use std::time::Duration;

use http::header::CONTENT_ENCODING;
use http::{HeaderMap, HeaderValue};
use http_body::Body as _;
use http_body_util::BodyExt;
use listen::RequestBody;
use zeroize::Zeroizing;

use crate::refusal::{Reason, Refusal};

/// A body has at most so many bytes (decision R2).
const MOST_BYTES: usize = 4 << 10;

/// A body that was read whole; empty where a request has none.
#[derive(Default)]
pub(crate) struct Posted(Zeroizing<Vec<u8>>);

impl Posted {
    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Posted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a body of {} bytes", self.0.len())
    }
}

/// Reads a body to its end.
///
/// # Errors
/// BAD_REQUEST where it is too long, is coded, breaks off or takes too long to come.
pub(crate) async fn read(
    headers: &HeaderMap,
    body: &mut RequestBody,
    patience: Duration,
) -> Result<Posted, Refusal> {
    let is_coded = |value: &HeaderValue| !value.as_bytes().eq_ignore_ascii_case(b"identity");
    if headers.get_all(CONTENT_ENCODING).iter().any(is_coded) {
        return Err(bad("the body has to come as it is, without Content-Encoding"));
    }
    if body.size_hint().lower() > MOST_BYTES as u64 {
        return Err(too_long());
    }
    tokio::time::timeout(patience, collect(body))
        .await
        .unwrap_or_else(|_| Err(bad("the body did not arrive in time")))
}

async fn collect(body: &mut RequestBody) -> Result<Posted, Refusal> {
    // It never grows: what was moved would leave a copy behind.
    let mut whole = Zeroizing::new(Vec::with_capacity(MOST_BYTES));
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| bad("the body broke off"))?;
        let Ok(data) = frame.into_data() else { continue };
        if whole.len() + data.len() > MOST_BYTES {
            return Err(too_long());
        }
        whole.extend_from_slice(&data);
    }
    Ok(Posted(whole))
}

fn too_long() -> Refusal {
    bad("the body has more than 4096 bytes")
}

fn bad(text: &'static str) -> Refusal {
    Refusal::saying(Reason::BadRequest, text)
}
