//! Nodes that end, lag, prune, publish, or are of another chain; disks that are full.

use std::time::{Duration, Instant};

use index::utxo::SyncOptions;
use node::{NodeConfig, Verdict};

use super::rig::{Follower, Grown, equals_fresh, options};

/// Blocks until the nodes were looked at so often.
async fn rounds(follower: &Follower, grown: &Grown, rounds: u64) {
    let enough = grown.stub.calls("getblockchaininfo") + rounds;
    follower.until("rounds", |_| grown.stub.calls("getblockchaininfo") >= enough).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_behind_is_waited_for() {
    let (mut ahead, mut behind) = (Grown::new("btc", 50).await, Grown::new("btc", 40).await);
    let nodes = [&ahead, &behind].map(|grown| NodeConfig::new(grown.stub.url())).to_vec();
    let dir = tempfile::tempdir().unwrap();
    let patient = SyncOptions { patience: Duration::from_secs(3600), ..options() };
    let follower = Follower::open("btc", nodes.clone(), dir.path(), patient).await;
    follower.in_sync_with(&ahead.stub).await;
    let tip = ahead.stub.tip().1;
    ahead.stub.stop();
    rounds(&follower, &behind, 30).await;
    assert_eq!(follower.view().hash(), tip);
    follower.until("not in sync", |index| !index.standing().in_sync).await;
    assert_eq!(follower.index.store().lock().unwrap().tip().unwrap().hash, tip);
    (0..11).for_each(|_| drop(behind.grow(&[])));
    follower.in_sync_with(&behind.stub).await;
    assert_eq!(follower.view().height(), 51);
    follower.end().await;
    // It is not waited for for ever: the other node may have been wrong.
    behind.stub.rewind(20).unwrap();
    let options = SyncOptions { patience: Duration::from_millis(300), ..options() };
    let follower = Follower::open("btc", nodes, dir.path(), options).await;
    follower.in_sync_with(&behind.stub).await;
    equals_fresh("btc", &follower.index, behind.nodes(), false).await;
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_comes_back_is_gone_on_with() {
    let mut grown = Grown::new("doge", 30).await;
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::of(&grown.stub, "doge", dir.path()).await;
    follower.in_sync_with(&grown.stub).await;
    for round in 1..=3 {
        grown.stub.stop();
        let tip = follower.view().hash();
        (0..round).for_each(|_| drop(grown.grow(&[])));
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(follower.view().hash(), tip);
        grown.stub.restart().await.unwrap();
        follower.in_sync_with(&grown.stub).await;
    }
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pruned_node_serves_after_the_first_load() {
    let mut grown = Grown::new("btc", 60).await;
    let dir = tempfile::tempdir().unwrap();
    let bulk = SyncOptions { bulk_from: 1, ..options() };
    let follower = Follower::open("btc", grown.nodes(), dir.path(), bulk.clone()).await;
    follower.in_sync_with(&grown.stub).await;
    follower.end().await;
    grown.stub.prune(58);
    grown.grow(&[]);
    let follower = Follower::open("btc", grown.nodes(), dir.path(), bulk).await;
    follower.in_sync_with(&grown.stub).await;
    grown.stub.switch(&grown.branch(50, 15, 1)).unwrap();
    grown.stub.prune(64);
    // The blocks that it left are not to be had; nor are they needed.
    grown.stub.prune(0);
    follower.in_sync_with(&grown.stub).await;
    equals_fresh("btc", &follower.index, grown.nodes(), false).await;
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_stops_it_and_says_so() {
    for bulk_from in [1, u32::MAX] {
        let grown = Grown::new("btc", 5).await;
        let dir = tempfile::tempdir().unwrap();
        let full = SyncOptions { least_free_bytes: u64::MAX, bulk_from, ..options() };
        let follower = Follower::open("btc", grown.nodes(), dir.path(), full).await;
        follower.until("stopped", |index| index.standing().stopped.is_some()).await;
        rounds(&follower, &grown, 5).await;
        let standing = follower.index.standing();
        assert!(standing.stopped.is_some_and(|said| said.contains("free")));
        assert!(!standing.in_sync);
        assert!(follower.index.view().is_none());
        assert_eq!(follower.index.store().lock().unwrap().tip(), None);
        assert_eq!(grown.stub.calls("rest/block") + grown.stub.calls("getblock"), 0);
        follower.end().await;
        // It goes on where there is room.
        let follower = Follower::of(&grown.stub, "btc", dir.path()).await;
        follower.in_sync_with(&grown.stub).await;
        assert_eq!(follower.index.standing().stopped, None);
        follower.end().await;
        // What it holds is served while nothing is added.
        let full = SyncOptions { least_free_bytes: u64::MAX, ..options() };
        let follower = Follower::open("btc", grown.nodes(), dir.path(), full).await;
        follower.until("stopped", |index| index.standing().stopped.is_some()).await;
        assert_eq!(follower.view().height(), 5);
        assert!(!follower.index.standing().in_sync);
        follower.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wake_up_makes_a_block_visible_long_before_the_next_look() {
    let mut grown = Grown::new("btc", 5).await;
    let dir = tempfile::tempdir().unwrap();
    let node = NodeConfig { zmq: Some(grown.stub.zmq()), ..NodeConfig::new(grown.stub.url()) };
    let slow = SyncOptions { poll: Duration::from_secs(3600), ..options() };
    let follower = Follower::open("btc", vec![node], dir.path(), slow).await;
    // The first look may come before the node was probed, the subscription after it.
    follower.until("in sync", |index| index.standing().in_sync).await;
    for _ in 0..5 {
        let sent = Instant::now();
        let block = grown.grow(&[]);
        follower.in_sync_at(block.hash).await;
        println!("a block was visible after {} ms", sent.elapsed().as_millis());
    }
    let waits = grown.pay(1, &super::rig::miner());
    grown.stub.mempool(vec![waits.raw]).unwrap();
    follower.until("it waits", |index| index.standing().mempool_count == 1).await;
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_of_another_genesis_is_refused() {
    // The last one shares its genesis block and is told by what it calls itself.
    for (ours, theirs) in [("ltc", "doge"), ("btc", "ltc"), ("btc", "bch")] {
        let grown = Grown::new(theirs, 5).await;
        let dir = tempfile::tempdir().unwrap();
        let follower = Follower::of(&grown.stub, ours, dir.path()).await;
        let foreign = |follower: &Follower| {
            follower.pool.states().iter().all(|state| state.verdict == Verdict::Foreign)
        };
        follower.until("foreign", |_| foreign(&follower)).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(follower.index.view().is_none(), "{ours} against {theirs}");
        assert_eq!(follower.index.store().lock().unwrap().tip(), None);
        assert!(!follower.index.standing().in_sync);
        follower.end().await;
    }
}
