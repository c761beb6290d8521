//! JSON as Go's encoding/json writes it.
//!
//! Only what a node writes by itself; recorded texts are never rewritten. Source: the Go standard
//! library, encoding/json/encode.go `floatEncoder` and `appendString`.

use crate::json::{self, Kind};

/// An id after it went through Go's `any`: a number as a float, a text with Go's escapes. `None`
/// for kinds that dcrd takes for no id.
pub(crate) fn id(raw: &str) -> Option<String> {
    match json::kind(raw) {
        Kind::Null => Some("null".to_owned()),
        Kind::Number => Some(float(raw.trim().parse().ok()?)),
        Kind::Text => Some(text(&json::text(raw)?)),
        Kind::Bool | Kind::Array | Kind::Object => None,
    }
}

/// A float with the fewest digits that name it; with an exponent below 1e-6 and from 1e21 on.
pub(crate) fn float(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        return format!("{value}");
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((digits, power)) if !power.starts_with('-') => format!("{digits}e+{power}"),
        _ => text,
    }
}

/// A text in quotes, safe to stand in HTML.
pub(crate) fn text(plain: &str) -> String {
    let mut out = String::with_capacity(plain.len() + 2);
    out.push('"');
    for character in plain.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_go_through_floats() {
        let ids = [
            ("1.50", "1.5"),
            ("12345678901234567890", "12345678901234567000"),
            ("1e30", "1e+30"),
            ("-0", "-0"),
            ("1e-7", "1e-7"),
            ("0.000001", "0.000001"),
            ("1e21", "1e+21"),
            ("\"a<\\u0041\"", "\"a\\u003cA\""),
        ];
        for (raw, sent) in ids {
            assert_eq!(id(raw).as_deref(), Some(sent), "{raw}");
        }
        assert_eq!(id("[1]"), None);
        assert_eq!(id("true"), None);
    }
}
