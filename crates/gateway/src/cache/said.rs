//! What a node said, cut where the id stands, so that it can be said to another.
//!
//! Invariants: only a whole answer with a result is kept, never an error or null; and an id is put in
//! only if every node would write it as the asker did, so that nobody could tell the answer from the
//! node's own.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use chain::Dialect;

use crate::answer::{Opened, Watch};
use crate::frames::Frames;
use crate::json::Scan;

/// Longest id that is put in, in bytes.
const LONGEST_ID: usize = 128;
/// Answers up to this many bytes are given in one piece.
const ONE_PIECE_BYTES: usize = 16 << 10;

/// An answer without its id.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Said {
    whole: Bytes,
    /// Where the id stands; an empty place at the end of what has none.
    id: Range<usize>,
}

impl Said {
    /// What is to be kept of `answer`, the whole of what a node said to one call. `path`: it is the
    /// bare body of one of monerod's plain paths.
    pub(crate) fn of(answer: &Bytes, dialect: Dialect, path: bool) -> Option<Said> {
        let members = Members::of(answer)?;
        let id = match path {
            true if is_well(answer) => answer.len()..answer.len(),
            true => return None,
            false => members.place_of_id(answer, dialect)?,
        };
        // Copied: what was read from the socket may be a small piece of a large buffer.
        Some(Said { whole: Bytes::copy_from_slice(answer), id })
    }

    /// Bytes that it takes up.
    pub(crate) fn len(&self) -> usize {
        self.whole.len()
    }

    /// The answer to a call with this raw id.
    pub(crate) fn to(&self, id: &[u8]) -> Bytes {
        if self.id.is_empty() || self.whole[self.id.clone()] == *id {
            return self.whole.clone();
        }
        let mut out = BytesMut::with_capacity(self.whole.len() - self.id.len() + id.len());
        out.extend_from_slice(&self.whole[..self.id.start]);
        out.extend_from_slice(id);
        out.extend_from_slice(&self.whole[self.id.end..]);
        out.freeze()
    }

    /// The same, ready to be passed on. Large ones are not copied.
    pub(crate) fn open(&self, id: &[u8]) -> Opened {
        let ready = if self.len() <= ONE_PIECE_BYTES || self.id.is_empty() {
            Frames::from(self.to(id))
        } else {
            let (before, after) = (..self.id.start, self.id.end..);
            let ends = (self.whole.slice(before), self.whole.slice(after));
            [ends.0, Bytes::copy_from_slice(id), ends.1].into_iter().collect()
        };
        let length = Some(ready.bytes());
        Opened { ready, rest: None, length, watch: Watch::Nothing }
    }
}

/// Whether every node of a dialect writes this raw id as it stands: a whole number that any number
/// type holds, null but where nodes make another thing of it, or a text that none has to escape.
pub(crate) fn is_plain_id(raw: &[u8], dialect: Dialect) -> bool {
    match raw {
        b"null" => !matches!(dialect, Dialect::Monerod | Dialect::Dcrd),
        [b'"', inside @ .., b'"'] => {
            raw.len() <= LONGEST_ID
                && inside.iter().all(|byte| {
                    matches!(byte, b' '..=b'~')
                        && !matches!(byte, b'\\' | b'/' | b'<' | b'>' | b'&')
                })
        }
        digits => digits.len() <= 15 && digits.iter().all(u8::is_ascii_digit),
    }
}

/// The members of an answer that matter.
#[derive(Default)]
struct Members<'a> {
    id: Option<&'a [u8]>,
    result: Option<&'a [u8]>,
    failed: bool,
}

impl<'a> Members<'a> {
    /// None unless it is one object, in JSON that is beyond doubt.
    fn of(answer: &'a [u8]) -> Option<Members<'a>> {
        let mut members = Members::default();
        let mut scan = Scan::new(answer);
        scan.enter(b'{').ok()?;
        if scan.leave(b'}') {
            return None;
        }
        loop {
            let name = scan.name().ok()?;
            let value = scan.value().ok()?;
            match name {
                b"id" if members.id.is_none() => members.id = Some(value),
                b"result" if members.result.is_none() => members.result = Some(value),
                b"id" | b"result" => return None,
                b"error" => members.failed |= value != b"null",
                _ => (),
            }
            if scan.leave(b'}') {
                break;
            }
            scan.expect(b',').ok()?;
        }
        scan.finish().ok()?;
        Some(members)
    }

    fn place_of_id(&self, answer: &[u8], dialect: Dialect) -> Option<Range<usize>> {
        let result = self.result.filter(|raw| *raw != b"null" && !self.failed)?;
        if dialect == Dialect::Monerod && result.first() == Some(&b'{') && !is_well(result) {
            return None;
        }
        let id = self.id?;
        let start = id.as_ptr() as usize - answer.as_ptr() as usize;
        Some(start..start + id.len())
    }
}

/// Does monerod say `OK` in its `status`? It has other words for being busy or behind.
fn is_well(object: &[u8]) -> bool {
    let mut scan = Scan::new(object);
    let mut well = false;
    if scan.enter(b'{').is_err() || scan.leave(b'}') {
        return false;
    }
    while let (Ok(name), Ok(value)) = (scan.name(), scan.value()) {
        if name == b"status" {
            well = value == b"\"OK\"";
        }
        if scan.leave(b'}') {
            return well;
        }
        if scan.expect(b',').is_err() {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests;
