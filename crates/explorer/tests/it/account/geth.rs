//! A live geth in developer mode, where there is one: transactions of every type, reorganisations by
//! `debug_setHead`, restarts in the middle of them.

use std::time::Duration;

use replay::Take;
use serde_json::{Value, json};
use testkit::{AccountChain, Geth, StartError};

use crate::account::invariants::{base_fees, invariants};
use crate::account::live::predeployed;
use crate::account::rig::{Rig, options};
use crate::account::signed::raw;
use crate::account::truth::{audited, hold, same_as_fresh, tip};

/// What a developer's geth has everything of at first.
const RICH: &str = "0x71562b71999873db5b286df957af199ec94617f7";

/// Waits until everything that was sent is in a block, or can never be.
async fn mined(node: &Geth) {
    for _ in 0..1500 {
        let pool = node.call("txpool_status", json!([])).await.unwrap();
        if pool["pending"] == "0x0" {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("something stays in the pool");
}

/// The height of the best block.
async fn height(node: &Geth) -> u64 {
    let height = node.call("eth_blockNumber", json!([])).await.unwrap();
    u64::from_str_radix(height.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

/// A transaction with a blob of nothing, signed by the node itself.
async fn send_blob(node: &Geth) {
    let nonce = node.call("eth_getTransactionCount", json!([RICH, "latest"])).await.unwrap();
    let blob = format!("0x{}", "00".repeat(131_072));
    let call = json!({
        "from": RICH, "to": RICH, "value": "0x1", "nonce": nonce, "gas": "0x5208",
        "maxFeePerGas": "0x2540be400", "maxPriorityFeePerGas": "0x1",
        "maxFeePerBlobGas": "0x3b9aca00", "blobs": [blob],
    });
    let signed = node.call("eth_signTransaction", json!([call])).await.unwrap();
    node.call("eth_sendRawTransaction", json!([signed["raw"]])).await.unwrap();
}

/// Sends some and mines them.
async fn pay(node: &Geth, payments: u64) {
    for n in 1..=payments {
        let to = format!("0x{:040x}", 0xaaaa_0000 + n);
        let call = json!({"from": RICH, "to": to, "value": format!("{n:#x}")});
        node.call("eth_sendTransaction", json!([call])).await.unwrap();
    }
    mined(node).await;
}

/// Takes blocks back and puts others in their place: as many, fewer or more.
async fn reorganise(node: &Geth, depth: u64, payments: u64) {
    let height = height(node).await;
    let to = height.saturating_sub(depth);
    node.call("debug_setHead", json!([format!("{to:#x}")])).await.unwrap();
    pay(node, payments).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn geth_is_followed_through_every_type_and_reorganisation() {
    // One was signed for any chain. States are asked for down to genesis, however many empty blocks
    // it makes meanwhile.
    let unprotected = "--rpc.allow-unprotected-txs";
    let archive = [unprotected, "--gcmode", "archive", "--state.scheme", "hash"];
    let node = match Geth::start(&archive).await {
        Ok(node) => node,
        Err(error @ StartError::Missing { .. }) => return println!("skipped: {error}"),
        Err(error) => panic!("{error}"),
    };
    let url = node.url();
    let mut rig = Rig::start(std::slice::from_ref(&url), options()).await;
    let recorded = AccountChain::recorded(Take::Main);
    for (step, block) in recorded.blocks.iter().enumerate() {
        for tx in block.body["transactions"].as_array().unwrap() {
            match raw(tx) {
                Some(raw) => drop(node.call("eth_sendRawTransaction", json!([raw])).await.unwrap()),
                None => send_blob(&node).await,
            }
        }
        mined(&node).await;
        if step % 7 == 6 {
            hold(&rig, &url, &format!("recorded block {step}")).await;
        }
    }
    hold(&rig, &url, "all that was recorded").await;
    let mut types = std::collections::BTreeSet::new();
    for at in 0..=height(&node).await {
        let (txs, _) = rig.walk(&format!("block/{at}/txs"), 50).await;
        types.extend(txs.iter().filter_map(|tx| tx["type"].as_u64()));
    }
    assert_eq!(types.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    for (round, (depth, payments)) in [(1, 1), (3, 2), (2, 5), (6, 1)].into_iter().enumerate() {
        let what = format!("reorganisation {round}");
        reorganise(&node, depth, payments).await;
        if round % 2 == 1 {
            rig = rig.restart(std::slice::from_ref(&url)).await;
        }
        hold(&rig, &url, &what).await;
    }
    assert!(rig.ok(&format!("address/{RICH}")).await["nonce"].as_u64() > Some(7));
    assert_eq!(rig.ok("status").await["best_hash"], Value::String(tip(&url).await));
    audited(&rig, &url, "at the end").await;
    invariants(&rig, 0, "at the end").await;
    base_fees(&rig, "at the end").await;
    // The roots of beacon blocks (EIP-4788), which stand in the genesis of such a chain.
    predeployed(&rig, "0x000f3df6d732807ef1319fb7b8bb8522d0beac02", "at the end").await;
    same_as_fresh(&rig, &url, "at the end").await;
}
