//! One text for all spellings of a JSON value, so that calls can be compared.
//!
//! Spaces go, escapes are written one way, members are sorted by name; numbers keep their text.
//! Invariant: two values have the same canonical text exactly if they are equal; a value nested
//! deeper than [`DEPTH`] has none.

use crate::json;

/// No recorded call nests deeper than 5.
const DEPTH: usize = 32;

/// Appends the canonical text of the valid JSON value `raw`. `None` if it nests too deep.
pub(crate) fn append(raw: &str, out: &mut Vec<u8>) -> Option<()> {
    Scan { raw: raw.as_bytes(), at: 0 }.value(out, DEPTH)
}

struct Scan<'a> {
    raw: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn value(&mut self, out: &mut Vec<u8>, depth: usize) -> Option<()> {
        match self.peek()? {
            b'{' if depth > 0 => self.object(out, depth),
            b'[' if depth > 0 => self.array(out, depth),
            b'{' | b'[' => None,
            b'"' => self.string(out),
            _ => self.scalar(out),
        }
    }

    /// The next byte that is no space; it stays where it is.
    fn peek(&mut self) -> Option<u8> {
        while self.raw.get(self.at)?.is_ascii_whitespace() {
            self.at += 1;
        }
        self.raw.get(self.at).copied()
    }

    fn array(&mut self, out: &mut Vec<u8>, depth: usize) -> Option<()> {
        self.at += 1;
        out.push(b'[');
        while self.peek()? != b']' {
            if self.peek()? == b',' {
                self.at += 1;
                out.push(b',');
            }
            self.value(out, depth - 1)?;
        }
        self.at += 1;
        out.push(b']');
        Some(())
    }

    fn object(&mut self, out: &mut Vec<u8>, depth: usize) -> Option<()> {
        self.at += 1;
        let mut members: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        while self.peek()? != b'}' {
            if self.peek()? == b',' {
                self.at += 1;
                self.peek()?;
            }
            let (mut name, mut value) = (Vec::new(), Vec::new());
            self.string(&mut name)?;
            self.peek()?;
            self.at += 1;
            self.value(&mut value, depth - 1)?;
            members.push((name, value));
        }
        self.at += 1;
        members.sort_by(|a, b| a.0.cmp(&b.0));
        out.push(b'{');
        for (n, (name, value)) in members.iter().enumerate() {
            if n > 0 {
                out.push(b',');
            }
            out.extend_from_slice(name);
            out.push(b':');
            out.extend_from_slice(value);
        }
        out.push(b'}');
        Some(())
    }

    fn string(&mut self, out: &mut Vec<u8>) -> Option<()> {
        let start = self.at;
        self.at = string_end(self.raw, start)?;
        let raw = self.raw.get(start..self.at)?;
        if memchr::memchr(b'\\', raw).is_none() {
            out.extend_from_slice(raw);
            return Some(());
        }
        let text = json::text(std::str::from_utf8(raw).ok()?)?;
        serde_json::to_writer(out, &text).ok()
    }

    fn scalar(&mut self, out: &mut Vec<u8>) -> Option<()> {
        let start = self.at;
        while self.raw.get(self.at).is_some_and(|byte| !b",]} \t\r\n".contains(byte)) {
            self.at += 1;
        }
        out.extend_from_slice(&self.raw[start..self.at]);
        (self.at > start).then_some(())
    }
}

/// The place behind the JSON string that starts at `start` (a quote).
pub(crate) fn string_end(raw: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', raw.get(at..)?)?;
        match raw[at] {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

#[cfg(test)]
mod tests;
