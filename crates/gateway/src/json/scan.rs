//! A strict RFC 8259 scanner over bytes that are known to be UTF-8.
//!
//! It finds the end of the next value without building it. What it accepts is exactly what
//! `serde_json` accepts (a test compares the two), nested at most [`MAX_DEPTH`] deep.

use memchr::memchr2;

/// How deep arrays and objects may be nested, the outermost counted as 1 (decision G15).
pub(crate) const MAX_DEPTH: u32 = 64;

/// The bytes are not JSON, or are nested too deep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unreadable;

/// A place in a JSON text. All positions are byte offsets into it.
pub(crate) struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    depth: u32,
}

impl<'a> Scan<'a> {
    /// Starts at the first byte of `text`.
    pub(crate) fn new(text: &'a [u8]) -> Scan<'a> {
        Scan { text, at: 0, depth: 0 }
    }

    /// Starts at the first byte of a value that was cut out of a text at `depth`.
    pub(crate) fn inside(text: &'a [u8], depth: u32) -> Scan<'a> {
        Scan { text, at: 0, depth }
    }

    /// Skips white space and returns the byte that follows, without taking it.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.text.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Takes `byte` if it comes next after white space.
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Takes `byte`, which must come next after white space.
    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), Unreadable> {
        if self.take(byte) { Ok(()) } else { Err(Unreadable) }
    }

    /// Enters an array or object whose opening bracket comes next.
    pub(crate) fn enter(&mut self, bracket: u8) -> Result<(), Unreadable> {
        self.expect(bracket)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Unreadable) } else { Ok(()) }
    }

    /// Leaves what [`Scan::enter`] entered, if its closing bracket comes next.
    pub(crate) fn leave(&mut self, bracket: u8) -> bool {
        let left = self.take(bracket);
        self.depth -= u32::from(left);
        left
    }

    /// Succeeds if nothing but white space is left.
    pub(crate) fn finish(&mut self) -> Result<(), Unreadable> {
        if self.peek().is_none() { Ok(()) } else { Err(Unreadable) }
    }

    /// Takes a member name and its colon, and returns the name as it stands between its quotes.
    pub(crate) fn name(&mut self) -> Result<&'a [u8], Unreadable> {
        if self.peek() != Some(b'"') {
            return Err(Unreadable);
        }
        let start = self.at + 1;
        self.string()?;
        let name = &self.text[start..self.at - 1];
        self.expect(b':')?;
        Ok(name)
    }

    /// Takes one value of any kind and returns its bytes, white space around it left out.
    pub(crate) fn value(&mut self) -> Result<&'a [u8], Unreadable> {
        self.peek().ok_or(Unreadable)?;
        let start = self.at;
        let floor = self.depth;
        // One bit a level: is it an object? Level `depth` is bit `depth - 1`.
        let mut objects = 0u64;
        loop {
            let opened = self.scalar_or_open(&mut objects)?;
            if opened && !self.leave_empty(objects) {
                if objects >> (self.depth - 1) & 1 == 1 {
                    self.name()?;
                }
                continue;
            }
            if self.close_or_next(floor, &mut objects)? {
                return Ok(&self.text[start..self.at]);
            }
        }
    }

    /// Takes a scalar, or opens an array or object and says so.
    fn scalar_or_open(&mut self, objects: &mut u64) -> Result<bool, Unreadable> {
        match self.peek().ok_or(Unreadable)? {
            b'{' => {
                self.enter(b'{')?;
                *objects |= 1 << (self.depth - 1);
                return Ok(true);
            }
            b'[' => {
                self.enter(b'[')?;
                *objects &= !(1 << (self.depth - 1));
                return Ok(true);
            }
            b'"' => self.string()?,
            b't' => self.literal(b"true")?,
            b'f' => self.literal(b"false")?,
            b'n' => self.literal(b"null")?,
            _ => self.number()?,
        }
        Ok(false)
    }

    /// Leaves the level just opened if it is empty.
    fn leave_empty(&mut self, objects: u64) -> bool {
        let object = objects >> (self.depth - 1) & 1 == 1;
        self.leave(if object { b'}' } else { b']' })
    }

    /// After a value: closes levels down to `floor` (true), or moves on to the next value (false).
    fn close_or_next(&mut self, floor: u32, objects: &mut u64) -> Result<bool, Unreadable> {
        while self.depth > floor {
            let object = *objects >> (self.depth - 1) & 1 == 1;
            if self.leave(if object { b'}' } else { b']' }) {
                continue;
            }
            self.expect(b',')?;
            if object {
                self.name()?;
            }
            return Ok(false);
        }
        Ok(true)
    }

    /// Takes a string whose opening quote comes next.
    fn string(&mut self) -> Result<(), Unreadable> {
        self.at += 1;
        loop {
            let rest = self.text.get(self.at..).ok_or(Unreadable)?;
            let end = memchr2(b'"', b'\\', rest).ok_or(Unreadable)?;
            if rest[..end].iter().any(|&byte| byte < 0x20) {
                return Err(Unreadable);
            }
            self.at += end + 1;
            if rest[end] == b'"' {
                return Ok(());
            }
            self.escape()?;
        }
    }

    /// Takes what follows a backslash.
    fn escape(&mut self) -> Result<(), Unreadable> {
        let byte = *self.text.get(self.at).ok_or(Unreadable)?;
        self.at += 1;
        match byte {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(()),
            b'u' => {
                let digits = self.text.get(self.at..self.at + 4).ok_or(Unreadable)?;
                self.at += 4;
                if digits.iter().all(u8::is_ascii_hexdigit) { Ok(()) } else { Err(Unreadable) }
            }
            _ => Err(Unreadable),
        }
    }

    /// Takes `word`, of which the first letter was seen.
    fn literal(&mut self, word: &[u8]) -> Result<(), Unreadable> {
        if !self.text[self.at..].starts_with(word) {
            return Err(Unreadable);
        }
        self.at += word.len();
        Ok(())
    }

    /// Takes a number: minus, integer without leading zeros, fraction, exponent.
    fn number(&mut self) -> Result<(), Unreadable> {
        self.at += usize::from(self.byte() == Some(b'-'));
        if self.byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.byte(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(())
    }

    /// Takes one digit or more.
    fn digits(&mut self) -> Result<(), Unreadable> {
        let start = self.at;
        while self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(Unreadable) }
    }

    fn byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }
}

#[cfg(test)]
mod tests;
