//! Everything that is known of the recorded chain, asked over HTTP.

use replay::Phase;
use serde_json::{Value, json};

use crate::ring::rig::{Rig, file, items, text};

/// A value without some of its members.
fn without(value: &Value, names: &[&str]) -> Value {
    let mut value = value.clone();
    names.iter().for_each(|name| drop(value.as_object_mut().unwrap().remove(*name)));
    value
}

/// The members that a list shows of a transaction.
fn listed(transaction: &Value) -> Value {
    without(transaction, &["input_count", "inputs", "output_count", "outputs"])
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_says_what_the_node_said() {
    let (_node, rig) = Rig::recorded(Phase::A).await;
    let status = rig.ok("status").await;
    let expected = &file("expected.json")["status"];
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(status[name], *value, "{name}");
    }
    let rest = json!({
        "chain": "xmr", "decimals": 12, "family": "ring", "name": "Monero", "network": "regtest",
        "symbol": "XMR",
    });
    let names: Vec<&str> = expected.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(without(&status, &names), rest);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_block_is_found_by_height_and_by_hash() {
    let (_node, rig) = Rig::recorded(Phase::A).await;
    let expected = file("expected.json");
    let blocks = items(&expected["blocks"]);
    assert_eq!(blocks.len(), 171);
    for block in blocks {
        let shown = without(block, &["txs", "size_bytes_header_plus_txs"]);
        let hash = text(&block["hash"]);
        assert_eq!(rig.ok(&format!("block/{}", block["height"])).await, shown);
        assert_eq!(rig.ok(&format!("block/{}", hash.to_uppercase())).await, shown);
        let found = json!({"kind": "block", "hash": hash, "height": block["height"]});
        assert_eq!(rig.ok(&format!("search/{hash}")).await, found);
        assert_eq!(rig.ok(&format!("search/{}", block["height"])).await, found);
    }
    // A list of them from the tip down, and from anywhere.
    let summaries: Vec<Value> = blocks
        .iter()
        .map(|block| {
            without(block, &["txs", "size_bytes_header_plus_txs", "reward", "confirmations"])
        })
        .rev()
        .collect();
    assert_eq!(rig.ok("blocks").await, json!(summaries[..10]));
    let mut walked = Vec::new();
    while walked.len() < blocks.len() {
        let start = 170 - walked.len();
        walked.extend(items(&rig.ok(&format!("blocks?limit=25&start={start}")).await).clone());
    }
    assert_eq!(walked, summaries);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_transaction_of_every_block_is_listed_in_its_order() {
    let (_node, rig) = Rig::recorded(Phase::A).await;
    let expected = file("expected.json");
    let known: Vec<Value> = items(&expected["transactions"])
        .iter()
        .map(listed)
        .chain(items(&expected["coinbases"]).iter().cloned())
        .collect();
    let (mut coinbases, mut seen) = (0, 0);
    for block in items(&expected["blocks"]) {
        let ids = items(&block["txs"]);
        let mut all = Vec::new();
        for page in 1..=ids.len() {
            let path = format!("block/{}/txs?page={page}&page_size=1", text(&block["hash"]));
            let one = rig.ok(&path).await;
            assert_eq!((&one["page"], &one["total_pages"]), (&json!(page), &json!(ids.len())));
            assert_eq!((&one["tip_height"], &one["tx_count"]), (&json!(170), &json!(ids.len())));
            assert_eq!(one["tip_hash"], expected["status"]["best_hash"]);
            all.extend(items(&one["txs"]).clone());
        }
        let whole = rig.ok(&format!("block/{}/txs", block["height"])).await;
        assert_eq!(*items(&whole["txs"]), all);
        for (place, (tx, id)) in all.iter().zip(ids).enumerate() {
            assert_eq!((&tx["hash"], &tx["block_height"]), (id, &block["height"]));
            assert_eq!(tx["coinbase"] == json!(true), place == 0);
            coinbases += usize::from(place == 0);
            if let Some(known) = known.iter().find(|known| known["hash"] == *id) {
                assert_eq!(tx, known);
                seen += 1;
            }
            let alone = rig.ok(&format!("tx/{}", text(id))).await;
            assert_eq!(listed(&alone), *tx, "one transaction looks alike everywhere");
        }
        let past = rig.ok(&format!("block/{}/txs?page=9", block["height"])).await;
        assert_eq!((&past["txs"], &past["page"]), (&json!([]), &json!(9)));
    }
    assert_eq!((coinbases, seen), (171, 17 + 7));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_transaction_is_shown_with_its_rings() {
    let (_node, rig) = Rig::recorded(Phase::A).await;
    let expected = file("expected.json");
    let (mut rings, mut members) = (0, 0);
    for transaction in items(&expected["transactions"]) {
        let hash = text(&transaction["hash"]);
        let found = rig.ok(&format!("tx/{}", hash.to_uppercase())).await;
        let waits = transaction.get("block_height").is_none();
        // When it was seen first is ours to say.
        let own: &[&str] = if waits { &["time"] } else { &[] };
        assert_eq!(without(&found, own), without(transaction, own));
        assert!(found["time"].is_u64());
        for input in items(&found["inputs"]) {
            rings += 1;
            members += items(&input["ring"]).len();
        }
        let mut meaning = json!({"kind": "tx", "hash": hash});
        if !waits {
            meaning["height"] = transaction["block_height"].clone();
        }
        assert_eq!(rig.ok(&format!("search/{hash}")).await, meaning);
    }
    assert_eq!((rings, members), (39, 39 * 16));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coinbase_has_no_inputs_and_shows_its_amounts() {
    let (_node, rig) = Rig::recorded(Phase::A).await;
    for coinbase in items(&file("expected.json")["coinbases"]) {
        let found = rig.ok(&format!("tx/{}", text(&coinbase["hash"]))).await;
        assert_eq!(listed(&found), *coinbase);
        assert_eq!((&found["inputs"], &found["input_count"]), (&json!([]), &json!(1)));
        let outputs = items(&found["outputs"]);
        assert_eq!(found["output_count"], outputs.len());
        let sum: u64 = outputs.iter().map(|it| text(&it["amount"]).parse::<u64>().unwrap()).sum();
        assert_eq!(coinbase["visible_out"], sum.to_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mempool_lists_newest_first_on_pages_that_stay() {
    let (_node, rig) = Rig::recorded(Phase::A).await;
    let expected = file("expected.json");
    let waiting = items(&expected["transactions"]).iter();
    let mut waiting: Vec<Value> = waiting
        .filter(|it| it.get("block_height").is_none())
        .map(|it| without(&listed(it), &["time"]))
        .collect();
    let whole = rig.ok("mempool").await;
    assert_eq!(
        without(&whole, &["txs"]),
        json!({
            "page": 1, "total_pages": 1, "tx_count": 2, "tip_height": 170,
            "tip_hash": expected["status"]["best_hash"],
        })
    );
    let txs = items(&whole["txs"]);
    let turn = |tx: &Value| (std::cmp::Reverse(tx["time"].as_u64()), text(&tx["hash"]).to_owned());
    assert!(txs.is_sorted_by_key(turn), "{txs:?}");
    let mut found: Vec<Value> = txs.iter().map(|tx| without(tx, &["time"])).collect();
    let hash = |tx: &Value| text(&tx["hash"]).to_owned();
    found.sort_by_key(hash);
    waiting.sort_by_key(hash);
    assert_eq!(found, waiting);
    for page in 1..=3 {
        let one = rig.ok(&format!("mempool?page={page}&page_size=1")).await;
        let expected: Vec<&Value> = txs.iter().skip(page - 1).take(1).collect();
        assert_eq!((&one["txs"], &one["total_pages"]), (&json!(expected), &json!(2)));
    }
}
