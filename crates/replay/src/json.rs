//! JSON as spans: what a value is and which text its parts have, without building values.
//!
//! Parsing is serde_json's; number text survives because nothing is converted. Invariant: every
//! function takes any text and depth without panicking.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// What a JSON value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Number,
    Text,
    Array,
    Object,
}

/// Why a text is no JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It ends too early.
    End,
    /// A whole value, then something else that starts with this character.
    Trailing(char),
    /// Anything else; the character where it went wrong.
    Syntax(char),
}

/// The kind of the valid JSON value `raw`.
pub(crate) fn kind(raw: &str) -> Kind {
    match raw.trim_start().as_bytes().first() {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b'"') => Kind::Text,
        Some(b't' | b'f') => Kind::Bool,
        Some(b'n') | None => Kind::Null,
        Some(_) => Kind::Number,
    }
}

/// The one JSON value that `body` holds, without the spaces around it.
pub(crate) fn value(body: &[u8]) -> Result<&str, Fault> {
    let (value, rest) = first(body)?;
    match rest.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(byte) => Err(Fault::Trailing(char::from(*byte))),
        None => Ok(value),
    }
}

/// The first JSON value of `body`, and what follows it.
pub(crate) fn first(body: &[u8]) -> Result<(&str, &[u8]), Fault> {
    let mut values = serde_json::Deserializer::from_slice(body).into_iter::<&RawValue>();
    match values.next() {
        Some(Ok(value)) => Ok((value.get(), &body[values.byte_offset().min(body.len())..])),
        Some(Err(error)) if !error.is_eof() => Err(Fault::Syntax(character(body, &error))),
        _ => Err(Fault::End),
    }
}

/// The character at which serde_json gave up (it counts lines and columns from one).
fn character(body: &[u8], error: &serde_json::Error) -> char {
    let line = body.split(|byte| *byte == b'\n').nth(error.line().saturating_sub(1));
    let byte = line.and_then(|line| line.get(error.column().saturating_sub(1)));
    byte.map_or('\u{fffd}', |byte| char::from(*byte))
}

/// The members of the object `raw` in their order, names unescaped, duplicates kept. `None` if it
/// is no object.
pub(crate) fn members(raw: &str) -> Option<Vec<(String, &str)>> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(String, &'de str)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::with_capacity(4);
            while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                members.push((name, value.get()));
            }
            Ok(members)
        }
    }
    serde_json::Deserializer::from_str(raw).deserialize_map(Members).ok()
}

/// The items of the array `raw`. `None` if it is no array.
pub(crate) fn items(raw: &str) -> Option<Vec<&str>> {
    let items: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
    Some(items.into_iter().map(RawValue::get).collect())
}

/// The text that the JSON string `raw` stands for. `None` if it is no string, or has a lone
/// surrogate.
pub(crate) fn text(raw: &str) -> Option<String> {
    serde_json::from_str(raw).ok()
}

#[cfg(test)]
mod tests;
