//! What was recorded, line by line, for tests that hold something against it.
//!
//! Only lists; nothing is started. Invariant: a line's request, sent to a fresh replay in its
//! phase (and after the lines before it), gets exactly the line's status and body.

use bytes::Bytes;

use crate::epee;
use crate::exchange::{Asked, Exchange, Said};
use crate::options::{Phase, Take};
use crate::recording::Recording;
use crate::replay::{ReplayError, Speech, speech};
use crate::sources;

/// Everything that was recorded of a chain, in its order; of eth what geth said.
pub fn recorded(slug: &str) -> Result<impl Iterator<Item = Recorded>, ReplayError> {
    recorded_take(slug, Take::Main)
}

/// Everything of one recording.
pub fn recorded_take(
    slug: &str,
    take: Take,
) -> Result<impl Iterator<Item = Recorded>, ReplayError> {
    let unknown = || ReplayError::Unknown(slug.to_owned());
    let speech = speech(slug, take).ok_or_else(unknown)?;
    let recording = sources::recording(slug, take).ok_or_else(unknown)??;
    Ok(recording.lines().iter().map(move |line| Recorded { recording, speech, line }))
}

/// One recorded line.
#[derive(Debug, Clone, Copy)]
pub struct Recorded {
    recording: &'static Recording,
    speech: Speech,
    line: &'static Exchange,
}

/// What kind of request a line holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedKind {
    /// A JSON-RPC call.
    Call,
    /// A call of monerod that is a path of its own; the body is the params.
    Path,
    /// A body that was posted as it is.
    Posted,
    /// A `GET` of a REST path.
    Rest,
    /// Bytes posted to a path.
    Binary,
}

impl Recorded {
    /// What kind of request this is.
    pub fn kind(&self) -> RecordedKind {
        match self.line.asked {
            Asked::Call { method, .. } if method == Default::default() => RecordedKind::Path,
            Asked::Call { .. } => RecordedKind::Call,
            Asked::Posted(_) => RecordedKind::Posted,
            Asked::Rest(_) => RecordedKind::Rest,
            Asked::Binary { .. } => RecordedKind::Binary,
        }
    }

    /// The phase it was recorded in.
    pub fn phase(&self) -> Phase {
        self.line.phase
    }

    /// Was it asked on monerod's restricted port?
    pub fn restricted(&self) -> bool {
        self.line.restricted
    }

    /// The path to ask: `/` where the node has one path only.
    pub fn path(&self) -> &'static str {
        match self.line.asked {
            Asked::Rest(path) | Asked::Binary { path, .. } => self.recording.text(path),
            Asked::Call { path, .. } if path != Default::default() => self.recording.text(path),
            Asked::Call { .. } | Asked::Posted(_) => "/",
        }
    }

    /// The method; empty where there is none.
    pub fn method(&self) -> &'static str {
        match self.line.asked {
            Asked::Call { method, .. } => self.recording.text(method),
            _ => "",
        }
    }

    /// The text of `params`; empty if none were sent.
    pub fn params(&self) -> &'static str {
        match self.line.asked {
            Asked::Call { params, .. } => self.recording.text(params),
            _ => "",
        }
    }

    /// The text of the result; `None` for an error, or where the whole body was recorded.
    pub fn result(&self) -> Option<Bytes> {
        match self.line.said {
            Said::Result(span) => Some(self.recording.shared(span)),
            _ => None,
        }
    }

    /// The text of the error object; `None` for a result, or where the whole body was recorded.
    pub fn error(&self) -> Option<Bytes> {
        self.recording.error(self.line.said).map(|(_, error)| error)
    }

    /// The recorded HTTP status.
    pub fn status(&self) -> u16 {
        self.line.status
    }

    /// The body to send, with this text as the `id`, in the version that the line was recorded
    /// with. Empty for a `GET`.
    pub fn request(&self, id: &str) -> Bytes {
        let (method, params) = match self.line.asked {
            Asked::Call { method, params, .. } if method != Default::default() => (method, params),
            Asked::Call { params, .. } => return self.recording.shared(params),
            Asked::Posted(body) | Asked::Binary { body, .. } => return self.recording.shared(body),
            Asked::Rest(_) => return Bytes::new(),
        };
        let tag = match self.speech {
            Speech::Core(_) | Speech::Dcrd => "1.0",
            Speech::Zebrad | Speech::Geth | Speech::Anvil | Speech::Monerod => "2.0",
        };
        let method = self.recording.text(method);
        let params = self.recording.text(params);
        let params =
            if params.is_empty() { String::new() } else { format!(",\"params\":{params}") };
        Bytes::from(format!(
            "{{\"jsonrpc\":\"{tag}\",\"id\":{id},\"method\":\"{method}\"{params}}}"
        ))
    }

    /// The whole body that the node answers to [`request`](Self::request) with the same `id`. The
    /// `id` must be one that the node sends back as it is: a short integer or a plain text.
    pub fn body(&self, id: &str) -> Vec<u8> {
        match (self.line.said, self.kind()) {
            (Said::Body(span), RecordedKind::Call) => {
                let body = self.recording.slice(span);
                let recorded = b"{\r\n  \"id\": \"0\"";
                let rest = body.strip_prefix(recorded).unwrap_or(body);
                [b"{\r\n  \"id\": ", id.as_bytes(), rest].concat()
            }
            (Said::Body(span), _) => self.recording.slice(span).to_vec(),
            (Said::Result(span), RecordedKind::Path) => {
                let mut out = Vec::new();
                // Recordings are shallow.
                let _ = epee::append(self.recording.text(span), 0, &mut out);
                out
            }
            _ => self.enveloped(id),
        }
    }

    fn enveloped(&self, id: &str) -> Vec<u8> {
        let result = self.result();
        let error = self.error().unwrap_or_default();
        let text = String::from_utf8_lossy(result.as_ref().unwrap_or(&error));
        let is_error = result.is_none();
        match (self.speech, is_error) {
            (Speech::Core(_), false) => {
                format!("{{\"result\":{text},\"error\":null,\"id\":{id}}}\n").into_bytes()
            }
            (Speech::Core(_), true) => {
                format!("{{\"result\":null,\"error\":{text},\"id\":{id}}}\n").into_bytes()
            }
            (Speech::Dcrd, false) => {
                format!("{{\"jsonrpc\":\"1.0\",\"result\":{text},\"error\":null,\"id\":{id}}}\n")
                    .into_bytes()
            }
            (Speech::Dcrd, true) => {
                format!("{{\"jsonrpc\":\"1.0\",\"result\":null,\"error\":{text},\"id\":{id}}}\n")
                    .into_bytes()
            }
            (Speech::Monerod, _) => {
                let name = if is_error { "error" } else { "result" };
                let mut printed = Vec::new();
                let members = match is_error {
                    true => format!("{{\"error\":{text},\"id\":{id},\"jsonrpc\":\"2.0\"}}"),
                    false => format!("{{\"id\":{id},\"jsonrpc\":\"2.0\",\"{name}\":{text}}}"),
                };
                let _ = epee::append(&members, 0, &mut printed);
                printed
            }
            (Speech::Zebrad | Speech::Geth | Speech::Anvil, _) => {
                let name = if is_error { "error" } else { "result" };
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"{name}\":{text}}}").into_bytes()
            }
        }
    }

    /// Where the recording holds the whole body of the answer to id 0 or to a posted body, that
    /// body: what nothing in this crate has put together.
    pub fn recorded_body(&self) -> Option<Bytes> {
        match self.line.said {
            Said::ErrorBody(span) | Said::Body(span) => Some(self.recording.shared(span)),
            Said::Result(_) | Said::Error(_) => None,
        }
    }
}
