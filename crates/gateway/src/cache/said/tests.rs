use super::*;

fn said(answer: &str, dialect: Dialect) -> Option<Said> {
    Said::of(&Bytes::copy_from_slice(answer.as_bytes()), dialect, false)
}

fn again(answer: &str, id: &str) -> String {
    let said = said(answer, Dialect::Core).unwrap();
    String::from_utf8(said.to(id.as_bytes()).to_vec()).unwrap()
}

#[test]
fn another_id_takes_the_place_of_the_nodes() {
    let legacy = "{\"result\":{\"id\":7,\"a\":\"\\\"id\\\":7\"},\"error\":null,\"id\":7}\n";
    let expected =
        "{\"result\":{\"id\":7,\"a\":\"\\\"id\\\":7\"},\"error\":null,\"id\":\"seven\"}\n";
    assert_eq!(again(legacy, "\"seven\""), expected);
    let head = r#"{ "jsonrpc" : "2.0", "id" : 1, "result" : "0x1"}"#;
    assert_eq!(again(head, "null"), r#"{ "jsonrpc" : "2.0", "id" : null, "result" : "0x1"}"#);
    assert_eq!(again(head, "1"), head);
}

#[test]
fn large_answers_are_the_same_in_pieces() {
    let big = "0".repeat(3 * ONE_PIECE_BYTES);
    let answer = format!("{{\"result\":\"{big}\",\"error\":null,\"id\":1}}\n");
    let said = said(&answer, Dialect::Core).unwrap();
    let opened = said.open(b"\"other\"");
    let pieces: Vec<u8> = opened.ready.iter().flatten().copied().collect();
    assert_eq!(opened.ready.len(), 3);
    assert_eq!(opened.length, Some(pieces.len() as u64));
    assert_eq!(pieces, said.to(b"\"other\""));
}

#[test]
fn only_a_whole_answer_with_a_result_is_kept() {
    for bad in [
        r#"{"result":null,"error":{"code":-5},"id":1}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-5},"id":1}"#,
        r#"{"result":1,"error":{"code":-5},"id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
        r#"{"result":1,"error":null}"#,
        r#"{"result":1,"id":1,"id":2}"#,
        r#"{"result":1,"result":2,"id":1}"#,
        r#"{"result":1,"id":1"#,
        r#"{"result":1,"id":1}{}"#,
        r#"[{"result":1,"id":1}]"#,
        "{}",
        "",
        "busy",
    ] {
        assert_eq!(said(bad, Dialect::Core), None, "{bad}");
    }
}

#[test]
fn monerod_has_to_say_that_it_is_well() {
    let answer = |status: &str| {
        format!(r#"{{"id":"0","jsonrpc":"2.0","result":{{"count":1,"status":"{status}"}}}}"#)
    };
    assert!(said(&answer("OK"), Dialect::Monerod).is_some());
    assert!(said(&answer("BUSY"), Dialect::Monerod).is_none());
    assert!(said(&answer("BUSY"), Dialect::Core).is_some());
    let bare = r#"{"id":"0","jsonrpc":"2.0","result":"ab12"}"#;
    assert!(said(bare, Dialect::Monerod).is_some(), "a hash has no status");
    let path = |text: &'static str| Said::of(&Bytes::from(text), Dialect::Monerod, true);
    let whole = r#"{"hash":"ab","height":3,"status":"OK"}"#;
    assert_eq!(path(whole).unwrap().to(b"9"), whole);
    assert_eq!(path(r#"{"height":3,"status":"BUSY"}"#), None);
    assert_eq!(path(r#"{"height":3}"#), None);
}

#[test]
fn only_ids_that_every_node_repeats_are_put_in() {
    for plain in ["0", "7", "999999999999999", "null", "\"\"", "\"a-b.c_1 :,'\"", "\"{[\""] {
        assert!(is_plain_id(plain.as_bytes(), Dialect::Core), "{plain}");
    }
    let long = format!("\"{}\"", "a".repeat(LONGEST_ID));
    for odd in
        ["-1", "1.0", "1e3", "9999999999999999", "true", "\"\\u0061\"", "\"é\"", "\"a/b\"", &long]
    {
        assert!(!is_plain_id(odd.as_bytes(), Dialect::Core), "{odd}");
    }
    assert!(!is_plain_id(b"null", Dialect::Monerod));
    assert!(!is_plain_id(b"null", Dialect::Dcrd));
}
