//! A node that is gone: what the index holds is served all the same.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Draft, Forge, StubNode, StubOptions, key_hash_script};

use crate::utxo::rig::{Plan, json, reason, refused};

const PATHS: [&str; 9] = [
    "/blocks",
    "/block/1",
    "/block/1/txs",
    "/tx/~",
    "/address/~",
    "/address/~/txs",
    "/address/~/utxo",
    "/search/1",
    "/mempool",
];

/// A path with a transaction and an address in it.
fn with(path: &str, txid: &str, address: &str) -> String {
    let argument = if path.starts_with("/tx") { txid } else { address };
    format!("/api/v1/btc{}", path.replace('~', argument))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_without_a_block_says_when_to_come_back() {
    let port = testkit::free_port().unwrap();
    let rig = Plan::at("btc", format!("http://127.0.0.1:{port}")).start().await;
    let status = json(&rig.get("/api/v1/btc/status").await);
    let expected = json!({
        "chain": "btc", "decimals": 8, "family": "utxo", "height": 0, "in_sync": false,
        "mempool_count": 0, "name": "Bitcoin", "network": "regtest", "symbol": "BTC",
    });
    assert_eq!(status, expected);
    let address = "mg4oGbzC7KenuXAcHYAMmrrPRgNn58UqC8";
    for path in PATHS {
        let answer = rig.get(&with(path, &"7".repeat(64), address)).await;
        refused(&answer, 503, "SERVICE_UNAVAILABLE");
        assert_eq!(answer.header("retry-after"), Some("30"), "{path}");
    }
    // What is malformed is so at any time.
    for path in ["/block/x", "/tx/x", "/address/x", "/blocks?limit=0", "/block/1/txs?page=0"] {
        refused(&rig.get(&format!("/api/v1/btc{path}")).await, 400, "BAD_REQUEST");
    }
    refused(&rig.get("/api/v1/btc/gas").await, 404, "NOT_ON_THIS_CHAIN");
    assert_eq!(rig.units_today(), (0, 7));
}

#[tokio::test(flavor = "multi_thread")]
async fn while_it_loads_only_the_status_is_served() {
    let node = StubNode::start("btc", StubOptions::default()).await.unwrap();
    let mut forge = Forge::new(chain::find("btc").unwrap());
    for _ in 0..1200 {
        node.extend(&forge.mine(5000, &key_hash_script(1), &[])).unwrap();
    }
    let rig = Plan { bulk_from: 500, ..Plan::at("btc", node.url()) }.start().await;
    let (mut refusals, mut heights) = (0, Vec::new());
    loop {
        let status = json(&rig.get("/api/v1/btc/status").await);
        let answer = rig.get("/api/v1/btc/blocks").await;
        heights.push(status["height"].as_u64().unwrap());
        if answer.status == 200 {
            // No part of the load was ever shown.
            assert_eq!(json(&answer)[0]["height"], 1200);
            break;
        }
        refused(&answer, 503, "SERVICE_UNAVAILABLE");
        assert_eq!(answer.header("retry-after"), Some("30"));
        assert_eq!(status["in_sync"], false);
        refusals += 1;
    }
    assert!(refusals > 0);
    assert!(heights.is_sorted(), "{heights:?}");
    rig.followed[0].stands(|standing| standing.in_sync && standing.height == 1200).await;
    let status = json(&rig.get("/api/v1/btc/status").await);
    assert_eq!(status["best_hash"], forge.tip().to_string());
}

/// Waits for the explorer's own times: 30 seconds for `in_sync`, 60 for the pool.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_gone_is_noticed_and_may_come_back() {
    let chain = chain::find("btc").unwrap();
    let mut node = StubNode::start("btc", StubOptions::default()).await.unwrap();
    let mut forge = Forge::new(chain);
    let (script, other) = (key_hash_script(1), key_hash_script(2));
    let block = forge.mine(5000, &script, &[]);
    node.extend(&block).unwrap();
    let waiting = Draft::new().spend(block.coinbase.output(0)).pay(4000, &other).finish();
    node.mempool(vec![waiting.raw.clone()]).unwrap();
    let mut rig = Plan::at("btc", node.url()).start().await;
    let caught_up = |height| {
        move |standing: &index::Standing| {
            standing.in_sync && standing.height == height && standing.mempool_count == 1
        }
    };
    rig.followed[0].stands(caught_up(1)).await;
    let txid = block.coinbase.txid.to_string();
    let list = json(&rig.get("/api/v1/btc/block/1/txs").await);
    let address = list["txs"][0]["vout"][0]["addresses"][0].as_str().unwrap().to_owned();
    let paths = PATHS.map(|path| with(path, &txid, &address));
    let mut before = Vec::new();
    for path in &paths {
        let answer = rig.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        before.push(json(&answer));
    }
    node.stop();
    for (path, before) in paths.iter().zip(&before) {
        assert_eq!(json(&rig.get(path).await), *before);
    }
    // In sync no more, while the pool lives on.
    rig.followed[0].stands(|standing| !standing.in_sync).await;
    let status = json(&rig.get("/api/v1/btc/status").await);
    assert_eq!((&status["in_sync"], &status["height"]), (&json!(false), &json!(1)));
    for (path, before) in paths.iter().zip(&before) {
        assert_eq!(json(&rig.get(path).await), *before);
    }
    // Then the pool is dropped, everywhere at once.
    let pool = || rig.get("/api/v1/btc/mempool");
    let mut answer = pool().await;
    for _ in 0..3000 {
        if answer.status != 200 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        answer = pool().await;
    }
    refused(&answer, 503, "SERVICE_UNAVAILABLE");
    assert_eq!(answer.header("retry-after"), Some("5"));
    let confirmed = |list: &Value| {
        let list = list["txs"].as_array().unwrap().iter();
        list.filter(|tx| tx["confirmations"] != 0).count()
    };
    for (path, before) in paths.iter().zip(&before).filter(|(path, _)| !path.ends_with("/mempool"))
    {
        let answer = rig.get(path).await;
        let now = json(&answer);
        assert_eq!(answer.status, 200, "{path}: {now}");
        if path.ends_with(&address) {
            assert!(before.get("unconfirmed").is_some() && now.get("unconfirmed").is_none());
            assert_eq!(now["balance"], before["balance"]);
        } else if path.ends_with("/utxo") {
            assert!(before["utxos"][0].get("unconfirmed_spend").is_some());
            assert!(now["utxos"][0].get("unconfirmed_spend").is_none());
        } else if path.contains("/address/") {
            assert_eq!((&before["tx_count"], &now["tx_count"]), (&json!(2), &json!(1)));
            assert_eq!((confirmed(before), confirmed(&now)), (1, 1));
        } else {
            assert_eq!(now, *before);
        }
    }
    let gone = rig.get(&format!("/api/v1/btc/tx/{}", waiting.txid)).await;
    assert_eq!((gone.status, reason(&gone).as_str()), (404, "NOT_FOUND"));
    // The same from the disk, after a restart of ours.
    rig.restart().await;
    assert_eq!(rig.get("/api/v1/btc/mempool").await.status, 503);
    let status = json(&rig.get("/api/v1/btc/status").await);
    assert_eq!((&status["in_sync"], &status["height"]), (&json!(false), &json!(1)));
    assert_eq!(status["best_hash"], block.hash.to_string());
    assert_eq!(json(&rig.get(&paths[3]).await), before[3]);
    // And it comes back, with a block that we have not.
    node.restart().await.unwrap();
    node.extend(&forge.mine(5000, &other, &[])).unwrap();
    rig.followed[0].stands(caught_up(2)).await;
    let answer = rig.get("/api/v1/btc/mempool").await;
    assert_eq!(json(&answer)["txids"], json!([waiting.txid.to_string()]));
}
