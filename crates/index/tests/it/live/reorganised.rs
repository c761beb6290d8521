//! Reorganisations: of any depth, seen whole or not at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chain::Hash32;
use index::Tier;
use index::utxo::{Index, View};
use node::NodeConfig;
use serde_json::json;
use testkit::key_hash_script;
use tokio::task::JoinHandle;

use super::rig::{Follower, Grown, equals_fresh, miner, options};
use super::truth;

/// Notes every tip that is published.
struct Watch {
    end: Arc<AtomicBool>,
    task: JoinHandle<Vec<(u32, Hash32)>>,
}

impl Watch {
    fn of(index: &Arc<Index>) -> Watch {
        let (index, end) = (Arc::clone(index), Arc::new(AtomicBool::new(false)));
        let ended = Arc::clone(&end);
        let task = tokio::task::spawn_blocking(move || {
            let mut seen: Vec<(u32, Hash32)> = Vec::new();
            loop {
                let last = ended.load(Ordering::Relaxed);
                let tip = index.view().map(|view| (view.height(), view.hash()));
                if tip.is_some() && seen.last() != tip.as_ref() {
                    seen.extend(tip);
                }
                if last {
                    return seen;
                }
                std::thread::yield_now();
            }
        });
        Watch { end, task }
    }

    async fn seen(self) -> Vec<(u32, Hash32)> {
        self.end.store(true, Ordering::Relaxed);
        self.task.await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reorganisation_is_seen_whole_or_not_at_all() {
    let grown = Grown::new("btc", 100).await;
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::of(&grown.stub, "btc", dir.path()).await;
    follower.in_sync_with(&grown.stub).await;
    let before = grown.stub.tip();
    // Five longer: the last six are published one by one or skipped.
    let branch = grown.branch(50, 55, 1);
    let watch = Watch::of(&follower.index);
    grown.stub.switch(&branch).unwrap();
    follower.in_sync_with(&grown.stub).await;
    let seen = watch.seen().await;
    assert_eq!(seen.first(), Some(&before));
    for tip in &seen[1..] {
        let block = branch.iter().find(|block| block.hash == tip.1);
        assert!(block.is_some_and(|block| block.height >= before.0), "{tip:?} of {seen:?}");
    }
    // Shorter by 20: only the node's best.
    let (before, branch) = (grown.stub.tip(), grown.branch(50, 30, 2));
    let watch = Watch::of(&follower.index);
    grown.stub.switch(&branch).unwrap();
    follower.in_sync_with(&grown.stub).await;
    assert_eq!(watch.seen().await, [before, grown.stub.tip()]);
    // Only taken back: likewise.
    let before = grown.stub.tip();
    let watch = Watch::of(&follower.index);
    grown.stub.rewind(7).unwrap();
    follower.in_sync_with(&grown.stub).await;
    assert_eq!(watch.seen().await, [before, grown.stub.tip()]);
    equals_fresh("btc", &follower.index, grown.nodes(), false).await;
    follower.end().await;
}

/// What a view answers, as text.
fn answers(view: &View, height: u32) -> String {
    let scripts = [miner(), key_hash_script(9), key_hash_script(1)];
    let of_script = |script: &Vec<u8>| {
        (
            view.address(script, Tier::Any).unwrap(),
            view.history(script, 0, 1000).unwrap(),
            view.unspent(script, 1000).unwrap(),
        )
    };
    let blocks: Vec<_> = (0..=height + 1)
        .map(|height| {
            let block = view.block(height, Tier::Any).unwrap();
            let hash = block.as_ref().map(|block| view.block_height(&block.hash, Tier::Any));
            let hash = hash.map(Result::unwrap);
            let transactions = block.as_ref().map(|b| view.block_transactions(b, 0, 100).unwrap());
            let one = transactions.iter().flatten().next_back();
            let one = one.map(|last| view.transaction(&last.record.txid).unwrap());
            (block, hash, transactions, one)
        })
        .collect();
    format!("{:?} {:?} {blocks:?}", view.hash(), scripts.iter().map(of_script).collect::<Vec<_>>())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_that_is_held_answers_as_before() {
    let mut grown = Grown::new("ltc", 40).await;
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::of(&grown.stub, "ltc", dir.path()).await;
    let waits = grown.pay(1000, &key_hash_script(1));
    grown.stub.mempool(vec![waits.raw.clone()]).unwrap();
    follower.in_sync_with(&grown.stub).await;
    follower.until("one waits", |index| index.standing().mempool_count == 1).await;
    let view = follower.view();
    let before = answers(&view, 40);
    grown.stub.switch(&grown.branch(10, 45, 1)).unwrap();
    follower.in_sync_with(&grown.stub).await;
    assert_ne!(answers(&follower.view(), 40), before);
    assert_eq!(answers(&view, 40), before);
    grown.stub.rewind(50).unwrap();
    follower.in_sync_with(&grown.stub).await;
    assert_eq!(answers(&view, 40), before);
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_hundred_and_fifty_blocks_are_taken_back() {
    let grown = Grown::new("btc", 400).await;
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::of(&grown.stub, "btc", dir.path()).await;
    follower.in_sync_with(&grown.stub).await;
    for (blocks, salt) in [(351, 1), (349, 2)] {
        grown.stub.switch(&grown.branch(50, blocks, salt)).unwrap();
        follower.in_sync_with(&grown.stub).await;
        assert_eq!(follower.view().height(), 50 + blocks);
        equals_fresh("btc", &follower.index, grown.nodes(), salt == 1).await;
    }
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_node_takes_back_three_hundred_and_fifty_blocks() {
    let node = truth::litecoind().await;
    node.mine(410).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::open("ltc", truth::nodes(&node), dir.path(), options()).await;
    truth::caught_up(&node, &follower).await;
    let first = truth::text(&node, "getblockhash", json!([61])).await;
    truth::call(&node, "invalidateblock", json!([first])).await;
    node.mine(351).await.unwrap();
    truth::caught_up(&node, &follower).await;
    assert_eq!(follower.view().height(), 411);
    truth::holds(&node, &follower, &[], true).await;
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_ends_in_the_middle_leaves_the_old_tip_published() {
    let mut grown = Grown::new("btc", 300).await;
    let dir = tempfile::tempdir().unwrap();
    let mut follower = Follower::of(&grown.stub, "btc", dir.path()).await;
    follower.in_sync_with(&grown.stub).await;
    let before = grown.stub.tip();
    let branch = grown.branch(20, 290, 1);
    // The last blocks that it needs are not to be had, so that it is not over before the node ends.
    grown.stub.prune(300);
    grown.stub.switch(&branch).unwrap();
    let below = |index: &Index| {
        index.store().lock().unwrap().tip().is_some_and(|tip| tip.height < before.0)
    };
    follower.until("the first disconnect", below).await;
    grown.stub.stop();
    // Until the sync has told that it cannot go on, it may not stand anywhere else.
    for _ in 0..40 {
        let view = follower.view();
        assert_eq!((view.height(), view.hash()), before);
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(!follower.index.standing().in_sync);
    assert!(below(&follower.index), "the node ended before the reorganisation did");
    // What is on the disk is served after a restart, and is not called in sync.
    let half = follower.index.store().lock().unwrap().tip().unwrap();
    follower.end().await;
    follower = Follower::of(&grown.stub, "btc", dir.path()).await;
    let view = follower.view();
    assert!(view.height() <= half.height.max(before.0) && view.hash() != before.1);
    assert!(!follower.index.standing().in_sync && view.mempool().is_none());
    grown.stub.prune(0);
    grown.stub.restart().await.unwrap();
    follower.in_sync_with(&grown.stub).await;
    equals_fresh("btc", &follower.index, grown.nodes(), false).await;
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_at_different_tips_do_not_make_it_flip() {
    let a = Grown::new("btc", 60).await;
    let b = Grown::new("btc", 60).await;
    a.stub.extend(&a.forge.branch(1).mine(1, &miner(), &[])).unwrap();
    b.stub.extend(&b.forge.branch(2).mine(1, &miner(), &[])).unwrap();
    let nodes = [&a, &b].map(|grown| NodeConfig::new(grown.stub.url())).to_vec();
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::open("btc", nodes, dir.path(), options()).await;
    follower.until("height 61", |index| index.standing().in_sync).await;
    let watch = Watch::of(&follower.index);
    // As many looks at the nodes as it takes for both to have been asked.
    let asked = || a.stub.calls("getrawmempool") + b.stub.calls("getrawmempool");
    let enough = asked() + 20;
    follower.until("twenty rounds", |_| asked() >= enough).await;
    assert_eq!(watch.seen().await.len(), 1);
    // The one that it does not follow goes on: it is followed, once the other is left behind.
    let (other, salt) = match follower.view().hash() == a.stub.tip().1 {
        true => (&b, 2),
        false => (&a, 1),
    };
    let mut forge = other.forge.branch(salt);
    drop(forge.mine(1, &miner(), &[]));
    for _ in 0..10 {
        other.stub.extend(&forge.mine(1, &miner(), &[])).unwrap();
    }
    follower.in_sync_with(&other.stub).await;
    follower.end().await;
}
