//! Nodes that do not do what they were asked for, and say nothing of it: what they leave out is a
//! hole, never nothing.

use replay::Take;
use serde_json::{Value, json};
use testkit::{AccountChain, StubAccounts};

use crate::account::rig::{Rig, options};

const TIP: &str = "0xb7796f46ece60853ea0fa55ef2371b7b3dfc43bebab515378e8cdc09e2f739cd";
/// A transaction with internal operations.
const WITH_CALLS: &str = "0x91f16ccc3dea475a2010d9e695d1f8e5f0ccde129e81f6653542421c28c3239a";

async fn recorded() -> StubAccounts {
    StubAccounts::start(AccountChain::recorded(Take::Anvil)).await
}

/// Every trace that it gives is that, whatever tracer was asked for.
fn ignores_the_tracer(node: &StubAccounts, gives: Value) {
    node.lack("trace_block", -32601, "Method not found");
    node.distort(Some(Box::new(move |method, _, found| {
        let mut found = found?;
        match method {
            "debug_traceTransaction" => return Ok(gives.clone()),
            "debug_traceBlockByHash" => {
                for one in found.as_array_mut().into_iter().flatten() {
                    *one = json!({"txHash": one["txHash"], "result": gives});
                }
            }
            _ => {}
        }
        Ok(found)
    })));
}

fn foreign() -> [Value; 3] {
    let log = json!({"pc": 0, "op": "STOP", "gas": 1, "gasCost": 0, "depth": 1, "stack": []});
    let logs = json!({"gas": 21000, "failed": false, "returnValue": "", "structLogs": [log]});
    // A frame that has no maker is none either.
    [logs, json!({}), json!({"type": "CALL", "value": "0x0"})]
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tracers_word_is_never_stored_as_none() {
    for gives in foreign() {
        let node = recorded().await;
        ignores_the_tracer(&node, gives.clone());
        let rig = Rig::start(&[node.url()], options()).await;
        rig.until("blocks", |view| view.tip().height == 20 && view.base() == 0).await;
        let asked = node.calls("debug_traceBlockByHash");
        for _ in 0..3000 {
            if node.calls("debug_traceBlockByHash") > asked.max(1) || node.calls("trace_block") > 0
            {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        let tx = rig.ok(&format!("tx/{WITH_CALLS}")).await;
        assert!(tx.get("internal_operations").is_none(), "{gives}: {tx}");
        let history = rig.ok(&format!("address/{}/txs", tx["from"].as_str().unwrap())).await;
        assert_eq!(history["coverage"]["traces"], false, "{gives}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hole_is_filled_by_another_node() {
    for gives in foreign() {
        let (bad, good) = (recorded().await, recorded().await);
        ignores_the_tracer(&bad, gives);
        let rig = Rig::start(&[bad.url(), good.url()], options()).await;
        rig.whole_at(TIP).await;
        let tx = rig.ok(&format!("tx/{WITH_CALLS}")).await;
        assert_eq!(tx["internal_operations"].as_array().unwrap().len(), 2);
    }
}

/// A trace that contradicts the receipt is of something else.
#[tokio::test(flavor = "multi_thread")]
async fn a_trace_that_contradicts_its_receipt_is_a_hole() {
    let (bad, good) = (recorded().await, recorded().await);
    bad.distort(Some(Box::new(|method, _, found| {
        let mut found = found?;
        if method == "debug_traceBlockByHash" {
            for one in found.as_array_mut().into_iter().flatten() {
                one["result"]["error"] = json!("out of gas");
            }
        }
        Ok(found)
    })));
    let rig = Rig::start(&[bad.url(), good.url()], options()).await;
    rig.whole_at(TIP).await;
    let tx = rig.ok(&format!("tx/{WITH_CALLS}")).await;
    assert_eq!(tx["internal_operations"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_that_claim_to_tell_of_tokens_are_skipped_alone_and_counted() {
    let chain = AccountChain::recorded(Take::Anvil);
    let claims = |log: &&Value| {
        let topics = ["0xddf252ad", "0xc3d58168", "0x4a39dc06"];
        let first = log["topics"][0].as_str().unwrap_or_default();
        topics.iter().any(|topic| first.starts_with(topic))
    };
    let receipts = chain.blocks.iter().flat_map(|block| block.receipts.as_array().unwrap());
    let receipts: Vec<&Value> = receipts.collect();
    let claim = receipts.iter().flat_map(|receipt| receipt["logs"].as_array().unwrap());
    let claim = claim.filter(claims).count();
    let node = StubAccounts::start(chain.clone()).await;
    let rig = Rig::start(&[node.url()], options()).await;
    rig.whole_at(TIP).await;
    let (mut told, mut logs) = (0, 0);
    for receipt in receipts {
        let tx = rig.ok(&format!("tx/{}", receipt["transactionHash"].as_str().unwrap())).await;
        // A batch of several is one log.
        let mut of: Vec<&Value> = tx["token_transfers"].as_array().unwrap().iter().collect();
        of.dedup_by_key(|it| (it["token"].clone(), it["standard"].clone(), it["from"].clone()));
        told += of.len();
        logs += tx["logs"].as_array().unwrap().len();
        assert_eq!(tx["logs"].as_array().unwrap().len(), receipt["logs"].as_array().unwrap().len());
    }
    assert!(logs > 0 && told > 0);
    // The recorded chain has four hostile ones.
    assert_eq!(rig.index.skipped_logs(), 4, "{claim} claim, {told} tell");
}
