use super::*;

fn one(text: &str) -> Envelope<'_> {
    match read(text.as_bytes(), 5) {
        Ok(Posted::One(envelope)) => envelope,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn members_are_raw_spans() {
    let envelope = one(
        r#" { "id" : 1e30 , "method":"getblock","x":{"id":2}, "params" : [ "a" , 1.50 ],"jsonrpc":"1.0"} "#,
    );
    assert_eq!(envelope.id, Some(&b"1e30"[..]));
    assert_eq!(envelope.method, b"getblock");
    assert_eq!(envelope.params, Some(&br#"[ "a" , 1.50 ]"#[..]));
    assert_eq!(envelope.jsonrpc, Some(&br#""1.0""#[..]));
    assert_eq!(envelope.flaw, None);
}

#[test]
fn ids_of_every_scalar_kind_stay_as_they_are() {
    for id in ["1e30", "10114294196968190000", "-0", "\"\\u0041\"", "null", "true", "1.50", "\"\""]
    {
        let text = format!(r#"{{"method":"m","id":{id}}}"#);
        let envelope = one(&text);
        assert_eq!((envelope.id, envelope.flaw), (Some(id.as_bytes()), None));
    }
    assert_eq!(one(r#"{"method":"m"}"#).id, None);
}

#[test]
fn other_cases_of_a_name_are_unknown_members() {
    let envelope = one(r#"{"method":"getblockcount","METHOD":"stop","Id":3}"#);
    assert_eq!((envelope.method, envelope.id, envelope.flaw), (&b"getblockcount"[..], None, None));
}

#[test]
fn duplicates_are_flaws_in_either_order_and_spelling() {
    for text in [
        r#"{"method":"getblockcount","method":"stop"}"#,
        r#"{"method":"stop","method":"getblockcount"}"#,
        r#"{"method":"getblockcount","\u006dethod":"stop"}"#,
        r#"{"m\u0065thod":"getblockcount","method":"stop"}"#,
        r#"{"method":"getblockcount","params":[],"params":[]}"#,
        r#"{"method":"getblockcount","jsonrpc":"2.0","jsonrpc":"2.0"}"#,
    ] {
        assert_eq!(one(text).flaw, Some("a member of the request stands twice"), "{text}");
    }
    let twice = one(r#"{"method":"getblockcount","id":1,"\u0069d":2}"#);
    assert!(twice.flaw.is_some());
    assert_eq!(twice.id, None);
}

#[test]
fn wrong_types_are_flaws_that_keep_the_id() {
    for text in [
        r#"{"id":7,"method":7}"#,
        r#"{"id":7}"#,
        r#"{"id":7,"method":null}"#,
        r#"{"id":7,"method":"m","params":"x"}"#,
        r#"{"id":7,"method":"m","params":0}"#,
        r#"{"id":7,"method":"m","jsonrpc":2}"#,
        r#"{"id":7,"method":"m","jsonrpc":null}"#,
    ] {
        let envelope = one(text);
        assert!(envelope.flaw.is_some(), "{text}");
        assert_eq!(envelope.id, Some(&b"7"[..]), "{text}");
    }
    for text in [r#"{"id":[1],"method":"m"}"#, r#"{"id":{},"method":"m"}"#] {
        assert!(one(text).flaw.is_some());
        assert_eq!(one(text).id, None);
    }
}

#[test]
fn params_may_be_absent_null_array_or_object() {
    for params in ["", ",\"params\":null", ",\"params\":[]", ",\"params\":{\"a\":1}"] {
        let text = format!(r#"{{"method":"m"{params}}}"#);
        assert_eq!(one(&text).flaw, None, "{text}");
    }
}

#[test]
fn batch_is_counted_whole_but_kept_up_to_the_limit() {
    let text = format!("[{}]", [r#"{"method":"m"}"#; 9].join(","));
    match read(text.as_bytes(), 5) {
        Ok(Posted::Batch { elements, count }) => assert_eq!((elements.len(), count), (5, 9)),
        other => panic!("{other:?}"),
    }
    match read(b"[3,{\"method\":\"m\",\"id\":1},[]]", 5) {
        Ok(Posted::Batch { elements, count: 3 }) => {
            assert_eq!(
                elements.iter().map(|e| e.flaw.is_some()).collect::<Vec<_>>(),
                [true, false, true]
            );
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(read(b" [ ] ", 5), Ok(Posted::Batch { elements: vec![], count: 0 }));
}

#[test]
fn what_is_no_request_is_told_from_what_cannot_be_read() {
    assert_eq!(read(b"3", 5), Ok(Posted::Neither));
    assert_eq!(read(b"\"x\"", 5), Ok(Posted::Neither));
    for text in
        ["", "  ", "{\"id\":1", "[1,2", "{} trailing", "{\"method\":\"m\",}", "[{\"method\":\"m\"}"]
    {
        assert_eq!(read(text.as_bytes(), 5), Err(Unreadable), "{text}");
    }
}
