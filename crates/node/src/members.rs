//! Finds members and items in a JSON text of which the end may be missing.
//!
//! What they mean is left to `ids`. Invariant: nothing is copied or allocated, a value is skipped
//! and never read, and a text that is no JSON merely ends early.

use memchr::memchr2;

/// The members of the object that a text begins with, in order, as name (without its quotes, escapes
/// and all) and raw value. Ends where the object does, or what is here of it.
pub(crate) struct Members<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Members<'a> {
    /// `None` where the text does not begin with an object.
    pub(crate) fn of(text: &'a [u8]) -> Option<Members<'a>> {
        let at = skip_blank(text, 0);
        (text.get(at) == Some(&b'{')).then_some(Members { text, at: at + 1 })
    }

    /// The name of the next member, leaving the walk before its value.
    pub(crate) fn name(&mut self) -> Option<&'a [u8]> {
        let mut at = skip_blank(self.text, self.at);
        if self.text.get(at) == Some(&b',') {
            at = skip_blank(self.text, at + 1);
        }
        let end = string_end(self.text, at)?;
        let name = &self.text[at + 1..end - 1];
        let colon = skip_blank(self.text, end);
        if self.text.get(colon) != Some(&b':') {
            return None;
        }
        self.at = skip_blank(self.text, colon + 1);
        Some(name)
    }

    /// The first byte of the value that the walk stands before.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// The value that the walk stands before.
    pub(crate) fn value(&mut self) -> Option<&'a [u8]> {
        let end = value_end(self.text, self.at)?;
        let value = &self.text[self.at..end];
        self.at = end;
        Some(value)
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        Some((self.name()?, self.value()?))
    }
}

/// The items of the array that a text begins with.
pub(crate) struct Items<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Items<'a> {
    /// `None` where the text does not begin with an array.
    pub(crate) fn of(text: &'a [u8]) -> Option<Items<'a>> {
        let at = skip_blank(text, 0);
        (text.get(at) == Some(&b'[')).then_some(Items { text, at: at + 1 })
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let mut at = skip_blank(self.text, self.at);
        if self.text.get(at) == Some(&b',') {
            at = skip_blank(self.text, at + 1);
        }
        let end = value_end(self.text, at)?;
        self.at = end;
        Some(&self.text[at..end])
    }
}

/// The raw value of the last member of an object that ends with `text`, if that is a scalar whose
/// name is `name`. Of the text only the end need be there.
pub(crate) fn last_member<'a>(text: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let text = text.trim_ascii_end().strip_suffix(b"}")?.trim_ascii_end();
    let start = match text.last()? {
        b'"' => string_start(text)?,
        _ => text.iter().rposition(|byte| !is_plain(*byte))? + 1,
    };
    let value = text.get(start..).filter(|value| !value.is_empty())?;
    let before = text[..start].trim_ascii_end().strip_suffix(b":")?.trim_ascii_end();
    let before = before.strip_suffix(b"\"")?.strip_suffix(name.as_bytes())?.strip_suffix(b"\"")?;
    matches!(before.trim_ascii_end().last(), Some(b',' | b'{')).then_some(value)
}

/// Whether a byte may stand in a number or a word.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

fn skip_blank(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Behind the string that begins at `at`.
fn string_end(text: &[u8], at: usize) -> Option<usize> {
    if text.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Where the string begins whose closing quote is the last byte of `text`.
fn string_start(text: &[u8]) -> Option<usize> {
    let mut end = text.len() - 1;
    loop {
        let quote = text[..end].iter().rposition(|byte| *byte == b'"')?;
        let escapes = text[..quote].iter().rev().take_while(|byte| **byte == b'\\').count();
        if escapes % 2 == 0 {
            return Some(quote);
        }
        end = quote;
    }
}

/// Behind the value that begins at `at`; `None` if its end is not here.
fn value_end(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at)? {
        b'"' => string_end(text, at),
        b'{' | b'[' => nested_end(text, at),
        _ => {
            let length = text[at..].iter().position(|byte| !is_plain(*byte))?;
            (length > 0).then_some(at + length)
        }
    }
}

fn nested_end(text: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match text.get(at)? {
            b'"' => {
                at = string_end(text, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> Vec<(String, String)> {
        let own = |raw: &[u8]| String::from_utf8_lossy(raw).into_owned();
        let found = Members::of(text.as_bytes()).into_iter().flatten();
        found.map(|(name, value)| (own(name), own(value))).collect()
    }

    #[test]
    fn members_are_found_as_far_as_the_text_goes() {
        let whole = " { \"a\" : [1,{\"id\":\"}\"}] , \"id\":\"x\\\"y\",\"n\":-1.5e3 }\n";
        let expected = [("a", "[1,{\"id\":\"}\"}]"), ("id", "\"x\\\"y\""), ("n", "-1.5e3")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(members(whole), expected);
        for end in 0..whole.trim_end().len() {
            assert!(expected.starts_with(&members(&whole[..end])), "{end}");
        }
        for text in ["", "[1]", "x", "{", "{}", "{1:2}", "{\"a\" 1}", "{\"a\":}", "}", "]"] {
            assert!(members(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn items_are_found() {
        let items = |text: &'static str| -> Vec<&'static [u8]> {
            Items::of(text.as_bytes()).into_iter().flatten().collect()
        };
        let found = items(" [ {\"a\":\"]\"} ,[2], 3,\"x\" ]");
        let expected: [&[u8]; 4] = [b"{\"a\":\"]\"}", b"[2]", b"3", b"\"x\""];
        assert_eq!(found, expected);
        assert!(items("{}").is_empty() && items("[]").is_empty() && items("[{").is_empty());
    }

    #[test]
    fn last_member_is_found_from_the_end() {
        let last = |text: &'static str| last_member(text.as_bytes(), "id");
        assert_eq!(last("...\",\"id\":1}\n"), Some(&b"1"[..]));
        assert_eq!(last("{\"id\" : null }\r\n"), Some(&b"null"[..]));
        assert_eq!(last("],\"id\":\"a\\\"b\\\\\"}"), Some(&b"\"a\\\"b\\\\\""[..]));
        for other in [
            "{\"result\":1}",
            "{\"result\":\"\\\"id\\\":1\"}",
            "\"xid\":1}",
            "\"x\\\"id\":1}",
            "\"id\":{}}",
            "\"id\":}",
            ",\"id\":1",
            "}",
            "",
            "\"}",
        ] {
            assert_eq!(last(other), None, "{other}");
        }
    }
}
