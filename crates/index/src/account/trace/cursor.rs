//! A place in a JSON text that is known to be valid.
//!
//! Invariants: it never recurses, so that no depth of the text can exhaust a stack; text that is
//! not valid after all ends in `BadTrace`, never in a panic.

use super::BadTrace;

/// A place in a JSON text.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text: text.as_bytes(), at: 0 }
    }

    /// The next byte that is no space; it stays where it is.
    pub(super) fn peek(&mut self) -> Result<u8, BadTrace> {
        while self.text.get(self.at).ok_or(BadTrace)?.is_ascii_whitespace() {
            self.at += 1;
        }
        Ok(self.text[self.at])
    }

    /// Steps over the next byte if it is that one.
    pub(super) fn takes(&mut self, byte: u8) -> Result<bool, BadTrace> {
        let there = self.peek()? == byte;
        self.at += usize::from(there);
        Ok(there)
    }

    /// Steps over a byte that must be there.
    pub(super) fn take(&mut self, byte: u8) -> Result<(), BadTrace> {
        if self.takes(byte)? { Ok(()) } else { Err(BadTrace) }
    }

    /// A string as it is written, without its quotes; escapes stay as they are.
    pub(super) fn string(&mut self) -> Result<&'a str, BadTrace> {
        self.take(b'"')?;
        let start = self.at;
        loop {
            match self.text.get(self.at).ok_or(BadTrace)? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        let text = self.text.get(start..self.at).ok_or(BadTrace)?;
        self.at += 1;
        std::str::from_utf8(text).map_err(|_| BadTrace)
    }

    /// A string, or none where `null` stands.
    pub(super) fn string_or_null(&mut self) -> Result<Option<&'a str>, BadTrace> {
        match self.peek()? {
            b'"' => self.string().map(Some),
            _ => self.skip().map(|()| None),
        }
    }

    /// Steps over a value of any depth.
    pub(super) fn skip(&mut self) -> Result<(), BadTrace> {
        let mut depth = 0usize;
        loop {
            match self.peek()? {
                b'"' => drop(self.string()?),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                    continue;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1).ok_or(BadTrace)?;
                    self.at += 1;
                }
                b',' | b':' if depth > 0 => {
                    self.at += 1;
                    continue;
                }
                _ => self.scalar()?,
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn scalar(&mut self) -> Result<(), BadTrace> {
        let start = self.at;
        let inside = |byte: &u8| {
            !matches!(byte, b',' | b':' | b'}' | b']' | b'{' | b'[' | b'"')
                && !byte.is_ascii_whitespace()
        };
        while self.text.get(self.at).is_some_and(inside) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(BadTrace) }
    }
}
