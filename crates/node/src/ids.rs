//! The ids that were sent with a request, and whether an answer bears them.
//!
//! A connection gives answers in the order of the requests, so one answer too many would hand
//! every later caller another's: this is how that is seen (decision G10). What follows from it is
//! left to `attempt` and `flow`. Invariant: an answer is told off only for an id that none of the
//! node's known habits makes of what was sent; what cannot be told is let through.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use chain::Dialect;

use crate::members::{Items, Members, last_member};

/// The ids of the calls in a request body.
#[derive(Clone, Debug, Default)]
pub enum Ids {
    /// The answer has no id: a plain path, or REST.
    #[default]
    None,
    /// One call, with its raw id if it has one.
    One(Option<Bytes>),
    /// A batch, in order.
    Batch(Arc<[CallId]>),
}

/// One call of a batch.
#[derive(Clone, Debug)]
pub struct CallId {
    /// Its raw id, if it has one.
    pub id: Option<Bytes>,
    /// Whether a node that knows notifications answers it.
    pub answered: bool,
}

impl Ids {
    /// Whether a whole answer is one to these calls.
    pub(crate) fn fit(&self, dialect: Dialect, answer: &[u8]) -> bool {
        let first = answer.iter().find(|byte| !byte.is_ascii_whitespace());
        match (self, first) {
            (Ids::One(sent), Some(b'{')) => fits_one(dialect, sent.as_deref(), answer),
            // Only a batch gets an array of answers.
            (Ids::One(_), Some(b'[')) => Items::of(answer)
                .and_then(|mut items| items.next())
                .is_none_or(|item| Word::of(item).id.is_none()),
            (Ids::Batch(calls), Some(b'{')) => is_word_on(dialect, calls, answer),
            (Ids::Batch(calls), Some(b'[')) => fit_all(dialect, calls, answer),
            (Ids::None, Some(b'{')) => self.fit_head(dialect, answer),
            // A text of the HTTP layer has no id.
            _ => true,
        }
    }

    /// Whether the beginning of an answer may belong to one to these calls.
    pub(crate) fn fit_head(&self, dialect: Dialect, head: &[u8]) -> bool {
        let sent = match self {
            Ids::One(sent) => sent,
            // monerod's paths answer with members of their own, its JSON-RPC begins with the id.
            Ids::None => return dialect != Dialect::Monerod || id_at_head(head).is_none(),
            Ids::Batch(_) => return true,
        };
        id_at_head(head)
            .is_none_or(|found| echoes(dialect, sent.as_deref(), found) || is_no_id(dialect, found))
    }

    /// Whether the end of a complete answer may belong to one to these calls.
    pub(crate) fn fit_tail(&self, dialect: Dialect, tail: &[u8]) -> bool {
        let Ids::One(sent) = self else { return true };
        last_member(tail, "id").is_none_or(|found| echoes(dialect, sent.as_deref(), found))
    }
}

/// Looks where nodes put the id, then everywhere.
fn fits_one(dialect: Dialect, sent: Option<&[u8]>, answer: &[u8]) -> bool {
    let likely = id_at_head(answer).or_else(|| last_member(answer, "id"));
    if likely.is_some_and(|found| echoes(dialect, sent, found)) {
        return true;
    }
    let word = Word::of(answer);
    // Of monerod it may be the answer of a path.
    let Some(found) = word.id else { return dialect != Dialect::Monerod || !word.is_other };
    echoes(dialect, sent, found) || (is_no_id(dialect, found) && word.is_error)
}

/// Whether an object is a node's refusal of a whole batch: an error, of no call or of one of these.
fn is_word_on(dialect: Dialect, calls: &[CallId], answer: &[u8]) -> bool {
    let word = Word::of(answer);
    let of_these = |found| calls.iter().any(|call| echoes(dialect, call.id.as_deref(), found));
    !word.is_result && word.id.is_none_or(|found| is_no_id(dialect, found) || of_these(found))
}

fn fit_all(dialect: Dialect, calls: &[CallId], answer: &[u8]) -> bool {
    let Some(items) = Items::of(answer) else { return true };
    let items: Vec<&[u8]> = items.collect();
    // An old node answers notifications too. A wrong count is found out by who reads the answer.
    let all = items.len() == calls.len();
    let due = calls.iter().filter(|call| all || call.answered);
    if due.clone().count() != items.len() {
        return true;
    }
    due.zip(items).all(|(call, item)| {
        item.first() != Some(&b'{') || fits_one(dialect, call.id.as_deref(), item)
    })
}

/// The members of an answer that tell what it is.
#[derive(Default)]
struct Word<'a> {
    id: Option<&'a [u8]>,
    is_error: bool,
    is_result: bool,
    /// There are members, and none of them is one of JSON-RPC.
    is_other: bool,
}

impl<'a> Word<'a> {
    fn of(answer: &'a [u8]) -> Word<'a> {
        let (mut word, mut is_rpc) = (Word::default(), false);
        for (name, value) in Members::of(answer).into_iter().flatten() {
            match name {
                b"id" => word.id = Some(value),
                b"error" => word.is_error = value != b"null",
                b"result" => word.is_result = value != b"null",
                b"jsonrpc" => {}
                _ => {
                    word.is_other = !is_rpc;
                    continue;
                }
            }
            (is_rpc, word.is_other) = (true, false);
        }
        word
    }
}

/// The id where it stands before all that is large.
fn id_at_head(answer: &[u8]) -> Option<&[u8]> {
    let mut members = Members::of(answer)?;
    loop {
        match members.name()? {
            b"id" => return members.value(),
            b"result" => return None,
            _ if matches!(members.peek(), Some(b'{' | b'[')) => return None,
            _ => members.value()?,
        };
    }
}

/// Whether `found` stands where a node had no id to repeat: null, or with monerod what it makes of
/// that (0 since 0.18, an empty text before).
fn is_no_id(dialect: Dialect, found: &[u8]) -> bool {
    found == b"null" || (dialect == Dialect::Monerod && matches!(found, b"0" | b"\"\""))
}

/// Whether a node of this dialect may send `found` for the raw id `sent`.
///
/// Sources: univalue (Core family) and geth's `json.RawMessage` keep numbers as they came; dcrd
/// reads ids as Go's `interface{}`, so numbers are floats of 64 bits; epee (monerod) prints floats
/// with 6 digits and has 0 for null and nothing; anvil and zebrad hold ids as whole numbers, have 0
/// for -0, and refuse others with an id of null. All of them may write a text with other escapes.
fn echoes(dialect: Dialect, sent: Option<&[u8]>, found: &[u8]) -> bool {
    let Some(sent) = sent.filter(|sent| *sent != b"null") else { return is_no_id(dialect, found) };
    if sent == found || found == b"null" && is_doubtful(sent) {
        return true;
    }
    match (sent.first(), found.first()) {
        (Some(b'"'), Some(b'"')) => same_text(sent, found),
        (Some(b'"'), _) | (_, Some(b'"')) => false,
        _ => same_number(dialect, sent, found),
    }
}

fn same_number(dialect: Dialect, sent: &[u8], found: &[u8]) -> bool {
    let (Some(sent), Some(found)) = (number(sent), number(found)) else { return false };
    let broken = |text: &str| text.contains(['.', 'e', 'E']);
    let (Ok(a), Ok(b)) = (sent.parse::<f64>(), found.parse::<f64>()) else { return false };
    match dialect {
        Dialect::Dcrd => a == b,
        Dialect::Monerod if broken(sent) => (a - b).abs() <= a.abs() * 1e-5,
        // Only -0 is written otherwise.
        Dialect::Monerod => sent.parse::<i128>() == found.parse::<i128>(),
        _ if broken(sent) || broken(found) => a == b,
        // Only -0 is written otherwise.
        _ => matches!((sent.parse::<i128>(), found.parse::<i128>()), (Ok(a), Ok(b)) if a == b),
    }
}

/// Whether a node may find that it cannot read this id, and answer with null in its place, as
/// JSON-RPC asks of it (5, "Response object"): a number that is no whole one of 64 bits, or half a
/// surrogate pair. A customer who sends such ids must not have the node struck.
fn is_doubtful(sent: &[u8]) -> bool {
    match sent.first() {
        Some(b'"') => unescaped(sent).is_none(),
        _ => number(sent).is_some_and(|text| text.starts_with('-') || text.parse::<u64>().is_err()),
    }
}

/// A number's text; words such as `true` are none.
fn number(raw: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(raw).ok()?;
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit()).then_some(text)
}

/// Whether two raw strings say the same. Where one of them cannot be read (nodes differ in what
/// they make of half a surrogate pair) that is not for us to say.
fn same_text(sent: &[u8], found: &[u8]) -> bool {
    match (unescaped(sent), unescaped(found)) {
        (Some(sent), Some(found)) => sent == found,
        _ => true,
    }
}

/// What a raw string says; `None` with surrogates or an escape that is none.
fn unescaped(raw: &[u8]) -> Option<Cow<'_, [u8]>> {
    let inner = raw.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if !inner.contains(&b'\\') {
        return Some(Cow::Borrowed(inner));
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner.iter();
    while let Some(byte) = rest.next() {
        if *byte != b'\\' {
            out.push(*byte);
            continue;
        }
        match rest.next()? {
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            // epee's own.
            b'v' => out.push(11),
            b'u' => {
                let digits = std::str::from_utf8(rest.as_slice().get(..4)?).ok()?;
                let unit = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?;
                out.extend_from_slice(unit.encode_utf8(&mut [0; 4]).as_bytes());
                rest = rest.as_slice()[4..].iter();
            }
            plain @ (b'"' | b'\\' | b'/') => out.push(*plain),
            _ => return None,
        }
    }
    Some(Cow::Owned(out))
}

#[cfg(test)]
mod tests;
