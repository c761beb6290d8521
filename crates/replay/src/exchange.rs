//! One recorded exchange, a line of a file: what was asked and what the node said, as spans of the
//! recording's buffer.
//!
//! A line is read in place: texts and hex are decoded over themselves, which only shortens them, so
//! that an answer can be sent from the buffer without a copy. Invariant: a span never leaves its
//! line.

use crate::options::Phase;

/// A part of the recording's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// How a file writes its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// `result` is a text that holds the JSON the node wrote; an error is a whole body.
    Transcript,
    /// `result` and `error` are JSON.
    Plain,
}

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A call. `path` is empty where the node has one path only; `method` is empty for a call that
    /// is a path; `params` is empty where none were sent.
    Call { path: Span, method: Span, params: Span },
    /// A body that was posted as it is.
    Posted(Span),
    /// A `GET` of a path.
    Rest(Span),
    /// Bytes posted to a path.
    Binary { path: Span, body: Span },
}

/// What the node said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// The text of the result.
    Result(Span),
    /// The error object.
    Error(Span),
    /// The whole body of an error, as recorded with id 0.
    ErrorBody(Span),
    /// The whole body.
    Body(Span),
}

/// A call of a recording and its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    pub(crate) phase: Phase,
    pub(crate) restricted: bool,
    pub(crate) status: u16,
    pub(crate) asked: Asked,
    pub(crate) said: Said,
}

/// What stands in a line before it is known what it means.
#[derive(Default)]
struct Fields {
    phase: Option<Phase>,
    status: Option<u16>,
    restricted: bool,
    other_node: bool,
    path: Option<Span>,
    method: Option<Span>,
    params: Span,
    result: Option<Span>,
    error: Option<Span>,
    body: Option<Span>,
    posted: Option<Span>,
    rest: Option<Span>,
    binary: Option<Span>,
    bytes: Option<Span>,
}

/// Reads the line that fills `span`. `Ok(None)` for what another node said; `Err` if the line is
/// none of the known kinds.
pub(crate) fn read(
    buffer: &mut [u8],
    span: Span,
    format: Format,
    phase: Phase,
) -> Result<Option<Exchange>, ()> {
    let mut reader = Reader { buffer, at: span.start, end: span.end };
    let fields = reader.fields(format).ok_or(())?;
    if fields.other_node {
        return Ok(None);
    }
    let said = match (fields.result, fields.error, fields.body, fields.bytes) {
        (Some(result), ..) => Said::Result(result),
        (_, Some(error), ..) => Said::Error(error),
        (_, _, Some(body), _) if fields.posted.is_none() => Said::ErrorBody(body),
        (_, _, Some(body), _) | (.., Some(body)) => Said::Body(body),
        _ => return Err(()),
    };
    let asked = match fields {
        Fields { posted: Some(body), .. } => Asked::Posted(body),
        Fields { rest: Some(path), .. } => Asked::Rest(path),
        Fields { binary: Some(body), path: Some(path), .. } => Asked::Binary { path, body },
        Fields { path: None, method: None, .. } => return Err(()),
        Fields { path, method, params, .. } => Asked::Call {
            path: path.unwrap_or_default(),
            method: method.unwrap_or_default(),
            params,
        },
    };
    let phase = fields.phase.unwrap_or(phase);
    let status = fields.status.unwrap_or(200);
    Ok(Some(Exchange { phase, restricted: fields.restricted, status, asked, said }))
}

struct Reader<'a> {
    buffer: &'a mut [u8],
    at: usize,
    end: usize,
}

impl Reader<'_> {
    fn fields(&mut self, format: Format) -> Option<Fields> {
        let mut fields = Fields::default();
        self.expect(b'{')?;
        loop {
            let name = self.text()?;
            self.expect(b':')?;
            self.field(name, format, &mut fields)?;
            match self.next()? {
                b',' => {}
                b'}' => return Some(fields),
                _ => return None,
            }
        }
    }

    fn field(&mut self, name: Span, format: Format, fields: &mut Fields) -> Option<()> {
        match &self.buffer[name.start..name.end] {
            b"phase" => fields.phase = Some(self.phase()?),
            b"status" | b"http" => fields.status = Some(self.number()?),
            b"path" => fields.path = Some(self.text()?),
            b"method" => fields.method = self.text_or_null()?,
            b"params" => fields.params = self.value_or_null()?,
            b"result" if format == Format::Transcript => fields.result = Some(self.text()?),
            b"result" => fields.result = Some(self.value()?),
            b"error" => fields.error = Some(self.value()?),
            b"body" => fields.body = Some(self.text()?),
            b"request" => fields.posted = Some(self.text()?),
            b"rest" => fields.rest = Some(self.text()?),
            b"request_hex" => fields.binary = Some(self.hex()?),
            b"hex" | b"raw_body_hex" | b"response_hex" => fields.bytes = Some(self.hex()?),
            b"restricted" => {
                let value = self.value()?;
                fields.restricted = self.buffer[value.start..value.end] == *b"true";
            }
            other => {
                fields.other_node |= *other == *b"node";
                self.value()?;
            }
        }
        Some(())
    }

    fn phase(&mut self) -> Option<Phase> {
        let text = self.text()?;
        match &self.buffer[text.start..text.end] {
            b"A" | b"before" => Some(Phase::A),
            b"B" | b"after" => Some(Phase::B),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<u16> {
        let value = self.value()?;
        std::str::from_utf8(&self.buffer[value.start..value.end]).ok()?.parse().ok()
    }

    fn text_or_null(&mut self) -> Option<Option<Span>> {
        if self.peek()? == b'"' { self.text().map(Some) } else { self.value().map(|_| None) }
    }

    fn value_or_null(&mut self) -> Option<Span> {
        let value = self.value()?;
        let null = self.buffer[value.start..value.end] == *b"null";
        Some(if null { Span::default() } else { value })
    }

    fn peek(&mut self) -> Option<u8> {
        while self.at < self.end && self.buffer[self.at] == b' ' {
            self.at += 1;
        }
        self.buffer[..self.end].get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn expect(&mut self, wanted: u8) -> Option<()> {
        (self.next()? == wanted).then_some(())
    }

    /// Any JSON value, as it stands.
    fn value(&mut self) -> Option<Span> {
        let mut depth = 0_usize;
        self.peek()?;
        let start = self.at;
        loop {
            match *self.buffer[..self.end].get(self.at)? {
                b'"' => {
                    let line = &self.buffer[..self.end];
                    self.at = crate::canonical::string_end(line, self.at)? - 1;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' | b',' if depth == 0 => break,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
        let end = start + self.buffer[start..self.at].trim_ascii_end().len();
        Some(Span { start, end })
    }

    /// A JSON string, decoded over itself.
    fn text(&mut self) -> Option<Span> {
        self.expect(b'"')?;
        let start = self.at;
        let mut write = start;
        loop {
            let plain = memchr::memchr2(b'"', b'\\', &self.buffer[self.at..self.end])?;
            if write != self.at {
                self.buffer.copy_within(self.at..self.at + plain, write);
            }
            write += plain;
            self.at += plain + 1;
            if self.buffer[self.at - 1] == b'"' {
                return Some(Span { start, end: write });
            }
            let decoded = self.escape()?;
            write += decoded.encode_utf8(&mut self.buffer[write..]).len();
        }
    }

    /// What stands behind a backslash.
    fn escape(&mut self) -> Option<char> {
        let byte = *self.buffer[..self.end].get(self.at)?;
        self.at += 1;
        Some(match byte {
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                let high = self.unit()?;
                if !(0xd800..0xdc00).contains(&high) {
                    return char::from_u32(high);
                }
                self.at += 2;
                let low = self.unit()?.checked_sub(0xdc00)?;
                return char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + low);
            }
            other => char::from(other),
        })
    }

    fn unit(&mut self) -> Option<u32> {
        let digits = self.buffer[..self.end].get(self.at..self.at + 4)?;
        self.at += 4;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    }

    /// A JSON string of hex digits, decoded over itself.
    fn hex(&mut self) -> Option<Span> {
        let text = self.text()?;
        let mut write = text.start;
        for at in (text.start..text.end).step_by(2) {
            let high = char::from(self.buffer[at]).to_digit(16)?;
            let low = char::from(*self.buffer[..text.end].get(at + 1)?).to_digit(16)?;
            self.buffer[write] = (high << 4 | low) as u8;
            write += 1;
        }
        Some(Span { start: text.start, end: write })
    }
}

#[cfg(test)]
mod tests;
