//! The texts by which a node says that it is too busy to look at a call.
//!
//! Whether to ask another node is left to the caller. Invariant: a JSON answer is never taken for
//! such a text, whatever it quotes.

use http::StatusCode;

/// Bitcoin Core and its relatives, `src/httpserver.cpp`: 503 in Core and ABC, 500 in older ones.
const WORK_QUEUE: &[u8] = b"Work queue depth exceeded";
/// dcrd, `internal/rpcserver/rpcserver.go`: 503 with "503 Too busy.  Try again later.".
const TOO_BUSY: &[u8] = b"503 Too busy";
/// No such text is longer, so nothing beyond is looked at. Bytes.
const LONGEST: usize = 512;

/// Whether an answer says that the node's queue was full, so that no worker ever saw the call and
/// it is safe to send again.
pub fn says_busy(status: StatusCode, body: &[u8]) -> bool {
    if !matches!(status, StatusCode::INTERNAL_SERVER_ERROR | StatusCode::SERVICE_UNAVAILABLE) {
        return false;
    }
    let text = body[..body.len().min(LONGEST)].trim_ascii_start();
    if matches!(text.first(), Some(b'{' | b'[' | b'"')) {
        return false;
    }
    [WORK_QUEUE, TOO_BUSY].iter().any(|busy| text.windows(busy.len()).any(|part| part == *busy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_texts_are_told_from_answers() {
        let (old, new) = (StatusCode::INTERNAL_SERVER_ERROR, StatusCode::SERVICE_UNAVAILABLE);
        assert!(says_busy(old, b"Work queue depth exceeded"));
        assert!(says_busy(new, b"Work queue depth exceeded\r\n"));
        assert!(says_busy(new, b"503 Too busy.  Try again later.\n"));
        assert!(!says_busy(StatusCode::OK, b"Work queue depth exceeded"));
        assert!(!says_busy(old, b" {\"error\":{\"message\":\"Work queue depth exceeded\"}}"));
        assert!(!says_busy(new, b""));
        assert!(!says_busy(new, b"<html>503 Service Unavailable</html>"));
    }
}
