//! JSON as monerod's epee writes it: two spaces a level, `\r\n`, its own escapes, C++ numbers.
//!
//! Source: contrib/epee/include/storages/portable_storage_to_json.h and parserse_base_utils.cpp of
//! monero, and monerod 0.18.0.0 itself. Invariant: any depth is refused, not overflowed.

use crate::json::{self, Kind};

/// epee reads no deeper than 100; no recorded answer is deeper than 8.
const DEPTH: usize = 32;

/// Appends the valid JSON value `raw`, whose line is indented by `level` levels. `None` if it nests
/// too deep.
pub(crate) fn append(raw: &str, level: usize, out: &mut Vec<u8>) -> Option<()> {
    nested(raw, level, DEPTH, out)
}

fn nested(raw: &str, level: usize, depth: usize, out: &mut Vec<u8>) -> Option<()> {
    if depth == 0 {
        return None;
    }
    match json::kind(raw) {
        Kind::Text => text(raw, out),
        Kind::Array => {
            out.push(b'[');
            for (n, item) in json::items(raw)?.into_iter().enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                nested(item, level, depth - 1, out)?;
            }
            out.push(b']');
        }
        Kind::Object => {
            out.extend_from_slice(b"{\r\n");
            let members = json::members(raw)?;
            let last = members.len().saturating_sub(1);
            for (n, (name, value)) in members.into_iter().enumerate() {
                indent(level + 1, out);
                out.push(b'"');
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(b"\": ");
                nested(value, level + 1, depth - 1, out)?;
                out.extend_from_slice(if n == last { b"\r\n" } else { b",\r\n" });
            }
            indent(level, out);
            out.push(b'}');
        }
        Kind::Null | Kind::Bool | Kind::Number => out.extend_from_slice(raw.as_bytes()),
    }
    Some(())
}

fn indent(level: usize, out: &mut Vec<u8>) {
    for _ in 0..level {
        out.extend_from_slice(b"  ");
    }
}

/// Appends the JSON string `raw` with epee's escapes. A `\u` escape becomes the bytes of that one
/// unit, also of half a surrogate pair.
fn text(raw: &str, out: &mut Vec<u8>) {
    let mut bytes = raw.as_bytes();
    loop {
        let plain = bytes.iter().position(|byte| b"\\/\x08\x0c\n\r\t\x0b".contains(byte));
        let plain = plain.unwrap_or(bytes.len());
        out.extend_from_slice(&bytes[..plain]);
        bytes = &bytes[plain..];
        match bytes {
            [] => return,
            [b'\\', b'u', rest @ ..] => {
                let digits = rest.get(..4).and_then(|digits| std::str::from_utf8(digits).ok());
                let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                unit_bytes(unit.unwrap_or_default(), out);
                bytes = rest.get(4..).unwrap_or_default();
            }
            [b'\\', b'/', rest @ ..] | [b'/', rest @ ..] => {
                out.extend_from_slice(b"\\/");
                bytes = rest;
            }
            [b'\\', escaped, rest @ ..] => {
                out.extend_from_slice(&[b'\\', *escaped]);
                bytes = rest;
            }
            [other, rest @ ..] => {
                out.push(*other);
                bytes = rest;
            }
        }
    }
}

fn unit_bytes(unit: u32, out: &mut Vec<u8>) {
    let low = |shift: u32| 0x80 | (unit >> shift & 0x3f) as u8;
    match unit {
        0x22 => out.extend_from_slice(b"\\\""),
        0x5c => out.extend_from_slice(b"\\\\"),
        0x2f => out.extend_from_slice(b"\\/"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x09 => out.extend_from_slice(b"\\t"),
        0x0a => out.extend_from_slice(b"\\n"),
        0x0b => out.extend_from_slice(b"\\v"),
        0x0c => out.extend_from_slice(b"\\f"),
        0x0d => out.extend_from_slice(b"\\r"),
        0..0x80 => out.push(unit as u8),
        0x80..0x800 => out.extend_from_slice(&[0xc0 | (unit >> 6) as u8, low(0)]),
        _ => out.extend_from_slice(&[0xe0 | (unit >> 12) as u8, low(6), low(0)]),
    }
}

/// An id as monerod sends it back: 0 for none, numbers through `int64`, `uint64` or `double`.
/// `None` for what its parser refuses.
pub(crate) fn id(raw: Option<&str>) -> Option<Vec<u8>> {
    let Some(raw) = raw else { return Some(b"0".to_vec()) };
    let mut out = Vec::new();
    match json::kind(raw) {
        Kind::Null => out.push(b'0'),
        Kind::Number => out.extend_from_slice(number(raw)?.as_bytes()),
        Kind::Array => {
            let items = json::items(raw)?;
            let first = items.first().map(|item| json::kind(item));
            match first {
                None => out.push(b'0'),
                Some(kind) if items.iter().all(|item| json::kind(item) == kind) => {
                    append(raw, 1, &mut out)?;
                }
                // epee's arrays have one type.
                Some(_) => return None,
            }
        }
        Kind::Bool | Kind::Text | Kind::Object => append(raw, 1, &mut out)?,
    }
    Some(out)
}

fn number(raw: &str) -> Option<String> {
    let raw = raw.trim();
    if raw.contains(['.', 'e', 'E']) {
        return raw.parse().ok().map(double);
    }
    match raw.strip_prefix('-') {
        Some(_) => raw.parse::<i64>().ok().map(|number| number.to_string()),
        None => raw.parse::<u64>().ok().map(|number| number.to_string()),
    }
}

/// A float as a C++ stream prints it: 6 significant digits, like `%g`.
fn double(value: f64) -> String {
    let scientific = format!("{value:.5e}");
    let Some((digits, power)) = scientific.split_once('e') else { return scientific };
    let power: i32 = power.parse().unwrap_or_default();
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    match power {
        -4..6 => trimmed(&format!("{value:.*}", (5 - power).unsigned_abs() as usize)),
        _ => {
            let sign = if power < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", trimmed(digits), power.unsigned_abs())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(raw: &str) -> Option<String> {
        id(Some(raw)).map(|id| String::from_utf8_lossy(&id).into_owned())
    }

    #[test]
    fn ids_as_monerod_sent_them() {
        let ids = [
            ("7", "7"),
            ("null", "0"),
            ("[]", "0"),
            ("-5", "-5"),
            ("-0", "0"),
            ("1.50", "1.5"),
            ("1.23456789", "1.23457"),
            ("123456789.5", "1.23457e+08"),
            ("100000000.0", "1e+08"),
            ("-1.5e-7", "-1.5e-07"),
            ("1e30", "1e+30"),
            ("0.1", "0.1"),
            ("18446744073709551615", "18446744073709551615"),
            ("true", "true"),
            ("[1]", "[1]"),
            ("[\"a\", \"b\"]", "[\"a\",\"b\"]"),
            ("{}", "{\r\n  }"),
            ("{\"a\":1}", "{\r\n    \"a\": 1\r\n  }"),
            (r#""x\"y""#, r#""x\"y""#),
            (r#""a/b\u00e9\u0001""#, "\"a\\/b\u{e9}\u{1}\""),
        ];
        for (raw, id) in ids {
            assert_eq!(sent(raw).as_deref(), Some(id), "{raw}");
        }
        assert_eq!(id(None).as_deref(), Some(&b"0"[..]));
        assert_eq!(sent("1844674407370955161600"), None);
        assert_eq!(sent("[1,\"x\"]"), None);
    }

    #[test]
    fn surrogates_stay_halves() {
        assert_eq!(id(Some(r#""\ud83d\ude00""#)).unwrap(), b"\"\xed\xa0\xbd\xed\xb8\x80\"");
    }

    #[test]
    fn depth_is_refused() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(sent(&deep), None);
    }
}
