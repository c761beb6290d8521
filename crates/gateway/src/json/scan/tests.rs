use super::*;
use proptest::prelude::*;

fn whole(text: &[u8]) -> Result<(), Unreadable> {
    let mut scan = Scan::new(text);
    scan.value()?;
    scan.finish()
}

#[test]
fn value_ends_where_the_value_ends() {
    let mut scan = Scan::new(b"  {\"a\": [1, {\"b\\\"}\": null}], \"c\": -0.5e+3} ,next");
    assert_eq!(scan.value().unwrap(), b"{\"a\": [1, {\"b\\\"}\": null}], \"c\": -0.5e+3}");
    assert!(scan.take(b','));
    assert_eq!(scan.value(), Err(Unreadable));
}

#[test]
fn malformed_texts_are_refused() {
    for text in [
        "",
        " ",
        "{",
        "}",
        "[1,]",
        "[,1]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "1e+",
        "+1",
        "tru",
        "nul",
        "\"",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\n\"",
        "\"\t\"",
        "[1 2]",
        "[1}",
        "{\"a\":1]",
        "1 2",
        "NaN",
        "Infinity",
        "'a'",
        "\u{feff}1",
        "[1]x",
        "0x10",
        "1_0",
        "/**/1",
    ] {
        assert_eq!(whole(text.as_bytes()), Err(Unreadable), "{text}");
    }
}

#[test]
fn well_formed_texts_are_accepted() {
    for text in [
        "0",
        "-0",
        "1e30",
        "10114294196968190000",
        "1.50",
        "1E-7",
        "\"\"",
        "\"\\ud800\"",
        "\"\\/\"",
        "null",
        "true",
        "false",
        "[]",
        "{}",
        "[[],{}]",
        "{\"\":{\"\":[]}}",
        " \r\n\t[ 1 , 2 ] ",
        "\"\u{7f}\u{e9}\"",
        "{\"a\":1,\"a\":2}",
    ] {
        assert_eq!(whole(text.as_bytes()), Ok(()), "{text}");
    }
}

#[test]
fn depth_sixty_four_is_accepted_and_sixty_five_refused() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let nest = |n: usize| {
            let core = if open == "[" { "" } else { "1" };
            format!("{}{core}{}", open.repeat(n), close.repeat(n))
        };
        assert_eq!(whole(nest(64).as_bytes()), Ok(()));
        assert_eq!(whole(nest(65).as_bytes()), Err(Unreadable));
        assert_eq!(whole(nest(100_000).as_bytes()), Err(Unreadable));
    }
}

/// Is `text` JSON to `serde_json`, number ranges and lone surrogates left aside?
fn readable_to_serde(text: &[u8]) -> bool {
    serde_json::from_slice::<&serde_json::value::RawValue>(text).is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn scanner_agrees_with_serde_json_on_mutated_texts(
        pick in 0usize..6, cut in 0usize..80, byte in any::<u8>(), insert in any::<bool>(),
    ) {
        let seeds = [
            r#"{"jsonrpc":"1.0","id":"a\u00e9\n","method":"getblock","params":["00ff",2,{"x":[true,false,null]}]}"#,
            r#"[{"id":1,"method":"a"},{"id":-0,"method":"b","params":{}},3,"x",[],{}]"#,
            r#" { "a" : -12.50e+07 , "b" : [ ] , "c":{"d":{"e":[[[0]]]}} } "#,
            r#""\\\"\/\b\f\n\r\t\u0041\uD834\uDD1E""#,
            "[1e5,0.1,-0,100,1E9]",
            "{\"\":0}",
        ];
        let mut text = seeds[pick].as_bytes().to_vec();
        let at = cut % (text.len() + 1);
        if insert { text.insert(at, byte) } else if at < text.len() { text[at] = byte }
        if std::str::from_utf8(&text).is_ok() {
            prop_assert_eq!(whole(&text).is_ok(), readable_to_serde(&text), "{:?}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn scanner_agrees_with_serde_json_on_json_soup(text in "[\\[\\]{},:\"\\\\0-9eE+.tnul -]{0,24}") {
        prop_assert_eq!(whole(text.as_bytes()).is_ok(), readable_to_serde(text.as_bytes()), "{}", text);
    }
}
