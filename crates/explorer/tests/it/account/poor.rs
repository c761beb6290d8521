//! Nodes that lack calls, have thrown old blocks away, or fail to trace: what can be answered is.

use replay::Take;
use serde_json::{Value, json};
use testkit::{AccountChain, StubAccounts};

use crate::account::rig::{Rig, options};

const FACTORY_MADE: &str = "0x3b02ff1e626ed7a8fd6ec5299e2c54e1421b626b";
const DEPLOYED: &str = "0x0165878a594ca255338adfa4d48449f69242eb8f";
/// A transaction with internal operations.
const WITH_CALLS: &str = "0x91f16ccc3dea475a2010d9e695d1f8e5f0ccde129e81f6653542421c28c3239a";

async fn based(rig: &Rig) {
    rig.until("blocks", |view| view.tip().height == 20 && view.base() == 0).await;
    for _ in 0..3000 {
        if rig.index.standing().in_sync {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("{:?}", rig.index.standing());
}

async fn check_poor(lacks: &[&str], code: i64, says: fn(&str) -> String) {
    let chain = AccountChain::recorded(Take::Anvil);
    let tip = chain.tip().hash().to_owned();
    let node = StubAccounts::start(chain.clone()).await;
    for method in lacks {
        node.lack(method, code, &says(method));
    }
    // A block is named by its height alone.
    node.distort(Some(Box::new(move |method, params, found| match &params[1] {
        Value::Object(_) if method.starts_with("eth_get") => {
            Err((-32602, "invalid type: map, expected a block number".into()))
        }
        Value::String(height) if height == "0x14" => {
            let key = json!([params[0], {"blockHash": tip}]).to_string();
            chain.said.get(&(method.to_owned(), key)).cloned().map_or(found, Ok)
        }
        _ => found,
    })));
    let rig = Rig::start(&[node.url()], options()).await;
    based(&rig).await;
    let status = rig.ok("status").await;
    assert!(status.get("mempool_count").is_none(), "{status}");
    assert!(status["account"].get("pending_tx_count").is_none());
    rig.refused("mempool", 503, "SERVICE_UNAVAILABLE").await;
    let tx = rig.ok(&format!("tx/{WITH_CALLS}")).await;
    assert!(tx.get("internal_operations").is_none(), "{tx}");
    assert_eq!((&tx["status"], &tx["log_count"]), (&json!("success"), &json!(1)));
    let history = rig.ok(&format!("address/{DEPLOYED}/txs")).await;
    let coverage = &history["coverage"];
    assert_eq!((&coverage["complete"], &coverage["traces"]), (&json!(true), &json!(false)));
    assert!(rig.ok(&format!("contract/{DEPLOYED}")).await["creator"].is_string());
    let made = rig.ok(&format!("contract/{FACTORY_MADE}")).await;
    assert!(made.get("creator").is_none() && made["coverage"].is_object(), "{made}");
    let hot = rig.ok("address/0x00000000000000000000000000000000000a11ce").await;
    assert_eq!((&hot["balance"], &hot["at_block"]), (&json!("7433"), &json!(20)));
    let unknown = format!("0x{}", "12".repeat(32));
    let waits = rig.get(&format!("tx/{unknown}")).await.status;
    assert_eq!(waits, 404);
    assert_eq!(rig.ok(&format!("search/{unknown}")).await, json!({"kind": "none"}));
    rig.ok("gas").await;
    for method in ["eth_getBlockReceipts", "txpool_status", "debug_traceBlockByHash"] {
        if lacks.contains(&method) {
            // Those that were under way at once may all have been told.
            assert!(
                node.calls(method) <= 16,
                "{method} was asked for {} times",
                node.calls(method)
            );
        }
    }
}

const LACKED: [&str; 7] = [
    "eth_getBlockReceipts",
    "debug_traceBlockByHash",
    "debug_traceTransaction",
    "trace_block",
    "txpool_status",
    "txpool_content",
    "eth_feeHistory",
];

#[tokio::test(flavor = "multi_thread")]
async fn hardhats_dialect_is_no_reason_for_a_5xx() {
    check_poor(&LACKED, -32004, |method| format!("Method {method} is not supported")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ganaches_dialect_is_no_reason_for_a_5xx() {
    check_poor(&LACKED, -32700, |method| format!("Method {method} not supported.")).await;
}

/// Receipts of a block are asked for by its hash alone: a height may mean another one by now.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_knows_receipts_by_height_alone_is_asked_for_each() {
    let node = StubAccounts::start(AccountChain::recorded(Take::Anvil)).await;
    let text = "invalid argument 0: hex string has length 64, want up to 16 for uint64";
    node.lack("eth_getBlockReceipts", -32602, text);
    let rig = Rig::start(&[node.url()], options()).await;
    rig.whole_at("0xb7796f46ece60853ea0fa55ef2371b7b3dfc43bebab515378e8cdc09e2f739cd").await;
    assert!(node.calls("eth_getBlockReceipts") <= 16);
    assert_eq!(rig.ok(&format!("tx/{WITH_CALLS}")).await["log_count"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn flat_traces_tell_what_trees_do() {
    let chain = AccountChain::recorded(Take::Anvil);
    let node = StubAccounts::start(chain).await;
    node.lack("debug_traceBlockByHash", -32601, "Method not found");
    let rig = Rig::start(&[node.url()], options()).await;
    based(&rig).await;
    // Two blocks were recorded so.
    for _ in 0..3000 {
        let tx = rig.ok(&format!("tx/{WITH_CALLS}")).await;
        if let Some(list) = tx["internal_operations"].as_array() {
            assert_eq!((list.len(), &list[1]["value"]), (2, &json!("7")));
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("it was not traced");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_node_has_pruned_is_never_taken_for_empty() {
    for by_null in [true, false] {
        let node = StubAccounts::start(AccountChain::recorded(Take::Anvil)).await;
        node.distort(Some(Box::new(move |method, params, found| {
            let height = params[0].as_str().and_then(|text| text.strip_prefix("0x"));
            let height = height.filter(|text| text.len() < 9);
            let height = height.and_then(|text| u64::from_str_radix(text, 16).ok());
            match (method, height) {
                ("eth_getBlockByNumber", Some(1..10)) if params[1] == true && by_null => {
                    Ok(Value::Null)
                }
                ("eth_getBlockByNumber", Some(1..10)) if params[1] == true => {
                    Err((4444, "pruned history unavailable".into()))
                }
                _ => found,
            }
        })));
        let few = index::account::SyncOptions { first_blocks: 3, ..options() };
        let rig = Rig::start(&[node.url()], few).await;
        rig.until("filled down to what is there", |view| view.base() == 10).await;
        let history = rig.ok("address/0x00000000000000000000000000000000000a11ce/txs").await;
        assert_eq!(history["coverage"]["from_height"], 10);
        assert_eq!(history["coverage"]["complete"], false);
        rig.refused("block/5", 503, "SERVICE_UNAVAILABLE").await;
        assert_eq!(rig.ok("block/10").await["tx_count"], 1);
        let list = rig.ok("blocks?start=11").await;
        assert_eq!(list.as_array().unwrap().len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_trace_that_fails_lowers_coverage_until_it_comes() {
    let node = StubAccounts::start(AccountChain::recorded(Take::Anvil)).await;
    let fail = |method: &str, params: &Value, found: Result<Value, (i64, String)>| {
        if method == "debug_traceTransaction" && params[0] == WITH_CALLS {
            return Err((-32000, "execution timeout".into()));
        }
        let mut found = found?;
        for one in found.as_array_mut().into_iter().flatten() {
            if one["txHash"] == WITH_CALLS {
                *one = json!({"txHash": WITH_CALLS, "error": "execution timeout"});
            }
        }
        Ok(found)
    };
    node.distort(Some(Box::new(fail)));
    let rig = Rig::start(&[node.url()], options()).await;
    rig.until("all but one is traced", |view| {
        let coverage = view.coverage(index::Tier::Any).unwrap();
        coverage.complete && coverage.traces_from_height == Some(7)
    })
    .await;
    assert!(rig.ok(&format!("tx/{WITH_CALLS}")).await.get("internal_operations").is_none());
    node.distort(None);
    rig.whole_at("0xb7796f46ece60853ea0fa55ef2371b7b3dfc43bebab515378e8cdc09e2f739cd").await;
    let tx = rig.ok(&format!("tx/{WITH_CALLS}")).await;
    assert_eq!(tx["internal_operations"].as_array().unwrap().len(), 2);
}
