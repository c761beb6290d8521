use chain::account::{Address, U256};

use super::*;
use crate::account::facts::OperationKind;

fn address(n: u8) -> String {
    Address([n; 20]).to_string()
}

/// A frame with its members in an order that a tracer may choose.
fn frame(kind: &str, value: u64, more: &str) -> String {
    let (from, to) = (address(1), address(2));
    format!(r#"{{"from":"{from}","to":"{to}",{more}"value":"{value:#x}","type":"{kind}"}}"#)
}

fn calls(children: &[String]) -> String {
    format!(r#""calls":[{}],"#, children.join(","))
}

fn kinds(traced: &Traced) -> Vec<(OperationKind, u64)> {
    traced.operations.iter().map(|it| (it.kind, it.value.to())).collect()
}

#[test]
fn operations_come_in_order_and_nothing_under_a_failure() {
    use OperationKind::{Call, Create, Create2, SelfDestruct};
    let failed = r#""error":"execution reverted","#.to_owned();
    let inner = [frame("CALL", 7, ""), frame("STATICCALL", 0, "")];
    let tree = frame(
        "CALL",
        1000,
        &calls(&[
            frame("CALL", 1, &calls(&[frame("CREATE", 0, ""), frame("CREATE2", 2, "")])),
            frame("DELEGATECALL", 9, &calls(&inner)),
            frame("CALLCODE", 9, ""),
            frame("CALL", 0, ""),
            frame("CALL", 5, &(failed.clone() + &calls(&inner))),
            frame("SELFDESTRUCT", 3, ""),
        ]),
    );
    let traced = read_tree(&tree).unwrap().unwrap();
    let expected = [(Call, 1), (Create, 0), (Create2, 2), (Call, 7), (SelfDestruct, 3)];
    assert_eq!((kinds(&traced), traced.failed), (expected.to_vec(), false));
    let failed = read_tree(&frame("CALL", 1, &(failed + &calls(&inner)))).unwrap();
    assert_eq!(failed, Some(Traced { failed: true, operations: vec![] }));
    let childless = frame("CALL", 1, r#""calls":[],"calls":null,"#);
    assert!(!read_tree(&childless).unwrap().unwrap().failed);
}

#[test]
fn deep_trees_are_read_and_deeper_ones_are_refused() {
    let deep = |depth: usize| {
        let open = r#"{"type":"CALL","value":"0x1","from":"0x","#
            .replace("\"0x\"", &format!("\"{}\"", address(1)));
        let open = open + &format!(r#""to":"{}","calls":["#, address(2));
        let mut text = open.repeat(depth);
        text += &frame("CALL", 1, "");
        text += &"]}".repeat(depth);
        text
    };
    assert_eq!(read_tree(&deep(1024)).unwrap().unwrap().operations.len(), 1024);
    assert_eq!(read_tree(&deep(100_000)), Err(BadTrace));
}

#[test]
fn one_transaction_without_a_trace_spoils_no_other() {
    let hash = format!("0x{}", "ab".repeat(32));
    let text = format!(
        r#"[{{"txHash":"{hash}","result":{}}},{{"txHash":"{hash}","error":"execution timeout"}}]"#,
        frame("CALL", 1, "")
    );
    let traces = read_trees(&text).unwrap();
    assert_eq!(traces[0].hash.unwrap().to_string(), hash);
    assert!(traces[0].traced.is_some() && traces[1].traced.is_none());
    assert_eq!(read_trees("[]"), Ok(vec![]));
    let bad = frame("CALL", 1, &calls(&[frame("CALL", 1, "").replace("to", "tt")]));
    let text = format!(r#"[{{"result":{bad}}},{{"result":{}}}]"#, frame("CALL", 1, ""));
    let traces = read_trees(&text).unwrap();
    assert!(traces[0].traced.is_none() && !traces[0].is_foreign && traces[1].traced.is_some());
}

/// What nodes give that do not know the tracer they were asked for.
#[test]
fn another_tracers_word_is_none_of_nothing() {
    let logs =
        r#"{"gas":21000,"failed":false,"returnValue":"","structLogs":[{"pc":0,"op":"STOP"}]}"#;
    let address = address(1);
    let halves =
        [r#"{"type":"CALL","value":"0x1"}"#.to_owned(), format!(r#"{{"from":"{address}"}}"#)];
    for foreign in [logs, "{}", r#"{"calls":[]}"#].into_iter().chain(halves.iter().map(|s| &s[..]))
    {
        assert_eq!(read_tree(foreign), Ok(None), "{foreign}");
        let traces = read_trees(&format!(r#"[{{"result":{foreign}}}]"#)).unwrap();
        assert!(traces[0].traced.is_none() && traces[0].is_foreign, "{foreign}");
    }
}

#[test]
fn what_a_frame_leaves_out_is_not_the_address_of_nobody() {
    for (kind, lacks) in [
        ("CALL", "to"),
        ("CALL", "from"),
        ("CREATE", "from"),
        ("SELFDESTRUCT", "to"),
        ("SELFDESTRUCT", "from"),
        ("SELFDESTRUCT", "value"),
    ] {
        let torn = frame(kind, 1, "").replace(&format!("\"{lacks}\""), "\"other\"");
        assert_eq!(read_tree(&frame("CALL", 1, &calls(&[torn]))), Err(BadTrace), "{kind} {lacks}");
    }
}

#[test]
fn nonsense_is_an_error_and_never_a_panic() {
    for text in ["", "[", "[{", "{}", "[1]", r#"[{"txHash":"0x1"}]"#, "null"] {
        assert!(read_trees(text).is_err(), "{text}");
    }
    for text in ["", "[]", "{", r#"{"calls":[1]}"#, r#"{"calls":[{}]}"#, r#"{"a":"\"#] {
        assert!(read_tree(text).is_err(), "{text}");
    }
    let bad_value = frame("CALL", 1, &calls(&[frame("CALL", 1, "").replace("0x1\"", "0xx\"")]));
    assert!(read_tree(&bad_value).is_err());
    let good = frame("CALL", 1, &calls(&[frame("CREATE", 1, "")]));
    for end in 0..good.len() {
        assert!(read_tree(&good[..end]).is_err());
    }
}

#[test]
fn flat_traces_tell_the_same() {
    let (a, b) = (address(1), address(2));
    let hash = Hash([0xab; 32]);
    let call = |path: &str, value: u64, more: &str| {
        format!(
            r#"{{"action":{{"from":"{a}","to":"{b}","callType":"call","value":"{value:#x}"}},"result":null,
            "blockHash":"{hash}","traceAddress":{path},"transactionPosition":1,"type":"call"{more}}}"#
        )
    };
    let failed = r#","error":"Reverted""#;
    let create = format!(
        r#"{{"action":{{"from":"{a}","value":"0x2","creationMethod":"create2"}},"result":{{"address":"{b}"}},
        "traceAddress":[0],"transactionPosition":1,"type":"create"}}"#
    );
    let suicide = format!(
        r#"{{"action":{{"address":"{a}","refundAddress":"{b}","balance":"0x3"}},"result":null,
        "traceAddress":[3],"transactionPosition":1,"type":"suicide"}}"#
    );
    let reward = r#"{"action":{},"type":"reward","traceAddress":[]}"#.to_owned();
    let entries = [
        call("[]", 9, ""),
        create,
        call("[1]", 4, failed),
        call("[1,0]", 5, ""),
        call("[2]", 6, ""),
        suicide,
        reward,
    ];
    let torn = call("[4]", 7, "").replace("\"to\"", "\"tt\"");
    let torn = format!("[{},{torn}]", entries.join(","));
    assert_eq!(read_flat(&torn, hash, 2).unwrap()[1].traced, None);
    let text = format!("[{}]", entries.join(","));
    let traces = read_flat(&text, hash, 2).unwrap();
    assert_eq!(traces[0].traced, None);
    use OperationKind::{Call, Create2, SelfDestruct};
    let expected = [(Create2, 2), (Call, 6), (SelfDestruct, 3)];
    assert_eq!(kinds(traces[1].traced.as_ref().unwrap()), expected);
    assert_eq!(read_flat(&text, Hash::ZERO, 2), Err(BadTrace));
    assert_eq!(read_flat(&text, hash, 1), Err(BadTrace));
    assert_eq!(U256::from(6), traces[1].traced.as_ref().unwrap().operations[1].value);
}
