//! Which ids are which, dialect by dialect.

use super::*;

const ALL: [Dialect; 6] = [
    Dialect::Core,
    Dialect::LegacyCore,
    Dialect::Zebrad,
    Dialect::Dcrd,
    Dialect::Geth,
    Dialect::Monerod,
];

fn one(id: &str) -> Ids {
    Ids::One((!id.is_empty()).then(|| Bytes::copy_from_slice(id.as_bytes())))
}

fn batch(ids: &[&str]) -> Ids {
    let call = |id: &&str| CallId {
        id: (!id.is_empty()).then(|| Bytes::copy_from_slice(id.as_bytes())),
        answered: !id.is_empty(),
    };
    Ids::Batch(ids.iter().map(call).collect())
}

#[test]
fn id_that_came_back_is_known_wherever_it_stands() {
    for id in ["1", "\"x\"", "\"a\\\"}\"", "-7", "1.50", "true", "1e30"] {
        for text in [
            format!("{{\"result\":{{\"id\":9}},\"error\":null,\"id\":{id}}}\n"),
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":[{{\"id\":9}}]}}"),
            format!("{{\r\n  \"id\": {id},\r\n  \"jsonrpc\": \"2.0\",\r\n  \"result\": {{}}\r\n}}"),
            format!("{{\"result\":[],\"id\":{id},\"error\":null}}"),
        ] {
            for dialect in ALL {
                assert!(one(id).fit(dialect, text.as_bytes()), "{dialect:?} {text}");
                assert!(!one("\"other\"").fit(dialect, text.as_bytes()), "{dialect:?} {text}");
                assert!(!one("8").fit(dialect, text.as_bytes()), "{dialect:?} {text}");
            }
        }
    }
}

#[test]
fn known_habits_of_nodes_are_no_strays() {
    use Dialect::{Core, Dcrd, Geth, LegacyCore, Monerod, Zebrad};
    let same = [
        (Dcrd, "12345678901234567890", "12345678901234567000"),
        (Dcrd, "1.50", "1.5"),
        (Dcrd, "1e30", "1e+30"),
        (Dcrd, "-0", "-0"),
        (Dcrd, "\"a<\\u0041\"", "\"a\\u003cA\""),
        (Monerod, "1.23456789", "1.23457"),
        (Monerod, "123456789.5", "1.23457e+08"),
        (Monerod, "-0", "0"),
        (Monerod, "null", "0"),
        (Monerod, "", "0"),
        (Monerod, "", "\"\""),
        (Monerod, "\"a/b\\u000b\"", "\"a\\/b\\v\""),
        (Monerod, "\"\\ud83d\\ude00\"", "\"\u{1f600}\""),
        (Core, "\"\\u0041\\/\"", "\"A/\""),
        (LegacyCore, "", "null"),
        (LegacyCore, "null", "null"),
        (Geth, "\"a<b\"", "\"a\\u003cb\""),
        (Geth, "-0", "0"),
        (Geth, "1.5", "null"),
        (Geth, "-1", "null"),
        (Zebrad, "7", "7"),
        (Zebrad, "18446744073709551616", "null"),
        (Zebrad, "\"\\ud83d\"", "null"),
    ];
    for (dialect, sent, found) in same {
        let text = format!("{{\"result\":1,\"id\":{found}}}");
        assert!(one(sent).fit(dialect, text.as_bytes()), "{dialect:?} {sent} {found}");
    }
    let strays = [
        (Core, "12345678901234567890", "12345678901234567000"),
        (Geth, "1", "\"1\""),
        (Geth, "1", "null"),
        (Geth, "\"a\"", "null"),
        (Geth, "-0", "1"),
        (
            Geth,
            "10000000000000000000000000000000000000001",
            "10000000000000000000000000000000000000002",
        ),
        (Dcrd, "1", "2"),
        (Monerod, "1.23456789", "1.23557"),
        (Monerod, "5", "0"),
        (Zebrad, "7", "null"),
        (Core, "", "1"),
        (Core, "true", "false"),
        (LegacyCore, "\"a\"", "\"b\""),
    ];
    for (dialect, sent, found) in strays {
        let text = format!("{{\"result\":1,\"error\":null,\"id\":{found}}}");
        assert!(!one(sent).fit(dialect, text.as_bytes()), "{dialect:?} {sent} {found}");
    }
}

#[test]
fn error_of_a_request_that_could_not_be_read_has_no_id() {
    let text =
        b"{\"result\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\"},\"id\":null}";
    assert!(ALL.iter().all(|dialect| one("5").fit(*dialect, text)));
    let epee = b"{\r\n  \"error\": {\r\n    \"code\": -32600\r\n  },\r\n  \"id\": 0\r\n}";
    assert!(one("5").fit(Dialect::Monerod, epee) && !one("5").fit(Dialect::Core, epee));
}

#[test]
fn what_has_no_id_is_let_through() {
    let none =
        ["", "Work queue depth exceeded", "{\"result\":1}", "{\"result\":[1,", "null", "[1]"];
    for text in none {
        assert!(one("5").fit(Dialect::Core, text.as_bytes()), "{text}");
        assert!(Ids::None.fit(Dialect::Core, text.as_bytes()), "{text}");
    }
    assert!(
        !one("5").fit(Dialect::Core, b"[{\"result\":1,\"id\":5}]"),
        "only a batch gets an array"
    );
}

#[test]
fn answers_of_paths_and_calls_of_monerod_are_told_apart() {
    let called = b"{\r\n  \"id\": \"5\",\r\n  \"jsonrpc\": \"2.0\",\r\n  \"result\": {}\r\n}";
    let path = b"{\r\n  \"height\": 9,\r\n  \"status\": \"OK\"\r\n}";
    let sent = one("\"5\"");
    assert!(sent.fit(Dialect::Monerod, called) && !Ids::None.fit(Dialect::Monerod, called));
    assert!(Ids::None.fit(Dialect::Monerod, path) && !sent.fit(Dialect::Monerod, path));
    let cut = b"{\r\n  \"jsonrpc\": \"2.0\",\r\n  \"result\": {";
    assert!(sent.fit(Dialect::Monerod, cut), "what is cut off is for others to see");
    assert!(Ids::None.fit(Dialect::Core, b"{\"id\":1}"), "REST");
}

#[test]
fn batches_are_compared_place_by_place() {
    let answer = |ids: &[&str]| {
        let items: Vec<String> = ids
            .iter()
            .map(|id| format!("{{\"result\":[\"]\"],\"error\":null,\"id\":{id}}}"))
            .collect();
        format!("[{}]\n", items.join(" , "))
    };
    let sent = batch(&["1", "\"b\"", "", "4"]);
    let fits = |ids: &[&str]| sent.fit(Dialect::Core, answer(ids).as_bytes());
    assert!(fits(&["1", "\"b\"", "4"]), "without the notification");
    assert!(fits(&["1", "\"b\"", "null", "4"]), "an old node answers it too");
    assert!(!fits(&["1", "4", "\"b\""]));
    assert!(!fits(&["1", "\"b\"", "4", "4"]));
    assert!(fits(&["1", "\"b\""]), "a wrong count is for others to see");
    let word = |id: &str| format!("{{\"result\":null,\"error\":{{\"code\":-1}},\"id\":{id}}}");
    for id in ["null", "1", "4"] {
        assert!(sent.fit(Dialect::Core, word(id).as_bytes()), "{id}");
    }
    assert!(!sent.fit(Dialect::Core, word("9").as_bytes()));
    assert!(!sent.fit(Dialect::Core, b"{\"result\":7,\"error\":null,\"id\":1}"), "a single answer");
}

#[test]
fn pieces_tell_as_much_as_they_show() {
    let sent = one("5");
    for head in
        ["", "{", "{\"id\"", "{\"id\":5", "{\"id\":5,", "{\"id\":null,", "{\"result\":{\"id\":6"]
    {
        assert!(sent.fit_head(Dialect::Geth, head.as_bytes()), "{head}");
    }
    assert!(!sent.fit_head(Dialect::Geth, b"{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":{"));
    assert!(sent.fit_tail(Dialect::Core, b"00ff\",\"error\":null,\"id\":5}\n"));
    assert!(sent.fit_tail(Dialect::Core, b"00ff\"}\n"));
    assert!(!sent.fit_tail(Dialect::Core, b"00ff\",\"error\":null,\"id\":55}\n"));
}
