//! What a node lacks, has thrown away or has spoilt: another node is asked, and it again later.

use std::time::Duration;

use index::account::SyncOptions;
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

/// Asks soon again.
fn soon() -> SyncOptions {
    SyncOptions { retry_after: Duration::from_millis(200), first_blocks: 3, ..options() }
}

fn height(params: &Value) -> Option<u64> {
    let digits = params[0].as_str()?.strip_prefix("0x").filter(|digits| digits.len() < 9)?;
    u64::from_str_radix(digits, 16).ok()
}

/// It has thrown the blocks below 10 away.
fn prunes(node: &StubAccounts) {
    node.distort(Some(Box::new(|method, params, found| match (method, height(params)) {
        ("eth_getBlockByNumber", Some(1..10)) if params[1] == true => {
            Err((4444, "pruned history unavailable".into()))
        }
        _ => found,
    })));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_node_has_pruned_another_one_has() {
    let (pruned, archive) = (recorded().await, recorded().await);
    prunes(&pruned);
    // It is not asked in vain over and over.
    let few = SyncOptions { first_blocks: 3, ..options() };
    let rig = Rig::start(&[pruned.url(), archive.url()], few).await;
    rig.whole_at(TIP).await;
    assert_eq!(rig.ok("block/5").await["tx_count"], 15);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_pruned_is_asked_for_again() {
    let node = recorded().await;
    prunes(&node);
    let rig = Rig::start(&[node.url()], soon()).await;
    rig.until("filled down to what is there", |view| view.base() == 10).await;
    assert_eq!(rig.ok("block/10").await["tx_count"], 1);
    // Its archive was mounted.
    node.distort(None);
    rig.whole_at(TIP).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_a_node_lacks_are_tried_again_later() {
    let node = recorded().await;
    let lacked = ["debug_traceBlockByHash", "trace_block", "txpool_status", "txpool_content"];
    for method in lacked {
        node.lack(method, -32601, "the method does not exist/is not available");
    }
    let rig = Rig::start(&[node.url()], soon()).await;
    rig.until("blocks", |view| view.tip().height == 20 && view.base() == 0).await;
    rig.refused("mempool", 503, "SERVICE_UNAVAILABLE").await;
    assert!(rig.ok("status").await.get("mempool_count").is_none());
    assert!(rig.ok(&format!("tx/{WITH_CALLS}")).await.get("internal_operations").is_none());
    // The operator started it anew with more of `--http.api`.
    lacked.iter().for_each(|method| node.regain(method));
    rig.whole_at(TIP).await;
    let tx = rig.ok(&format!("tx/{WITH_CALLS}")).await;
    assert_eq!(tx["internal_operations"].as_array().unwrap().len(), 2);
    for _ in 0..3000 {
        let status = rig.ok("status").await;
        let pool = rig.get("mempool").await.status;
        if (&status["mempool_count"], pool) == (&json!(5), 200) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the pool is not shown");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_a_node_lacks_are_not_tried_over_and_over() {
    let node = recorded().await;
    node.lack("debug_traceBlockByHash", -32601, "Method not found");
    node.lack("trace_block", -32601, "Method not found");
    let rig = Rig::start(&[node.url()], options()).await;
    rig.until("blocks", |view| view.tip().height == 20 && view.base() == 0).await;
    // So many rounds passed meanwhile.
    let rounds = node.calls("eth_getBlockByNumber");
    while node.calls("eth_getBlockByNumber") < rounds + 30 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Those that were under way at once may all have been told.
    assert!(node.calls("debug_traceBlockByHash") <= 8);
    assert!(node.calls("trace_block") <= 8);
}

/// A node whose receipts are not those of its blocks holds nobody up who has another one.
#[tokio::test(flavor = "multi_thread")]
async fn blocks_that_one_node_spoils_are_taken_of_another() {
    let (bad, good) = (recorded().await, recorded().await);
    bad.distort(Some(Box::new(|method, _, found| {
        let mut found = found?;
        if method == "eth_getBlockReceipts" {
            found.as_array_mut().into_iter().for_each(|receipts| drop(receipts.pop()));
        }
        Ok(found)
    })));
    for first_blocks in [3, 1000] {
        let few = SyncOptions { first_blocks, ..options() };
        let rig = Rig::start(&[bad.url(), good.url()], few).await;
        rig.whole_at(TIP).await;
    }
}

/// The past does not take the room that the tip needs.
#[tokio::test(flavor = "multi_thread")]
async fn filling_in_the_past_leaves_room_for_the_tip() {
    let mut chain = AccountChain::recorded(Take::Anvil);
    let last = chain.blocks.pop().unwrap();
    let node = StubAccounts::start(chain.clone()).await;
    let disk = rustix::fs::statvfs(std::env::temp_dir().as_path()).unwrap();
    let free = disk.f_bavail * disk.f_frsize;
    // Enough for the tip, and not twice as much.
    let narrow = SyncOptions { least_free_bytes: free / 10 * 6, first_blocks: 3, ..options() };
    let rig = Rig::start(&[node.url()], narrow).await;
    rig.until("the tip", |view| view.tip().height == 19).await;
    assert!(rig.index.is_filling());
    chain.blocks.push(last);
    node.show(chain);
    rig.until("the next tip", |view| view.tip().height == 20).await;
    assert_eq!(rig.index.view().unwrap().base(), 17);
    rig.refused("block/5", 503, "SERVICE_UNAVAILABLE").await;
}
