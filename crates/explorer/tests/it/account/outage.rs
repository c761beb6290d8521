//! Nodes that go away, fall behind or leave what was final.

use std::time::Duration;

use chain::account::Hash;
use replay::Take;
use serde_json::{Value, json};
use testkit::{AccountChain, StubAccounts};

use crate::account::rig::{Rig, options};

const TIP: &str = "0xb7796f46ece60853ea0fa55ef2371b7b3dfc43bebab515378e8cdc09e2f739cd";
const HOT: &str = "0x00000000000000000000000000000000000a11ce";

/// The recorded chain up to a height.
fn up_to(height: usize) -> AccountChain {
    let mut chain = AccountChain::recorded(Take::Anvil);
    chain.blocks.truncate(height + 1);
    chain
}

/// The same with other blocks from `from` on, which hold nothing.
fn forked(chain: &AccountChain, from: usize, to: usize, mark: u8) -> AccountChain {
    let mut forked = chain.clone();
    forked.blocks.truncate(from);
    for height in from..=to {
        let mut block = chain.blocks[from - 1].clone();
        block.body["transactions"] = json!([]);
        block.receipts = json!([]);
        block.traces = json!([]);
        block.body["number"] = json!(format!("{height:#x}"));
        block.body["parentHash"] = json!(forked.tip().hash());
        block.body["hash"] = json!(Hash([mark ^ height as u8; 32]).to_string());
        forked.blocks.push(block);
    }
    forked
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
async fn what_is_held_is_served_while_no_node_answers() {
    let node = StubAccounts::start(up_to(20)).await;
    let rig = Rig::start(&[node.url()], options()).await;
    rig.whole_at(TIP).await;
    assert_eq!(rig.ok(&format!("address/{HOT}")).await["balance"], "7433");
    rig.ok("gas").await;
    drop(node);
    eventually("the node is gone", async || rig.get(&format!("address/{HOT}")).await.status == 503)
        .await;
    rig.refused(&format!("address/{HOT}"), 503, "SERVICE_UNAVAILABLE").await;
    assert_eq!(rig.ok("block/13").await["tx_count"], 25);
    assert_eq!(rig.walk(&format!("address/{HOT}/txs"), 50).await.0.len(), 89);
    // What was told of this very tip holds on.
    assert_eq!(rig.ok("gas").await["next_base_fee"], "85632408");
    let tx = "0x7caef98bc5e7d4789ab3ac7b77d0a46888afceb435e67cf4336e571fe9a6f017";
    assert_eq!(rig.ok(&format!("tx/{tx}")).await["status"], "success");
    let made = "contract/0x3b02ff1e626ed7a8fd6ec5299e2c54e1421b626b";
    assert!(rig.ok(made).await["creator"].is_string());
    assert_eq!(rig.ok("status").await["height"], 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_node_goes_on_where_the_first_has_left() {
    let (first, second) =
        (StubAccounts::start(up_to(15)).await, StubAccounts::start(up_to(15)).await);
    let rig = Rig::start(&[first.url(), second.url()], options()).await;
    let middle = up_to(15).tip().hash().to_owned();
    rig.whole_at(&middle).await;
    drop(first);
    second.show(up_to(20));
    rig.whole_at(TIP).await;
    assert_eq!(rig.ok(&format!("address/{HOT}")).await["at_block"], 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_that_one_node_has_spoilt_is_taken_from_another() {
    let (first, second) =
        (StubAccounts::start(up_to(12)).await, StubAccounts::start(up_to(0)).await);
    let rig = Rig::start(&[first.url(), second.url()], options()).await;
    // Only the first one has these.
    rig.whole_at(up_to(12).tip().hash()).await;
    let mut spoilt = up_to(20);
    for block in spoilt.blocks.iter_mut().skip(13) {
        block.receipts = json!([]);
    }
    first.show(spoilt);
    second.show(up_to(20));
    rig.whole_at(TIP).await;
    assert_eq!(rig.walk(&format!("address/{HOT}/txs"), 50).await.0.len(), 89);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_node_has_pruned_or_spoilt_of_the_past_is_taken_from_another() {
    for spoils in [false, true] {
        let (first, second) =
            (StubAccounts::start(up_to(20)).await, StubAccounts::start(up_to(0)).await);
        first.distort(Some(Box::new(move |method, params, found| {
            let old = (1..10).any(|height| params[0] == format!("{height:#x}"));
            match (method, params[1] == true && old) {
                ("eth_getBlockByNumber", true) if spoils => Ok(json!({"number": "0x1"})),
                ("eth_getBlockByNumber", true) => Err((4444, "pruned history unavailable".into())),
                _ => found,
            }
        })));
        let few = index::account::SyncOptions { first_blocks: 3, ..options() };
        let rig = Rig::start(&[first.url(), second.url()], few).await;
        rig.until("filled down to what is there", |view| view.base() == 10).await;
        second.show(up_to(20));
        rig.whole_at(TIP).await;
        assert_eq!(rig.walk(&format!("address/{HOT}/txs"), 50).await.0.len(), 89);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_longer_branch_from_far_below_is_taken_whole() {
    let chain = up_to(20);
    let node = StubAccounts::start(chain.clone()).await;
    let rig = Rig::start(&[node.url()], options()).await;
    rig.whole_at(TIP).await;
    let other = forked(&chain, 3, 40, 0x5a);
    node.show(other.clone());
    let mut seen = Vec::new();
    for _ in 0..3000 {
        let height = rig.ok("status").await["height"].as_u64().unwrap();
        seen.push(height);
        if height == 40 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    // A reorganisation is seen whole or not at all.
    assert!(seen.iter().all(|height| *height >= 20), "{seen:?}");
    rig.whole_at(other.tip().hash()).await;
    assert_eq!(rig.walk(&format!("address/{HOT}/txs"), 50).await.0.len(), 0);
    node.show(chain);
    rig.whole_at(TIP).await;
    assert_eq!(rig.walk(&format!("address/{HOT}/txs"), 50).await.0.len(), 89);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_that_became_shorter_is_followed() {
    let node = StubAccounts::start(up_to(20)).await;
    let rig = Rig::start(&[node.url()], options()).await;
    rig.whole_at(TIP).await;
    let shorter = up_to(12);
    node.show(shorter.clone());
    rig.whole_at(shorter.tip().hash()).await;
    rig.refused("block/13", 404, "NOT_FOUND").await;
    assert_eq!(rig.walk(&format!("address/{HOT}/txs"), 50).await.0.len(), 64);
}

/// The recorded chain as if it were a public network, where what is final stays.
fn public(mut chain: AccountChain) -> AccountChain {
    let network = chain::find("eth").unwrap().network("sepolia").unwrap();
    let genesis = network.genesis.unwrap();
    chain.blocks[0].body["hash"] = json!(genesis);
    chain.blocks[1].body["parentHash"] = json!(genesis);
    let id = json!(format!("{:#x}", network.chain_id.unwrap()));
    chain.said.insert(("eth_chainId".into(), "[]".into()), id);
    chain
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_final_is_never_taken_back() {
    let chain = public(up_to(20));
    let node = StubAccounts::start(chain.clone()).await;
    let rig = Rig::start_on("sepolia", &[node.url()], options()).await;
    rig.whole_at(TIP).await;
    assert_eq!(rig.ok("status").await["network"], "sepolia");
    // Final is block 12 there.
    let above = forked(&chain, 14, 21, 0x5a);
    node.show(above.clone());
    rig.whole_at(above.tip().hash()).await;
    node.show(chain.clone());
    rig.whole_at(TIP).await;
    node.show(forked(&chain, 11, 22, 0xa5));
    eventually("it stops", async || rig.index.standing().stopped.is_some()).await;
    let why = rig.index.standing().stopped.unwrap();
    assert!(why.contains("final"), "{why}");
    let status = rig.ok("status").await;
    assert_eq!((&status["best_hash"], &status["in_sync"]), (&json!(TIP), &json!(false)));
    node.show(chain);
    rig.whole_at(TIP).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_past_is_filled_in_down_to_where_the_index_begins() {
    let node = StubAccounts::start(up_to(20)).await;
    let back = index::account::SyncOptions { history_from: -8, first_blocks: 2, ..options() };
    let rig = Rig::start(&[node.url()], back).await;
    rig.until("eight back", |view| view.base() == 12).await;
    rig.until("traced", |view| view.coverage(index::Tier::Any).unwrap().traces).await;
    let history = rig.ok(&format!("address/{HOT}/txs?limit=50")).await;
    assert_eq!(history["txs"].as_array().unwrap().len(), 28);
    let coverage = json!({
        "from_height": 12, "to_height": 20, "complete": false, "traces": true,
        "traces_from_height": 12,
    });
    assert_eq!((&history["coverage"], &history["has_more"]), (&coverage, &json!(false)));
    rig.refused("block/11", 404, "NOT_FOUND").await;
    rig.refused("blocks?start=3", 404, "NOT_FOUND").await;
    let below = rig.ok(&format!("address/{HOT}/txs?cursor=11")).await;
    assert_eq!((&below["txs"], below.get("next_cursor")), (&json!([]), None::<&Value>));
}
