//! A recording in memory: one buffer, its lines, and where each call stands.
//!
//! Read once from the packed files that ship with the program; afterwards immutable and shared.
//! Invariant: what a span names is sent from the one buffer without a copy.

use bytes::Bytes;
use std::collections::{HashMap, HashSet};

use crate::canonical;
use crate::exchange::{self, Asked, Exchange, Format, Said, Span};
use crate::json;
use crate::options::Phase;

/// The code of a method that the node does not know, in every dialect (JSON-RPC 2.0, 5.1).
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;

/// One packed file.
#[derive(Debug)]
pub(crate) struct Source {
    /// The file, packed by Brotli.
    pub(crate) packed: &'static [u8],
    /// How it writes answers.
    pub(crate) format: Format,
    /// The phase of lines that do not name one.
    pub(crate) phase: Phase,
}

/// A packed file that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It cannot be unpacked.
    #[error("a recording cannot be unpacked")]
    Packed,
    /// A line is of no known kind. Lines count from 1, over all files of the recording.
    #[error("line {0} of a recording is of no known kind")]
    Line(usize),
}

/// A recording in memory.
#[derive(Debug)]
pub(crate) struct Recording {
    bytes: Bytes,
    lines: Vec<Exchange>,
    lines_by_call: HashMap<Vec<u8>, Vec<usize>>,
    known_methods: HashSet<Vec<u8>>,
    /// Of which the node said that it has no such method.
    lacking_methods: HashSet<Vec<u8>>,
    has_rest: bool,
}

impl Recording {
    /// Unpacks and reads all files, in their order.
    pub(crate) fn read(sources: &[Source]) -> Result<Recording, Unreadable> {
        let mut buffer = Vec::new();
        let mut lines = Vec::new();
        let mut count = 0;
        for source in sources {
            let mut start = buffer.len();
            brotli::BrotliDecompress(&mut &*source.packed, &mut buffer)
                .map_err(|_| Unreadable::Packed)?;
            while start < buffer.len() {
                let length = memchr::memchr(b'\n', &buffer[start..]);
                let end = length.map_or(buffer.len(), |length| start + length);
                count += 1;
                let line =
                    exchange::read(&mut buffer, Span { start, end }, source.format, source.phase)
                        .map_err(|()| Unreadable::Line(count))?;
                lines.extend(line);
                start = end + 1;
            }
        }
        Ok(Recording::index(Bytes::from(buffer), lines))
    }

    fn index(bytes: Bytes, lines: Vec<Exchange>) -> Recording {
        let mut recording = Recording {
            bytes,
            lines_by_call: HashMap::with_capacity(lines.len()),
            known_methods: HashSet::new(),
            lacking_methods: HashSet::new(),
            has_rest: false,
            lines,
        };
        for number in 0..recording.lines.len() {
            let line = recording.lines[number];
            let key = match line.asked {
                Asked::Call { path, method, params } => {
                    let (path, params) = (recording.text(path), recording.text(params));
                    let method = recording.slice(method);
                    let key = call_key(path, method, params);
                    let method = method.to_vec();
                    match recording.error(line.said) {
                        Some((METHOD_NOT_FOUND, _)) => recording.lacking_methods.insert(method),
                        _ => recording.known_methods.insert(method),
                    };
                    key
                }
                Asked::Rest(path) => {
                    recording.has_rest = true;
                    Some(recording.slice(path).to_vec())
                }
                Asked::Binary { path, body } => {
                    Some([recording.slice(path), b"\0", recording.slice(body)].concat())
                }
                Asked::Posted(_) => None,
            };
            if let Some(key) = key {
                recording.lines_by_call.entry(key).or_default().push(number);
            }
        }
        recording
    }

    /// All lines, in their order.
    pub(crate) fn lines(&self) -> &[Exchange] {
        &self.lines
    }

    /// Was this method ever answered with anything but "no such method"?
    pub(crate) fn knows(&self, method: &str) -> bool {
        self.known_methods.contains(method.as_bytes())
    }

    /// Was this method never answered with anything but "no such method"?
    pub(crate) fn lacks(&self, method: &str) -> bool {
        !self.knows(method) && self.lacking_methods.contains(method.as_bytes())
    }

    /// Was anything asked by REST?
    pub(crate) fn has_rest(&self) -> bool {
        self.has_rest
    }

    /// The lines that answer `key` in the first of `phases` that has any; if `restricted`, those of
    /// the restricted port where there are any.
    pub(crate) fn find(&self, key: &[u8], phases: &[Phase], restricted: bool) -> Vec<usize> {
        let Some(numbers) = self.lines_by_call.get(key) else { return Vec::new() };
        let wanted = |restricted, phase| {
            let found = numbers.iter().copied().filter(move |number| {
                let line = &self.lines[*number];
                line.phase == phase && line.restricted == restricted
            });
            found.collect::<Vec<_>>()
        };
        for phase in phases {
            let found = if restricted { wanted(true, *phase) } else { Vec::new() };
            let found = if found.is_empty() { wanted(false, *phase) } else { found };
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    /// The error object that `said` holds, with its code.
    pub(crate) fn error(&self, said: Said) -> Option<(i64, Bytes)> {
        let error = match said {
            Said::Error(span) => self.shared(span),
            Said::ErrorBody(span) => {
                let members = json::members(self.text(span))?;
                let (_, error) = members.into_iter().find(|(name, _)| name == "error")?;
                self.bytes.slice_ref(error.as_bytes())
            }
            Said::Result(_) | Said::Body(_) => return None,
        };
        let members = json::members(std::str::from_utf8(&error).ok()?)?;
        let code = members.iter().find(|(name, _)| name == "code")?.1.parse().ok()?;
        Some((code, error))
    }

    /// What `span` names, shared.
    pub(crate) fn shared(&self, span: Span) -> Bytes {
        self.bytes.slice(span.start..span.end)
    }

    /// What `span` names.
    pub(crate) fn slice(&self, span: Span) -> &[u8] {
        &self.bytes[span.start..span.end]
    }

    /// What `span` names, as text; empty if it is none.
    pub(crate) fn text(&self, span: Span) -> &str {
        std::str::from_utf8(self.slice(span)).unwrap_or_default()
    }
}

/// What a call is found by. Absent, null and empty `params` are the same. `None` if `params` nests
/// too deep to have been recorded.
pub(crate) fn call_key(path: &str, method: &[u8], params: &str) -> Option<Vec<u8>> {
    let mut key = Vec::with_capacity(path.len() + method.len() + params.len() + 2);
    key.extend_from_slice(path.as_bytes());
    key.push(0);
    key.extend_from_slice(method);
    key.push(0);
    let start = key.len();
    if !params.is_empty() {
        canonical::append(params, &mut key)?;
    }
    if matches!(&key[start..], b"null" | b"[]" | b"{}") {
        key.truncate(start);
    }
    Some(key)
}
