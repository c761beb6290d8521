//! JSON as the Core family's univalue writes it: compact, numbers as they came, its own escapes.
//!
//! Source: src/univalue/lib/univalue_write.cpp and univalue_escapes.h of Bitcoin Core. Invariant:
//! any depth passes without overflow.

use crate::json::{self, Kind};

/// Deeper values are sent as they came.
const DEPTH: usize = 32;

/// The valid JSON value `raw`, read and written by univalue.
pub(crate) fn written(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    append(raw, DEPTH, &mut out);
    out
}

fn append(raw: &str, depth: usize, out: &mut String) {
    match json::kind(raw) {
        Kind::Text if raw.bytes().all(|byte| byte != b'\\' && byte != 0x7f) => out.push_str(raw),
        Kind::Text => match json::text(raw) {
            Some(text) => escape(&text, out),
            None => out.push_str(raw),
        },
        Kind::Array if depth > 0 => {
            let items = json::items(raw).unwrap_or_default();
            out.push('[');
            for (n, item) in items.into_iter().enumerate() {
                out.push_str(if n > 0 { "," } else { "" });
                append(item, depth - 1, out);
            }
            out.push(']');
        }
        Kind::Object if depth > 0 => {
            let members = json::members(raw).unwrap_or_default();
            out.push('{');
            for (n, (name, value)) in members.into_iter().enumerate() {
                out.push_str(if n > 0 { "," } else { "" });
                escape(&name, out);
                out.push(':');
                append(value, depth - 1, out);
            }
            out.push('}');
        }
        _ => out.push_str(raw),
    }
}

fn escape(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\0'..='\u{1f}' | '\u{7f}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::written;

    #[test]
    fn values_are_rewritten() {
        let values = [
            ("1.50", "1.50"),
            ("1e30", "1e30"),
            ("\"\\u0041\\/\\n\\u007f\u{e9}\"", "\"A/\\n\\u007f\u{e9}\""),
            ("[ 1, {\"a\" : [ ] } ]", "[1,{\"a\":[]}]"),
        ];
        for (raw, wanted) in values {
            assert_eq!(written(raw), wanted);
        }
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(written(&deep).len(), deep.len());
    }
}
