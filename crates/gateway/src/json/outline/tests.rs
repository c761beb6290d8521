use super::*;
use proptest::prelude::*;

/// Items and completeness of `text`, fed in frames that end at `cuts`.
fn read(text: &[u8], cuts: &[usize]) -> (Vec<Vec<u8>>, Vec<u8>, Outline) {
    let mut outline = Outline::new();
    let (mut items, mut tail, mut current) = (Vec::new(), Vec::new(), Vec::new());
    let mut start = 0;
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
    ends.push(text.len());
    ends.sort_unstable();
    for end in ends {
        let frame = &text[start..end];
        outline.pieces(frame, |piece| match piece {
            Piece::Item(range) => current.extend_from_slice(&frame[range]),
            Piece::ItemEnd => items.push(std::mem::take(&mut current)),
            Piece::Tail(range) => tail.extend_from_slice(&frame[range]),
            Piece::End => (),
        });
        start = end;
    }
    (items, tail, outline)
}

#[test]
fn items_of_an_array_are_cut_out_as_bytes() {
    let text = b" [ {\"a\":[1,2],\"b\":\"],}\\\"\"} , 3,\"x\\\\\",null ,[[]]]\n";
    let (items, tail, outline) = read(text, &[]);
    let expected: [&[u8]; 5] =
        [b"{\"a\":[1,2],\"b\":\"],}\\\"\"}", b"3", b"\"x\\\\\"", b"null", b"[[]]"];
    assert_eq!(items, expected);
    assert_eq!(tail, b"\n");
    assert!(outline.is_complete());
    assert_eq!(outline.items(), 5);
    assert_eq!(outline.kind(), Kind::Array);
}

#[test]
fn scalar_at_the_end_of_an_array_is_an_item() {
    let (items, _, outline) = read(b"[1,2]", &[]);
    assert_eq!(items, [b"1", b"2"]);
    assert!(outline.is_complete());
}

#[test]
fn empty_array_and_object_have_no_items() {
    for (text, kind) in [("[]", Kind::Array), ("[ ]\n", Kind::Array), ("{}", Kind::Object)] {
        let (items, _, outline) = read(text.as_bytes(), &[]);
        assert!(items.is_empty());
        assert!(outline.is_complete());
        assert_eq!(outline.kind(), kind);
    }
}

#[test]
fn truncated_and_foreign_texts_are_not_complete() {
    for text in [
        "",
        "\n",
        "{",
        "[{}",
        "{\"a\":\"}",
        "{\"a\":\"\\\"}",
        "[1,2",
        "Work queue depth exceeded",
        "\"x\"",
        "3",
        "{}x",
        "{}{}",
        "[]]",
        "}",
        "<html>",
    ] {
        let (_, _, outline) = read(text.as_bytes(), &[]);
        assert!(!outline.is_complete(), "{text}");
    }
}

#[test]
fn invalid_utf8_and_duplicates_pass() {
    let (_, _, outline) = read(b"{\"a\":\"\xff\xfe\",\"a\":1e5,\"a\":12345678901234567890}\n", &[]);
    assert!(outline.is_complete());
}

proptest! {
    #[test]
    fn frames_make_no_difference(cuts in proptest::collection::vec(0usize..200, 0..12)) {
        let text = b"[{\"a\":[1,{\"b\":2}],\"c\":\"\\\\\\\"]\"},17, \"s,\\\"\" ,[ ],{},true]  \r\n";
        let whole = read(text, &[]);
        let parts = read(text, &cuts);
        prop_assert_eq!(whole.0, parts.0);
        prop_assert_eq!(whole.1, parts.1);
        prop_assert!(parts.2.is_complete());
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64), cuts in proptest::collection::vec(0usize..64, 0..4)) {
        let (_, _, outline) = read(&bytes, &cuts);
        if serde_json::from_slice::<serde_json::Value>(&bytes).is_ok_and(|value| value.is_object() || value.is_array()) {
            prop_assert!(outline.is_complete());
        }
    }

    #[test]
    fn items_equal_what_serde_json_reads(values in proptest::collection::vec(("[a-z\\\\\"\\]\\[,{}]{0,6}", any::<i32>(), any::<bool>()), 0..6)) {
        let values: Vec<serde_json::Value> = values.into_iter().map(|(s, n, deep)|
            if deep { serde_json::json!({s: [n, {"x": [null]}]}) } else if n % 2 == 0 { n.into() } else { s.into() }).collect();
        let text = serde_json::to_vec(&values).unwrap();
        let (items, _, outline) = read(&text, &[3, 9]);
        let again: Vec<serde_json::Value> = items.iter().map(|item| serde_json::from_slice(item).unwrap()).collect();
        prop_assert!(outline.is_complete());
        prop_assert_eq!(again, values);
    }
}
