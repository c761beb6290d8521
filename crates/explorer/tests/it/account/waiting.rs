//! Transactions on their way from the pool into a block.

use std::time::Duration;

use replay::Take;
use serde_json::{Value, json};
use testkit::{AccountChain, StubAccounts};

use crate::account::rig::{Rig, options};

const TIP: &str = "0xb7796f46ece60853ea0fa55ef2371b7b3dfc43bebab515378e8cdc09e2f739cd";

/// The recorded chain, the first transaction of its pool, and the place of that there.
fn waits() -> (AccountChain, Value) {
    let chain = AccountChain::recorded(Take::Anvil);
    let content = &chain.said[&("txpool_content".to_owned(), "[]".to_owned())];
    let senders = content["pending"].as_object().unwrap().values();
    let tx = senders.flat_map(|queue| queue.as_object().unwrap().values()).next().unwrap();
    let tx = tx.clone();
    (chain, tx)
}

/// The same without that transaction in the pool.
fn taken(chain: &AccountChain, tx: &Value) -> AccountChain {
    let mut chain = chain.clone();
    let content = chain.said.get_mut(&("txpool_content".to_owned(), "[]".to_owned())).unwrap();
    for queue in content["pending"].as_object_mut().unwrap().values_mut() {
        queue.as_object_mut().unwrap().retain(|_, one| one["hash"] != tx["hash"]);
    }
    chain
}

/// The same with a block that has it.
fn mined(chain: &AccountChain, tx: &Value) -> AccountChain {
    let mut chain = taken(chain, tx);
    let mut block = chain.tip().clone();
    let hash = format!("0x{}", "5e".repeat(32));
    block.body["parentHash"] = json!(chain.tip().hash());
    block.body["hash"] = json!(hash);
    block.body["number"] = json!("0x15");
    let mut tx = tx.clone();
    (tx["blockHash"], tx["blockNumber"]) = (json!(hash), json!("0x15"));
    tx["transactionIndex"] = json!("0x0");
    let from = tx["from"].clone();
    block.receipts = json!([{
        "transactionHash": tx["hash"], "blockHash": hash, "transactionIndex": "0x0",
        "status": "0x1", "gasUsed": "0x5208", "effectiveGasPrice": "0x64", "logs": [],
        "contractAddress": format!("0x{}", "c0".repeat(20)),
    }]);
    block.traces = json!([{"txHash": tx["hash"], "result": {"type": "CALL", "from": from}}]);
    block.body["transactions"] = json!([tx]);
    chain.blocks.push(block);
    chain
}

async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..3000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_was_mined_is_never_unknown() {
    let (chain, tx) = waits();
    let path = format!("tx/{}", tx["hash"].as_str().unwrap());
    let node = StubAccounts::start(chain.clone()).await;
    let rig = Rig::start(&[node.url()], options()).await;
    rig.whole_at(TIP).await;
    assert_eq!(rig.ok(&path).await["status"], "pending");
    // It is in a block, whose receipts the node has not yet.
    node.hold("eth_getBlockReceipts");
    node.show(mined(&chain, &tx));
    let looked = node.calls("txpool_content");
    eventually("the pool is read again", async || {
        assert_eq!(rig.ok(&path).await["status"], "pending");
        node.calls("txpool_content") > looked
    })
    .await;
    let mempool = rig.ok("mempool").await;
    assert!(mempool["txs"].as_array().unwrap().iter().all(|it| it["hash"] != tx["hash"]));
    assert_eq!(rig.ok(&path).await["status"], "pending");
    assert_eq!(rig.ok("status").await["height"], 20);
    node.release("eth_getBlockReceipts");
    eventually("it is in a block", async || rig.ok(&path).await["status"] == "success").await;
    assert_eq!(rig.ok(&path).await["block_height"], 21);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_was_dropped_waits_no_longer() {
    let (chain, tx) = waits();
    let path = format!("tx/{}", tx["hash"].as_str().unwrap());
    let node = StubAccounts::start(chain.clone()).await;
    let rig = Rig::start(&[node.url()], options()).await;
    rig.whole_at(TIP).await;
    assert_eq!(rig.ok(&path).await["status"], "pending");
    node.show(taken(&chain, &tx));
    eventually("it is gone", async || rig.get(&path).await.status == 404).await;
    rig.refused(&path, 404, "NOT_FOUND").await;
    assert_eq!(rig.ok(&format!("search/{}", &path[3..])).await, json!({"kind": "none"}));
}
