//! The audit of an index with a node: what is the same is called so, and every lie is told.

use index::account::Incomparable;
use replay::Take;
use serde_json::{Value, json};
use testkit::{AccountChain, StubAccounts};

use crate::account::rig::{Rig, options};

const TIP: &str = "0xb7796f46ece60853ea0fa55ef2371b7b3dfc43bebab515378e8cdc09e2f739cd";

async fn compared(node: &StubAccounts, rig: &Rig) -> Vec<String> {
    rig.compare(&node.url(), false).await.unwrap().faults
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_says_otherwise_is_told_apart_from_one_that_says_the_same() {
    let chain = AccountChain::recorded(Take::Anvil);
    let node = StubAccounts::start(chain.clone()).await;
    let rig = Rig::start(&[node.url()], options()).await;
    rig.whole_at(TIP).await;
    let same = rig.compare(&node.url(), true).await.unwrap();
    assert_eq!((same.faults, same.fault_count), (Vec::new(), 0));
    assert_eq!((same.blocks, same.traces, same.not_compared), (21, 13, 0));
    // Of another node, one lie after the other.
    let lies: [fn(&mut AccountChain); 5] = [
        |chain| chain.blocks[3].body["gasLimit"] = json!("0x1"),
        |chain| chain.blocks[3].body["hash"] = json!(format!("0x{}", "11".repeat(32))),
        |chain| {
            let tx = &mut chain.blocks[2].body["transactions"][0];
            tx["nonce"] = json!("0x77");
        },
        |chain| {
            let logs = chain
                .blocks
                .iter_mut()
                .flat_map(|block| block.receipts.as_array_mut().into_iter().flatten());
            let mut logs = logs.flat_map(|receipt| receipt["logs"].as_array_mut().unwrap());
            logs.next().unwrap()["data"] = json!("0x01");
        },
        |chain| {
            let traces = chain
                .blocks
                .iter_mut()
                .flat_map(|block| block.traces.as_array_mut().into_iter().flatten());
            let mut calls = traces.filter_map(|trace| trace["result"].get_mut("calls"));
            *calls.next().unwrap() = json!([]);
        },
    ];
    for (n, lie) in lies.into_iter().enumerate() {
        let mut lying = chain.clone();
        lie(&mut lying);
        let other = StubAccounts::start(lying).await;
        let faults = match rig.compare(&other.url(), false).await {
            Ok(compared) => compared.faults,
            // Receipts that are of another block are no block.
            Err(Incomparable::Node(text)) => vec![text],
            Err(error) => panic!("{error}"),
        };
        assert!(!faults.is_empty(), "lie {n}");
    }
    assert_eq!(compared(&node, &rig).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_elsewhere_or_without_the_past_is_no_fault() {
    let chain = AccountChain::recorded(Take::Anvil);
    let node = StubAccounts::start(chain.clone()).await;
    let rig = Rig::start(&[node.url()], options()).await;
    rig.whole_at(TIP).await;
    let mut shorter = chain.clone();
    shorter.blocks.truncate(10);
    let behind = StubAccounts::start(shorter).await;
    let refused = rig.compare(&behind.url(), true).await;
    assert!(matches!(refused, Err(Incomparable::OtherBlock)), "{refused:?}");
    node.distort(Some(Box::new(|method, params, found| {
        let height = params[0].as_str().unwrap_or_default();
        match (method, height) {
            ("eth_getBlockByNumber", "0x1" | "0x2") if params[1] == true => Ok(Value::Null),
            ("debug_traceBlockByHash", _) => Err((-32000, "missing trie node".into())),
            _ => found,
        }
    })));
    let compared = rig.compare(&node.url(), true).await.unwrap();
    assert_eq!((compared.fault_count, compared.blocks, compared.traces), (0, 19, 0));
    assert!(compared.not_compared >= 2);
}
