use super::*;
use crate::envelope::{Posted, read};

fn with_call<T>(slug: &str, text: &str, check: impl FnOnce(Call<'_>) -> T) -> T {
    let chain = chain::find(slug).unwrap();
    let offered = chain.methods().offered(None, &[]).unwrap();
    let Ok(Posted::One(envelope)) = read(text.as_bytes(), 1) else { panic!("{text}") };
    assert_eq!(envelope.flaw, None, "{text}");
    let method = offered.find(&unescape(envelope.method)).unwrap();
    check(Call { envelope, method })
}

fn rebuilt(slug: &str, text: &str) -> String {
    with_call(slug, text, |call| {
        let body = call.body();
        assert!(call.method.path || body.len() <= call.written_len());
        String::from_utf8(body.to_vec()).unwrap()
    })
}

#[test]
fn envelope_is_rebuilt_from_raw_spans() {
    let cases = [
        (
            r#"{ "params":[ "00" , 1.50,{"a":1} ], "METHOD":"stop","method":"getblock", "extra":1, "id":1e30,"jsonrpc":"1.0"}"#,
            r#"{"jsonrpc":"1.0","id":1e30,"method":"getblock","params":[ "00" , 1.50,{"a":1} ]}"#,
        ),
        (r#"{"method":"get\u0062lockcount"}"#, r#"{"method":"getblockcount"}"#),
        (
            r#"{"id":null,"method":"getblockcount","params":null}"#,
            r#"{"id":null,"method":"getblockcount","params":null}"#,
        ),
        (r#"{"\u0069d":-0,"method":"getblockcount"}"#, r#"{"id":-0,"method":"getblockcount"}"#),
    ];
    for (posted, expected) in cases {
        assert_eq!(rebuilt("btc", posted), expected);
    }
}

#[test]
fn answer_bears_the_id_that_was_sent() {
    let long = format!("[\"{}\"]", "0".repeat(KEPT_BODY));
    for id in ["1", "-0", "null", "\"a\\u0062\"", "1e30"] {
        for version in ["", r#""jsonrpc":"1.0","#, r#""jsonrpc":"\u0032.0","#] {
            for params in ["[]", &long] {
                let text = format!(
                    r#"{{"params":{params},{version} "id": {id} ,"method":"getblockcount"}}"#
                );
                let ids = with_call("btc", &text, |call| call.ids(&call.body()));
                assert!(matches!(ids, Ids::One(Some(it)) if it == id), "{text}");
            }
        }
    }
    let none = with_call("btc", r#"{"method":"getblockcount"}"#, |call| call.ids(&call.body()));
    assert!(matches!(none, Ids::One(None)));
}

#[test]
fn path_call_sends_its_params_alone() {
    assert_eq!(rebuilt("xmr", r#"{"id":1,"method":"get_height"}"#), "{}");
    for absent in ["null", "{}", "[]", "[ \n]"] {
        let call = format!(r#"{{"id":1,"method":"get_height","params":{absent}}}"#);
        assert_eq!(rebuilt("xmr", &call), "{}", "{absent}");
    }
    assert_eq!(
        rebuilt("xmr", r#"{"id":1,"method":"get_transactions","params":{"txs_hashes":[ "a"]}}"#),
        r#"{"txs_hashes":[ "a"]}"#
    );
}

#[test]
fn calls_that_get_no_answer_follow_the_dialect() {
    let cases = [
        ("btc", r#"{"jsonrpc":"2.0","method":"getblockcount"}"#, false),
        ("btc", r#"{"jsonrpc":"\u0032.0","method":"getblockcount"}"#, false),
        ("btc", r#"{"jsonrpc":"2.0","id":null,"method":"getblockcount"}"#, true),
        ("btc", r#"{"jsonrpc":"1.0","method":"getblockcount"}"#, true),
        ("btc", r#"{"method":"getblockcount"}"#, true),
        ("ltc", r#"{"jsonrpc":"2.0","method":"getblockcount"}"#, true),
        ("dcr", r#"{"jsonrpc":"1.0","method":"getblockcount"}"#, false),
        ("dcr", r#"{"id":null,"method":"getblockcount"}"#, false),
        ("dcr", r#"{"id":true,"method":"getblockcount"}"#, false),
        ("dcr", r#"{"id":false,"method":"getblockcount"}"#, false),
        ("dcr", r#"{"id":0,"method":"getblockcount"}"#, true),
        ("dcr", r#"{"id":"true","method":"getblockcount"}"#, true),
        ("zec", r#"{"jsonrpc":"2.0","method":"getblockcount"}"#, false),
        ("eth", r#"{"jsonrpc":"2.0","method":"eth_chainId"}"#, false),
        ("eth", r#"{"method":"eth_chainId"}"#, true),
        ("xmr", r#"{"jsonrpc":"2.0","method":"get_info"}"#, true),
    ];
    for (slug, text, answered) in cases {
        let dialect = chain::find(slug).unwrap().dialect;
        assert_eq!(
            with_call(slug, text, |call| call.is_answered(dialect)),
            answered,
            "{slug} {text}"
        );
    }
}

#[test]
fn block_is_heavy_from_verbosity_two_on() {
    let cases = [
        ("btc", "", false),
        ("btc", r#","params":["00"]"#, false),
        ("btc", r#","params":["00",0]"#, false),
        ("btc", r#","params":["00",1]"#, false),
        ("btc", r#","params":["00",true]"#, false),
        ("btc", r#","params":["00",2]"#, true),
        ("btc", r#","params":["00", 3 ]"#, true),
        ("btc", r#","params":["00",2e0]"#, true),
        ("btc", r#","params":{"blockhash":"00"}"#, false),
        ("btc", r#","params":{"blockhash":"00","verbosity":2}"#, true),
        ("btc", r#","params":{"blockhash":"00","verb\u006fsity":3}"#, true),
        ("btc", r#","params":{"args":["00",2]}"#, true),
        ("btc", r#","params":{}"#, false),
        ("dcr", r#","params":["00",true,false]"#, false),
        ("dcr", r#","params":["00",true,true]"#, true),
    ];
    for (slug, params, heavy) in cases {
        let text = format!(r#"{{"id":1,"method":"getblock"{params}}}"#);
        let dialect = chain::find(slug).unwrap().dialect;
        assert_eq!(with_call(slug, &text, |call| call.is_heavy(dialect)), heavy, "{slug} {text}");
    }
    let dialect = chain::find("btc").unwrap().dialect;
    assert!(with_call("btc", r#"{"id":1,"method":"getblockstats"}"#, |call| call.is_heavy(dialect)));
    assert!(
        !with_call("btc", r#"{"id":1,"method":"getblockcount"}"#, |call| call.is_heavy(dialect))
    );
}
