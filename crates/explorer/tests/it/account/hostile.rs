//! Nodes and contracts that mean no good: nothing false is stored, nothing is unbounded, and what is
//! sound is served.

use replay::Take;
use serde_json::{Value, json};
use testkit::{AccountBlock, AccountChain, StubAccounts};

use crate::account::rig::{Rig, options};

const TIP: &str = "0xb7796f46ece60853ea0fa55ef2371b7b3dfc43bebab515378e8cdc09e2f739cd";

fn word(n: u64) -> String {
    format!("0x{n:064x}")
}

/// A chain of the recorded genesis and one block with one transaction with these logs and trace.
fn chain_of(logs: Vec<Value>, trace: Value) -> AccountChain {
    let mut chain = AccountChain::recorded(Take::Anvil);
    chain.blocks.truncate(2);
    let block = &mut chain.blocks[1];
    let tx = block.body["transactions"][0].clone();
    block.body["transactions"] = json!([tx]);
    let mut receipt = block.receipts[0].clone();
    receipt["logs"] = Value::Array(logs);
    receipt["logsBloom"] = Value::Null;
    block.receipts = json!([receipt]);
    block.traces = json!([{"txHash": tx["hash"], "result": trace}]);
    chain
}

#[tokio::test(flavor = "multi_thread")]
async fn hundreds_of_thousands_of_logs_are_taken_and_shown() {
    let topic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
    let log = |n: u64| {
        json!({
            "address": format!("0x{:040x}", n % 7), "data": word(n),
            "topics": [topic, word(n), word(n + 1)],
        })
    };
    let trace = json!({"type": "CALL", "from": word(1)[26..], "value": "0x0"});
    let chain = chain_of((0..200_000).map(log).collect(), trace);
    let tip = chain.tip().hash().to_owned();
    let hash = chain.tip().body["transactions"][0]["hash"].as_str().unwrap().to_owned();
    let node = StubAccounts::start(chain).await;
    let rig = Rig::start(&[node.url()], options()).await;
    rig.whole_at(&tip).await;
    let tx = rig.ok(&format!("tx/{hash}")).await;
    assert_eq!(tx["token_transfers"].as_array().unwrap().len(), 200_000);
    let one = rig.ok(&format!("address/0x{:040x}/txs", 199_999)).await;
    assert_eq!(one["txs"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_as_deep_as_the_protocol_allows_is_told_whole() {
    let address = format!("0x{:040x}", 9);
    let frame = format!(r#"{{"type":"CALL","from":"{address}","to":"{address}","value":"0x1""#);
    let open = format!(r#"{frame},"calls":["#).repeat(1023);
    let mut chain = chain_of(Vec::new(), Value::Null);
    let hash = chain.tip().body["transactions"][0]["hash"].clone();
    let tree = format!("{open}{frame}}}{}", "]}".repeat(1023));
    chain.blocks[1].raw_traces = Some(format!(r#"[{{"txHash":{hash},"result":{tree}}}]"#));
    let tip = chain.tip().hash().to_owned();
    let hash = chain.tip().body["transactions"][0]["hash"].as_str().unwrap().to_owned();
    let node = StubAccounts::start(chain).await;
    let rig = Rig::start(&[node.url()], options()).await;
    rig.whole_at(&tip).await;
    let tx = rig.ok(&format!("tx/{hash}")).await;
    assert_eq!(tx["internal_operations"].as_array().unwrap().len(), 1023);
}

/// With this distortion nothing above genesis is stored; without it everything is.
async fn keeps_out(what: &str, distort: impl Fn(&mut AccountBlock) + Send + Sync + 'static) {
    let good = AccountChain::recorded(Take::Anvil);
    let mut bad = good.clone();
    for block in bad.blocks.iter_mut().skip(1) {
        distort(block);
    }
    let mut genesis = good.clone();
    genesis.blocks.truncate(1);
    let node = StubAccounts::start(genesis).await;
    let rig = Rig::start(&[node.url()], options()).await;
    rig.until("genesis", |view| view.tip().height == 0).await;
    node.show(bad);
    let before = node.calls("eth_getBlockReceipts");
    for _ in 0..3000 {
        if node.calls("eth_getBlockReceipts") > before + 8 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(rig.ok("status").await["height"], 0, "{what}");
    node.show(good);
    rig.whole_at(TIP).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn receipts_that_do_not_fit_their_block_are_never_stored() {
    keeps_out("one is missing", |block| {
        block.receipts.as_array_mut().unwrap().pop();
    })
    .await;
    keeps_out("they are of another block", |block| {
        for receipt in block.receipts.as_array_mut().unwrap() {
            receipt["blockHash"] = json!(word(7));
        }
    })
    .await;
    keeps_out("their order is another", |block| {
        block.receipts.as_array_mut().unwrap().reverse();
        if let [one] = &mut block.receipts.as_array_mut().unwrap()[..] {
            one["transactionHash"] = json!(word(7));
        }
    })
    .await;
    keeps_out("they are null", |block| block.receipts = Value::Null).await;
    keeps_out("their logs are left out", |block| {
        for receipt in block.receipts.as_array_mut().unwrap() {
            let bloom = receipt["logsBloom"].as_str().unwrap().replace('0', "1");
            (receipt["logs"], receipt["logsBloom"]) = (json!([]), json!(bloom));
        }
    })
    .await;
    keeps_out("they do not say whether it went well", |block| {
        for receipt in block.receipts.as_array_mut().unwrap() {
            receipt.as_object_mut().unwrap().remove("status");
        }
    })
    .await;
    keeps_out("a number is none", |block| {
        for receipt in block.receipts.as_array_mut().unwrap() {
            receipt["gasUsed"] = json!("0xzz");
        }
    })
    .await;
    keeps_out("fees have more than 256 bits", |block| {
        for receipt in block.receipts.as_array_mut().unwrap() {
            receipt["effectiveGasPrice"] = json!(format!("0x{}", "f".repeat(64)));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_lies_of_parents_moves_nothing() {
    let good = AccountChain::recorded(Take::Anvil);
    let mut bad = good.clone();
    let parent = word(3);
    bad.blocks[15].body["parentHash"] = json!(parent);
    let node = StubAccounts::start(bad).await;
    let rig = Rig::start(&[node.url()], options()).await;
    for _ in 0..3000 {
        if node.calls("eth_getBlockByNumber") > 100 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(rig.index.view().is_none());
    rig.refused("block/1", 503, "SERVICE_UNAVAILABLE").await;
    node.show(good);
    rig.whole_at(TIP).await;
}
