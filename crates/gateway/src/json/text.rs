//! Strings of a JSON text: what they say once their escapes are undone.

use std::borrow::Cow;

/// Undoes the escapes of a string that was scanned, given without its quotes.
///
/// A lone surrogate becomes U+FFFD, which is in no name that is ever compared.
pub(crate) fn unescape(raw: &[u8]) -> Cow<'_, str> {
    if !raw.contains(&b'\\') {
        return String::from_utf8_lossy(raw);
    }
    let text = String::from_utf8_lossy(raw);
    let mut units = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char == '\\' {
            units.push(escaped(&mut chars));
        } else {
            units.extend(char.encode_utf16(&mut [0; 2]).iter());
        }
    }
    Cow::Owned(String::from_utf16_lossy(&units))
}

/// The UTF-16 unit that follows a backslash.
fn escaped(chars: &mut std::str::Chars<'_>) -> u16 {
    match chars.next() {
        Some('b') => 8,
        Some('f') => 12,
        Some('n') => 10,
        Some('r') => 13,
        Some('t') => 9,
        Some('u') => {
            let digits = chars.as_str().get(..4).unwrap_or("");
            chars.nth(3);
            u16::from_str_radix(digits, 16).unwrap_or(0xfffd)
        }
        Some(char) => char as u32 as u16,
        None => 0xfffd,
    }
}

/// Does a raw member name mean `name` to a reader that ignores case?
///
/// Go's `encoding/json` folds case by Unicode's simple folding, so that the Kelvin sign is a `k`
/// and the long s an `s` (source: go1.26 `encoding/json/fold.go`).
pub(crate) fn folded_equals(raw: &[u8], name: &str) -> bool {
    let text = unescape(raw);
    let folded = text.chars().map(|char| match char {
        '\u{212a}' => 'k',
        '\u{17f}' => 's',
        other => other.to_ascii_lowercase(),
    });
    folded.eq(name.chars().map(|char| char.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        assert_eq!(unescape(br"get\u0062lock\ncount"), "getblock\ncount");
        assert_eq!(unescape(br#"\"\\\/\b\f\r\t\uD834\uDD1E"#), "\"\\/\u{8}\u{c}\r\t\u{1d11e}");
        assert_eq!(unescape(br"\ud800x"), "\u{fffd}x");
        assert_eq!(unescape("méthode".as_bytes()), "méthode");
    }

    #[test]
    fn names_are_folded_as_go_folds_them() {
        assert!(folded_equals(b"FROMBLOCK", "fromBlock"));
        assert!(folded_equals(br"fromBloc\u212a", "fromBlock"));
        assert!(folded_equals("block\u{48}a\u{17f}h".as_bytes(), "blockHash"));
        assert!(!folded_equals(b"fromBlocks", "fromBlock"));
    }
}
