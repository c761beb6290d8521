//! The answers that hyper makes without asking the service.
//!
//! hyper answers a head that it cannot read with a bare status line and never tells the service
//! (hyper 1.12, `proto/h1/role.rs`, `Server::on_error`). This file finds such an answer among
//! written bytes and renders the service's own in its place. Leaves the writing to the socket's
//! wrapper. Invariant: an answer that a service made is never taken for hyper's.

use crate::serve::HttpRefusal;

/// Longer than any head that hyper writes by itself (about 110 bytes).
const LONGEST_BARE_HEAD: usize = 256;

/// Returns where hyper's bare refusal starts, if `written` ends with one.
///
/// It is a status line of the 4xx class followed by headers alone, none of which is
/// `X-Request-Id`.
pub(crate) fn bare_refusal(written: &[u8]) -> Option<usize> {
    if !written.ends_with(b"\r\n\r\n") {
        return None;
    }
    let from = written.len().saturating_sub(LONGEST_BARE_HEAD);
    let tail = &written[from..];
    let start = tail.windows(10).rposition(|at| at.starts_with(b"HTTP/1.") && &at[8..] == b" 4")?;
    let head = tail[start..].to_ascii_lowercase();
    let ends = head.windows(4).position(|at| at == b"\r\n\r\n")? + 4;
    let ours = head.windows(14).any(|at| at == b"\r\nx-request-id");
    (ends == head.len() && !ours).then_some(from + start)
}

/// Renders `refusal` as a whole HTTP/1.1 answer with status 400.
pub(crate) fn render(refusal: &HttpRefusal) -> Vec<u8> {
    let mut answer = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: {}\r\nx-request-id: {}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        refusal.content_type,
        refusal.request_id,
        refusal.body.len(),
    )
    .into_bytes();
    answer.extend_from_slice(&refusal.body);
    answer
}

#[cfg(test)]
mod tests;
