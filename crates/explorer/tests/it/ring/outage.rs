//! A node that is gone: what the index holds is served all the same, keys are checked too.

use std::time::Duration;

use explorer::Settings;
use replay::Phase;
use serde_json::{Value, json};

use crate::ring::rig::{Rig, body, file, items, refused, text};

/// Paths that need no node, with a transaction and a block.
fn paths() -> Vec<String> {
    let expected = file("expected.json");
    let mut paths = vec!["blocks".to_owned(), "block/131".into(), "search/131".into()];
    for transaction in items(&expected["transactions"]) {
        if transaction.get("block_height").is_some() {
            paths.push(format!("tx/{}", text(&transaction["hash"])));
            paths.push(format!("block/{}/txs", transaction["block_height"]));
        }
    }
    paths
}

async fn all(rig: &Rig) -> Vec<Value> {
    let mut all = Vec::new();
    for path in paths() {
        all.push(rig.ok(&path).await);
    }
    all
}

/// What the recorded checks of confirmed transactions find.
async fn checks(rig: &Rig) -> Vec<Value> {
    let cases = file("check.json");
    let mut found = Vec::new();
    for case in items(&cases["cases"]).iter().filter(|case| case["in_pool"] == false).step_by(5) {
        let (hash, address) = (text(&case["tx_hash"]), text(&case["address"]));
        let answer = rig.check(hash, address, text(&case["kind"]), text(&case["key"])).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        found.push(body(&answer));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_is_served_while_no_node_answers() {
    let (node, rig) = Rig::recorded(Phase::A).await;
    let (before, checked) = (all(&rig).await, checks(&rig).await);
    drop(node);
    assert_eq!((all(&rig).await, checks(&rig).await), (before.clone(), checked.clone()));
    // The same from the disk, where the pool of the node was never heard.
    let rows = rig.end().await;
    let nobody = format!("http://127.0.0.1:{}", testkit::free_port().unwrap());
    let rig = Rig::on(rows, nobody, Settings::default()).await;
    rig.until("rows", |view| view.height() == 170).await;
    assert_eq!((all(&rig).await, checks(&rig).await), (before, checked));
    let pool = rig.get("mempool").await;
    refused(&pool, 503, "SERVICE_UNAVAILABLE", "mempool");
    assert_eq!(pool.header("retry-after"), Some("5"));
    let status = rig.ok("status").await;
    assert_eq!((&status["height"], &status["in_sync"]), (&json!(170), &json!(false)));
    assert_eq!(status["mempool_count"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_without_a_block_says_when_to_come_back() {
    let nobody = format!("http://127.0.0.1:{}", testkit::free_port().unwrap());
    let rig = Rig::start(nobody).await;
    let expected = json!({
        "chain": "xmr", "decimals": 12, "family": "ring", "height": 0, "in_sync": false,
        "mempool_count": 0, "name": "Monero", "network": "regtest", "symbol": "XMR",
    });
    tokio::time::timeout(Duration::from_secs(60), async {
        while rig.ok("status").await != expected {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .unwrap();
    let hash = "7".repeat(64);
    for path in ["blocks", "block/1", "block/1/txs", &format!("tx/{hash}"), "search/1", "mempool"] {
        let answer = rig.get(path).await;
        refused(&answer, 503, "SERVICE_UNAVAILABLE", path);
        assert_eq!(answer.header("retry-after"), Some("30"), "{path}");
    }
    let (path, case) = (format!("tx/{hash}/outputs/check"), &file("check.json")["cases"][0]);
    let good = json!({"address": case["address"], "key": case["key"], "kind": case["kind"]});
    refused(&rig.post(&path, good.to_string().as_bytes()).await, 503, "SERVICE_UNAVAILABLE", "");
    // What is malformed is so at any time.
    refused(&rig.post(&path, b"{}").await, 400, "BAD_REQUEST", "");
    for path in ["block/x", "tx/x", "blocks?limit=0", "block/1/txs?page=0", "mempool?page=0"] {
        rig.refused(path, 400, "BAD_REQUEST").await;
    }
    rig.refused("address/x", 404, "NOT_ON_THIS_CHAIN").await;
}
