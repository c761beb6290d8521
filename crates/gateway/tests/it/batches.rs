//! Batches: forwarded as one where the node can, split where it cannot, refusals in their places.

use std::collections::HashMap;

use replay::{Mock, MockOptions, Replay, ReplayOptions};
use serde_json::{Value, json};

use crate::rig::{Plan, nodes, refused};

fn items(answer: &testkit::Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    serde_json::from_slice::<Vec<Value>>(&answer.body)
        .unwrap_or_else(|_| panic!("{}", answer.text()))
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_keep_their_places_on_every_chain() {
    let calls: HashMap<&str, [&str; 2]> = HashMap::from([
        ("btc", ["getblockcount", "getbestblockhash"]),
        ("ltc", ["getblockcount", "getbestblockhash"]),
        ("doge", ["getblockcount", "getbestblockhash"]),
        ("bch", ["getblockcount", "getbestblockhash"]),
        ("xec", ["getblockcount", "getbestblockhash"]),
        ("zec", ["getblockcount", "getbestblockhash"]),
        ("dcr", ["getblockcount", "getbestblockhash"]),
        ("eth", ["eth_blockNumber", "eth_chainId"]),
        ("xmr", ["get_block_count", "get_height"]),
    ]);
    for chain in chain::ALL {
        let replay = Replay::start(chain.slug, ReplayOptions::default()).await.unwrap();
        let rig = Plan::one(chain.slug, nodes(&[&replay.url()])).start().await;
        let [one, two] = calls[chain.slug];
        let call = |id: &str, method: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":[]}}"#)
        };
        let two_call = format!(r#"{{"jsonrpc":"2.0","id":"b","method":"{two}"}}"#);
        let body = format!(
            r#"[{}, 3, {{"id":"r","method":"stop"}}, {two_call}, {}, {{"id":5,"method":"{one}","id":6}}]"#,
            call("1", one),
            call("1", one)
        );
        let items = items(&rig.ask(chain.slug, &body).await);
        assert_eq!(items.len(), 6, "{} {items:?}", chain.slug);
        let reasons: Vec<&str> = items
            .iter()
            .map(|item| item["error"]["data"]["reason"].as_str().unwrap_or("-"))
            .collect();
        let expected = ["-", "INVALID_REQUEST", "METHOD_NOT_ALLOWED", "-", "-", "INVALID_REQUEST"];
        assert_eq!(reasons, expected, "{}", chain.slug);
        assert_eq!(
            (&items[0]["id"], &items[3]["id"], &items[4]["id"]),
            (&json!(1), &json!("b"), &json!(1))
        );
        assert_eq!(
            (&items[1]["id"], &items[2]["id"], &items[5]["id"]),
            (&Value::Null, &json!("r"), &Value::Null)
        );
        assert!(
            !items[0]["result"].is_null() && items[0]["result"] == items[4]["result"],
            "{}",
            chain.slug
        );
        assert_eq!(rig.units_today(), 3, "{}", chain.slug);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn batch_of_refusals_alone_reaches_no_node() {
    let mock =
        Mock::start(MockOptions { count_ids: true, ..MockOptions::default() }).await.unwrap();
    let rig = Plan::one("btc", nodes(&[&mock.url()])).start().await;
    let items = items(&rig.ask("btc", r#"[{"id":"only","method":"stop"}]"#).await);
    assert_eq!(items[0]["error"]["data"]["reason"], "METHOD_NOT_ALLOWED");
    assert_eq!(items[0]["jsonrpc"], "2.0");
    assert_eq!(mock.calls_by_id().get("\"only\""), None);
    assert_eq!(rig.units_today(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_without_an_id_are_left_out_as_the_node_does() {
    for (slug, method) in [
        ("btc", "getblockcount"),
        ("dcr", "getblockcount"),
        ("eth", "eth_chainId"),
        ("zec", "getblockcount"),
    ] {
        let replay = Replay::start(slug, ReplayOptions::default()).await.unwrap();
        let rig = Plan::one(slug, nodes(&[&replay.url()])).start().await;
        let silent = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":[]}}"#);
        let spoken = format!(r#"{{"jsonrpc":"2.0","id":9,"method":"{method}","params":[]}}"#);
        let answer = rig.ask(slug, &silent).await;
        assert_eq!((answer.status, answer.text().trim()), (200, ""), "{slug}");
        let answer = rig.ask(slug, &format!("[{silent},{silent}]")).await;
        assert_eq!((answer.status, answer.text().trim()), (200, ""), "{slug}");
        assert_eq!(
            items(&rig.ask(slug, &format!("[{silent},{spoken},{silent}]")).await).len(),
            1,
            "{slug}"
        );
        let refused = items(&rig.ask(slug, &format!(r#"[{silent},{{"method":"stop"}}]"#)).await);
        assert_eq!(refused.len(), 1, "{slug}");
        assert_eq!(refused[0]["id"], Value::Null);
        let mixed = items(
            &rig.ask(slug, &format!(r#"[{silent},{{"method":"stop"}},{spoken},{silent}]"#)).await,
        );
        assert_eq!((mixed.len(), &mixed[1]["id"]), (2, &json!(9)), "{slug}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_number_of_items_is_an_error_of_the_node() {
    let answer = bytes::Bytes::from_static(b"[{\"result\":1,\"error\":null,\"id\":1}]\n");
    let mock = Mock::start(MockOptions { answer, ..MockOptions::default() }).await.unwrap();
    let rig = Plan::one("btc", nodes(&[&mock.url()])).start().await;
    let call = r#"{"id":1,"method":"getblockcount"}"#;
    assert_eq!(items(&rig.ask("btc", &format!("[{call}]")).await).len(), 1);
    refused(&rig.ask("btc", &format!("[{call},{call}]")).await, 502, "NODE_ERROR");
    refused(
        &rig.ask("btc", &format!(r#"[{call},{call},{{"id":2,"method":"stop"}}]"#)).await,
        502,
        "NODE_ERROR",
    );
    assert_eq!(rig.units_today(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn split_batch_keeps_what_was_answered() {
    let replay = Replay::start("xmr", ReplayOptions::default()).await.unwrap();
    let rig = Plan::one("xmr", nodes(&[&replay.url()])).start().await;
    let calls: Vec<String> =
        (0..50).map(|id| format!(r#"{{"id":{id},"method":"get_block_count"}}"#)).collect();
    let items = items(&rig.ask("xmr", &format!("[{}]", calls.join(","))).await);
    let ids: Vec<u64> = items.iter().map(|item| item["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (0..50).collect::<Vec<u64>>());
    replay.stop();
    let answer = rig.ask("xmr", &format!("[{},{}]", calls[0], calls[1])).await;
    refused(&answer, 503, "NODE_UNAVAILABLE");
    assert_eq!(rig.units_today(), 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn split_batch_stops_asking_when_its_room_is_spent() {
    let mock = Mock::start(MockOptions::of_size(20 << 20)).await.unwrap();
    let rig = Plan::one("xmr", nodes(&[&mock.url()])).start().await;
    let calls: Vec<String> =
        (0..40).map(|id| format!(r#"{{"id":{id},"method":"get_block_count"}}"#)).collect();
    let batch = format!("[{}]", calls.join(","));
    for _ in 0..20 {
        let before = mock.calls();
        let answer = rig.ask("xmr", &batch).await;
        let asked = mock.calls() - before;
        assert!(asked < 12, "{asked} calls reached the node");
        // Answers that come side by side may come to the bound side by side: then none is left.
        if answer.status == 502 {
            continue;
        }
        let items = items(&answer);
        assert_eq!(items.len(), 40);
        let refused = |item: &&Value| item["error"]["data"]["reason"] == "RESPONSE_TOO_LARGE";
        let answered = 40 - items.iter().filter(refused).count();
        assert!((1..=3).contains(&answered), "{answered}");
        assert_eq!(rig.units_today(), answered as u64);
        return;
    }
    panic!("no answer had room in twenty tries");
}
