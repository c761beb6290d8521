//! Nodes whose next block is bad, while another node has it well, or none.

use std::time::Duration;

use chain::Hash32;
use index::utxo::SyncOptions;
use node::NodeConfig;
use testkit::StubNode;

use super::rig::{Follower, Grown, equals_fresh, options};

/// How often a node was asked for the bytes of a block.
fn asked(stub: &StubNode) -> u64 {
    stub.calls("rest/block") + stub.calls("getblock")
}

/// Two nodes of one chain.
async fn twins(blocks: u32) -> (Grown, Grown) {
    (Grown::new("btc", blocks).await, Grown::new("btc", blocks).await)
}

fn both(a: &Grown, b: &Grown) -> Vec<NodeConfig> {
    [a, b].map(|grown| NodeConfig::new(grown.stub.url())).to_vec()
}

/// Loads in bulk.
fn bulk() -> SyncOptions {
    SyncOptions { bulk_from: 1, ..options() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_that_one_node_has_spoilt_is_taken_from_another() {
    let (mut a, mut b) = twins(20).await;
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::open("btc", both(&a, &b), dir.path(), options()).await;
    follower.in_sync_with(&a.stub).await;
    for round in 0..6 {
        // Whichever of them is followed, it is the one with the bad block now and then.
        let spoilt = if round % 2 == 0 { &a } else { &b };
        spoilt.stub.spoil(&[a.stub.tip().0 + 1, a.stub.tip().0 + 3]);
        for _ in 0..4 {
            a.grow(&[]);
            b.grow(&[]);
        }
        assert_eq!(a.stub.tip(), b.stub.tip());
        follower.in_sync_with(&a.stub).await;
        assert_eq!(follower.index.standing().stopped, None);
    }
    b.stub.spoil(&[]);
    equals_fresh("btc", &follower.index, b.nodes(), false).await;
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_alone_has_a_chain_whose_block_is_bad_is_left_for_another() {
    let (a, mut b) = twins(21).await;
    let dir = tempfile::tempdir().unwrap();
    let impatient = SyncOptions { patience: Duration::ZERO, ..options() };
    let follower = Follower::open("btc", both(&a, &b), dir.path(), impatient).await;
    follower.in_sync_with(&a.stub).await;
    a.stub.spoil(&[22]);
    a.stub.switch(&a.branch(20, 2, 5)).unwrap();
    b.grow(&[]);
    assert_ne!(a.stub.tip().1, b.stub.tip().1);
    follower.in_sync_with(&b.stub).await;
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_load_takes_a_bad_block_from_another_node() {
    let (a, b) = twins(700).await;
    a.stub.spoil(&[3, 350, 351, 699]);
    b.stub.spoil(&[2, 200, 600]);
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::open("btc", both(&a, &b), dir.path(), bulk()).await;
    follower.in_sync_with(&a.stub).await;
    assert_eq!(follower.index.standing().stopped, None);
    assert!(asked(&a.stub) + asked(&b.stub) < 3 * 700);
    a.stub.spoil(&[]);
    equals_fresh("btc", &follower.index, a.nodes(), false).await;
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_load_waits_before_a_bad_block_ever_longer_and_keeps_what_it_has() {
    let mut grown = Grown::new("btc", 300).await;
    grown.stub.spoil(&[290]);
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::open("btc", grown.nodes(), dir.path(), bulk()).await;
    let mut highest = 0;
    let mut watch = |index: &index::utxo::Index| {
        let standing = index.standing();
        assert!(standing.height >= highest, "it fell from {highest} to {}", standing.height);
        highest = standing.height;
        standing
    };
    follower.until("stopped", |index| watch(index).stopped.is_some()).await;
    let looks = |grown: &Grown| grown.stub.calls("getblockchaininfo");
    let (first, blocks) = (looks(&grown), asked(&grown.stub));
    follower
        .until("five more looks", |index| {
            watch(index);
            looks(&grown) >= first + 5
        })
        .await;
    let standing = follower.index.standing();
    assert_eq!(standing.height, 289);
    assert!(standing.stopped.is_some_and(|said| said.contains("290")), "it names the block");
    let load = standing.first_load.unwrap();
    assert_eq!(load.target, 300);
    // None of those before the bad one is read again.
    assert!(asked(&grown.stub) - blocks <= 11 * (looks(&grown) - first + 1));
    follower.end().await;
    // Nor are they after a restart.
    grown.stub.forget_calls();
    let follower = Follower::open("btc", grown.nodes(), dir.path(), bulk()).await;
    follower.until("stopped again", |index| index.standing().stopped.is_some()).await;
    assert_eq!(follower.index.standing().height, 289);
    assert!(asked(&grown.stub) <= 11 * looks(&grown));
    grown.stub.spoil(&[]);
    let block = grown.grow(&[]);
    follower.in_sync_at(block.hash).await;
    let standing = follower.index.standing();
    assert_eq!((standing.stopped, standing.first_load), (None, None));
    equals_fresh("btc", &follower.index, grown.nodes(), false).await;
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_load_whose_node_is_gone_for_a_while_goes_on_where_it_was() {
    let mut grown = Grown::new("doge", 2500).await;
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::open("doge", grown.nodes(), dir.path(), bulk()).await;
    follower.until("it loads", |index| index.standing().height >= 500).await;
    grown.stub.stop();
    let height = follower.index.standing().height;
    tokio::time::sleep(Duration::from_millis(300)).await;
    grown.stub.restart().await.unwrap();
    follower
        .until("in sync", |index| {
            let standing = index.standing();
            assert!(standing.height >= height.min(2000), "{height}: {standing:?}");
            standing.in_sync
        })
        .await;
    assert!(asked(&grown.stub) <= 2501 + 1000, "{}", asked(&grown.stub));
    assert_ne!(follower.view().hash(), Hash32::ZERO);
    follower.end().await;
}
