//! What a client posted: one envelope or a batch of them, as spans of its bytes.
//!
//! A member counts only under its exact name; a second one of the same name is a flaw, compared
//! after unescaping, since nodes differ in which of two they believe (decision G6). A flawed
//! element keeps its place, its id and its version, so that its refusal can repeat them.

use crate::json::{Scan, Unreadable, unescape};

/// One request object, or an element of a batch that is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Envelope<'a> {
    /// Raw `jsonrpc`, if it is a string.
    pub(crate) jsonrpc: Option<&'a [u8]>,
    /// Raw `id`, if it is a scalar.
    pub(crate) id: Option<&'a [u8]>,
    /// `method` as it stands between its quotes, escapes and all.
    pub(crate) method: &'a [u8],
    /// Raw `params`: an array, an object or null.
    pub(crate) params: Option<&'a [u8]>,
    /// What is wrong with it, if anything is.
    pub(crate) flaw: Option<&'static str>,
}

/// The body of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Posted<'a> {
    /// One request object.
    One(Envelope<'a>),
    /// An array; at most the allowed number of elements is kept, all are counted.
    Batch {
        /// The elements in order.
        elements: Vec<Envelope<'a>>,
        /// How many there were.
        count: usize,
    },
    /// JSON, but neither an object nor an array.
    Neither,
}

/// Reads `text`, which must be UTF-8, keeping at most `keep` elements of a batch.
///
/// # Errors
/// [`Unreadable`] if the text is not one JSON value nested at most 64 deep.
pub(crate) fn read(text: &[u8], keep: usize) -> Result<Posted<'_>, Unreadable> {
    let mut scan = Scan::new(text);
    let posted = match scan.peek() {
        Some(b'{') => Posted::One(object(&mut scan)?),
        Some(b'[') => batch(&mut scan, keep)?,
        _ => {
            scan.value()?;
            Posted::Neither
        }
    };
    scan.finish()?;
    Ok(posted)
}

fn batch<'a>(scan: &mut Scan<'a>, keep: usize) -> Result<Posted<'a>, Unreadable> {
    scan.enter(b'[')?;
    let (mut elements, mut count) = (Vec::new(), 0);
    if scan.leave(b']') {
        return Ok(Posted::Batch { elements, count });
    }
    loop {
        let element = element(scan)?;
        count += 1;
        if count <= keep {
            elements.push(element);
        }
        if scan.leave(b']') {
            return Ok(Posted::Batch { elements, count });
        }
        scan.expect(b',')?;
    }
}

fn element<'a>(scan: &mut Scan<'a>) -> Result<Envelope<'a>, Unreadable> {
    if scan.peek() == Some(b'{') {
        return object(scan);
    }
    scan.value()?;
    Ok(Envelope { flaw: Some("an element of the batch is not an object"), ..Envelope::default() })
}

/// The members that matter, as they are met.
#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<&'a [u8]>,
    id: Option<&'a [u8]>,
    method: Option<&'a [u8]>,
    params: Option<&'a [u8]>,
    twice: bool,
    id_twice: bool,
}

fn object<'a>(scan: &mut Scan<'a>) -> Result<Envelope<'a>, Unreadable> {
    let mut members = Members::default();
    scan.enter(b'{')?;
    if !scan.leave(b'}') {
        loop {
            let name = scan.name()?;
            let value = scan.value()?;
            members.take(name, value);
            if scan.leave(b'}') {
                break;
            }
            scan.expect(b',')?;
        }
    }
    Ok(members.envelope())
}

impl<'a> Members<'a> {
    fn take(&mut self, name: &[u8], value: &'a [u8]) {
        let place = match unescape_name(name).as_ref() {
            b"jsonrpc" => &mut self.jsonrpc,
            b"id" => {
                self.id_twice = self.id.is_some();
                &mut self.id
            }
            b"method" => &mut self.method,
            b"params" => &mut self.params,
            _ => return,
        };
        self.twice |= place.is_some();
        *place = Some(value);
    }

    fn envelope(self) -> Envelope<'a> {
        let flaw = self.flaw();
        let is_string = |raw: &&[u8]| raw.first() == Some(&b'"');
        let is_scalar = |raw: &&[u8]| !matches!(raw.first(), Some(b'{' | b'['));
        let method = self.method.filter(is_string).unwrap_or(b"\"\"");
        Envelope {
            jsonrpc: self.jsonrpc.filter(is_string),
            id: self.id.filter(is_scalar).filter(|_| !self.id_twice),
            method: &method[1..method.len() - 1],
            params: self.params,
            flaw,
        }
    }

    /// The first thing that makes this no request (decisions G6, G7).
    fn flaw(&self) -> Option<&'static str> {
        let first = |raw: Option<&[u8]>| raw.map(|raw| raw[0]);
        if self.twice {
            return Some("a member of the request stands twice");
        }
        if !matches!(first(self.jsonrpc), None | Some(b'"')) {
            return Some("jsonrpc is not a string");
        }
        if matches!(first(self.id), Some(b'{' | b'[')) {
            return Some("id is an array or an object");
        }
        match first(self.method) {
            None => return Some("method is missing"),
            Some(b'"') => (),
            Some(_) => return Some("method is not a string"),
        }
        if !matches!(first(self.params), None | Some(b'[' | b'{' | b'n')) {
            return Some("params is neither an array nor an object");
        }
        None
    }
}

/// A member name without escapes. Almost every name has none and is returned as it is.
fn unescape_name(raw: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    if !raw.contains(&b'\\') {
        return raw.into();
    }
    unescape(raw).into_owned().into_bytes().into()
}

#[cfg(test)]
mod tests;
