//! What nodes say outside of JSON, in one table: that they are busy, or why they refuse us.
//!
//! Whether to ask another node is left to the caller, what to change to `inspect`. Invariants: a
//! JSON answer is never taken for such a text, whatever it quotes, and no text of a node is
//! repeated: only what it means is told on.

use std::fmt;

use http::StatusCode;

/// What a text of the HTTP layer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// The call was not looked at.
    Busy,
    Refusal(Refusal),
}

/// Why a node, or what stands before it, will not talk to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Refusal {
    /// 401: it wants other credentials, or some.
    Credentials,
    /// 401 of geth's port for consensus clients, which wants a signed token.
    EnginePort,
    /// 403: our address is not allowed (`rpcallowip`), or our user may not call this
    /// (`rpcwhitelist`).
    Address,
    /// 403: it does not know the host name that it is called by.
    HostName,
    /// It speaks TLS where we speak plain HTTP.
    SpeaksTls,
    /// It speaks plain HTTP where we speak TLS.
    SpeaksPlain,
    /// Its host name does not resolve.
    NoSuchHost,
    /// It hung up without a word (zebrad, on wrong credentials).
    HungUp,
}

/// Which text, with which status, means what; the first that fits counts. An empty text fits all.
const TABLE: [(u16, &[u8], Meaning); 10] = [
    // Bitcoin Core and its relatives, src/httpserver.cpp: 503 in Core and ABC, 500 in older ones.
    (500, b"Work queue depth exceeded", Meaning::Busy),
    (503, b"Work queue depth exceeded", Meaning::Busy),
    // dcrd, internal/rpcserver/rpcserver.go.
    (500, b"503 Too busy", Meaning::Busy),
    (503, b"503 Too busy", Meaning::Busy),
    // go-ethereum, node/rpcstack.go, `virtualHostHandler`.
    (403, b"invalid host specified", Meaning::Refusal(Refusal::HostName)),
    // go-ethereum, node/jwt_handler.go.
    (401, b"token", Meaning::Refusal(Refusal::EnginePort)),
    // Go's net/http/server.go, so dcrd; and nginx.
    (400, b"HTTP request to an HTTPS server", Meaning::Refusal(Refusal::SpeaksTls)),
    (400, b"HTTP request was sent to HTTPS port", Meaning::Refusal(Refusal::SpeaksTls)),
    // All of them.
    (401, b"", Meaning::Refusal(Refusal::Credentials)),
    // Bitcoin Core, src/httpserver.cpp and src/httprpc.cpp: without a text.
    (403, b"", Meaning::Refusal(Refusal::Address)),
];
/// No such text is longer, so nothing beyond is looked at. Bytes.
pub(crate) const LONGEST: usize = 512;

/// Whether an answer says that the node's queue was full, so that no worker ever saw the call and
/// it is safe to send again.
pub fn says_busy(status: StatusCode, body: &[u8]) -> bool {
    meaning(status, body) == Some(Meaning::Busy)
}

/// Why the node refuses us, if that is what an answer says.
pub(crate) fn refusal(status: StatusCode, body: &[u8]) -> Option<Refusal> {
    match meaning(status, body)? {
        Meaning::Busy => None,
        Meaning::Refusal(refusal) => Some(refusal),
    }
}

fn meaning(status: StatusCode, body: &[u8]) -> Option<Meaning> {
    if status == StatusCode::OK {
        return None;
    }
    let text = body[..body.len().min(LONGEST)].trim_ascii_start();
    let is_json = matches!(text.first(), Some(b'{' | b'[' | b'"'));
    let fits = |known: &[u8]| match known {
        b"" => true,
        _ => !is_json && text.windows(known.len()).any(|part| part == known),
    };
    let row = TABLE.iter().find(|(code, known, _)| *code == status.as_u16() && fits(known));
    row.map(|(.., meaning)| *meaning)
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Credentials => "the node answered 401, it wants other credentials",
            Refusal::EnginePort => "the node answered 401, it wants a token",
            Refusal::Address => "the node answered 403, it does not allow our address or user",
            Refusal::HostName => "the node answered 403, it does not know its host name",
            Refusal::SpeaksTls => "it speaks TLS and not plain HTTP",
            Refusal::SpeaksPlain => "it does not speak TLS",
            Refusal::NoSuchHost => "its host name does not resolve",
            Refusal::HungUp => "it hung up without a word, as it does on wrong credentials",
        })
    }
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

    #[test]
    fn refusals_are_told_apart() {
        let said =
            |status, text: &str| refusal(StatusCode::from_u16(status).unwrap(), text.as_bytes());
        assert_eq!(said(403, "invalid host specified\n"), Some(Refusal::HostName));
        assert_eq!(said(403, ""), Some(Refusal::Address));
        assert_eq!(said(403, "{\"a\":\"invalid host specified\"}"), Some(Refusal::Address));
        assert_eq!(said(401, "missing token\n"), Some(Refusal::EnginePort));
        assert_eq!(said(401, "401 Unauthorized.\n"), Some(Refusal::Credentials));
        let go = "Client sent an HTTP request to an HTTPS server.\n";
        assert_eq!(said(400, go), Some(Refusal::SpeaksTls));
        let nginx = "<html><head><title>400 The plain HTTP request was sent to HTTPS port</title>";
        assert_eq!(said(400, nginx), Some(Refusal::SpeaksTls));
        assert_eq!(said(200, go), None);
        assert_eq!(said(503, "Work queue depth exceeded"), None);
        assert_eq!(said(404, ""), None);
    }
}
