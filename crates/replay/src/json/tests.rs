use super::*;

#[test]
fn values_keep_their_text() {
    assert_eq!(value(b" 1.50 "), Ok("1.50"));
    assert_eq!(value(b"{\"a\":1e999}"), Ok("{\"a\":1e999}"));
    assert_eq!(value(b""), Err(Fault::End));
    assert_eq!(value(b"{\"a\""), Err(Fault::End));
    assert_eq!(value(b"1 trailing"), Err(Fault::Trailing('t')));
    assert!(matches!(value(b"{bad"), Err(Fault::Syntax('b'))));
    assert!(matches!(value(b"\"\xff\""), Err(Fault::Syntax(_))));
}

#[test]
fn members_keep_order_and_duplicates() {
    let found = members(r#"{"b":1,"\u0061":2.0,"b":[3]}"#).unwrap();
    let found: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    assert_eq!(found, [("b", "1"), ("a", "2.0"), ("b", "[3]")]);
    assert!(members("[1]").is_none());
}

#[test]
fn items_and_texts() {
    assert_eq!(items("[1, \"x\",[2]]").unwrap(), ["1", "\"x\"", "[2]"]);
    assert!(items("{}").is_none());
    assert_eq!(text(r#""a\u00e9\n""#).as_deref(), Some("a\u{e9}\n"));
    assert!(text("3").is_none());
}

#[test]
fn depth_does_not_overflow_the_stack() {
    let deep = [vec![b'['; 200_000], vec![b']'; 200_000]].concat();
    let raw = value(&deep).unwrap();
    assert_eq!(items(raw).unwrap().len(), 1);
}
