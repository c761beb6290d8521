//! What a node lists as waiting, whether it fits its chain or not.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use chain::Hash32;
use index::Tier;
use index::utxo::{Inclusion, SyncOptions, View};
use node::NodeConfig;
use testkit::{Draft, ForgedTransaction, key_hash_script};

use super::rig::{Follower, Grown, REWARD, equals_fresh, options, pool_ids};

fn raw<'a>(transactions: impl IntoIterator<Item = &'a ForgedTransaction>) -> Vec<bytes::Bytes> {
    transactions.into_iter().map(|transaction| transaction.raw.clone()).collect()
}

fn ids<'a>(transactions: impl IntoIterator<Item = &'a ForgedTransaction>) -> HashSet<Hash32> {
    transactions.into_iter().map(|transaction| transaction.txid).collect()
}

fn waits(view: &View, txid: &Hash32) -> Option<bool> {
    let transaction = view.transaction(txid).unwrap()?;
    Some(matches!(transaction.inclusion, Inclusion::Mempool { .. }))
}

/// Each transaction spends the one before.
fn chain_of(grown: &mut Grown, length: usize, script: &[u8]) -> Vec<ForgedTransaction> {
    let mut chain = vec![grown.pay(REWARD - 1, script)];
    while chain.len() < length {
        let last = &chain[chain.len() - 1];
        let value = REWARD - 1 - chain.len() as u64;
        chain.push(Draft::new().spend(last.output(0)).pay(value, script).finish());
    }
    chain
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_pool_is_not_believed() {
    let mut grown = Grown::new("btc", 30).await;
    let (script, other) = (key_hash_script(5), key_hash_script(6));
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::of(&grown.stub, "btc", dir.path()).await;
    for round in 0..8 {
        let coin = grown.coins.remove(0);
        let pays = |value| Draft::new().spend(coin).pay(value, &script).finish();
        let (mined, loser) = (pays(900 + round), pays(800 + round));
        let children = |parent: &ForgedTransaction| {
            let child = Draft::new().spend(parent.output(0)).pay(700 + round, &other).finish();
            let grandchild = Draft::new().spend(child.output(0)).pay(600, &other).finish();
            [child, grandchild]
        };
        let (sound, lost) = (children(&mined), children(&loser));
        if round % 2 == 0 {
            let before = [&lost[..], std::slice::from_ref(&loser)].concat();
            grown.stub.mempool(raw(&before)).unwrap();
            follower.until("they wait", |index| index.standing().mempool_count == 3).await;
        }
        let block = grown.grow(std::slice::from_ref(&mined));
        // A node behind a balancer, or one between its block and its pool.
        let mut stale = [&sound[..], &lost, &[mined.clone(), loser.clone()]].concat();
        if round % 3 == 0 {
            stale.reverse();
        }
        grown.stub.mempool(raw(&stale)).unwrap();
        follower.in_sync_at(block.hash).await;
        follower
            .until("the sound ones wait", |index| {
                let Some(view) = index.view() else { return false };
                assert_eq!(waits(&view, &loser.txid).filter(|_| view.hash() == block.hash), None);
                view.hash() == block.hash && pool_ids(&view) == ids(&sound)
            })
            .await;
        follower.in_sync_at(block.hash).await;
        let view = follower.view();
        assert_eq!(waits(&view, &mined.txid), Some(false));
        assert!(lost.iter().all(|lost| waits(&view, &lost.txid).is_none()));
        assert!(sound.iter().all(|sound| waits(&view, &sound.txid) == Some(true)));
        let totals = view.address(&script, Tier::Any).unwrap().unwrap();
        let unconfirmed = totals.unconfirmed.unwrap();
        assert_eq!((unconfirmed.received, unconfirmed.sent), (0, u128::from(900 + round)));
        let history = view.history(&script, 0, 50).unwrap().unwrap();
        let listed: Vec<Hash32> = history.transactions.iter().map(|it| it.record.txid).collect();
        assert_eq!(listed.iter().collect::<HashSet<_>>().len(), listed.len(), "twice");
        assert_eq!(history.tx_count, listed.len() as u64);
        assert_eq!(follower.index.standing().mempool_count, 2);
        grown.grow(&sound);
        grown.stub.mempool(Vec::new()).unwrap();
    }
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reorganisation_takes_along_what_waits_for_what_it_took_back() {
    let mut grown = Grown::new("btc", 30).await;
    let script = key_hash_script(5);
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::of(&grown.stub, "btc", dir.path()).await;
    for round in 0..5 {
        let height = grown.stub.tip().0;
        let mined = grown.pay(900 + round, &script);
        let child = Draft::new().spend(mined.output(0)).pay(700, &script).finish();
        let apart = grown.pay(17 + round, &script);
        let block = grown.grow(std::slice::from_ref(&mined));
        grown.stub.mempool(raw([&child, &apart])).unwrap();
        follower
            .until("both wait", |index| {
                let Some(view) = index.view() else { return false };
                view.hash() == block.hash && pool_ids(&view) == ids([&child, &apart])
            })
            .await;
        // The node goes on to list the child, though nobody has its parent any more.
        grown.stub.switch(&grown.branch(height, 3, 70 + round as u32)).unwrap();
        follower
            .until("the branch is there", |index| {
                let Some(view) = index.view() else { return false };
                let new = view.hash() != block.hash;
                if new {
                    assert_eq!(waits(&view, &child.txid), None, "its parent is nowhere");
                    assert_eq!(waits(&view, &apart.txid), Some(true));
                }
                new && view.height() == height + 3
            })
            .await;
        let unread = |index: &index::utxo::Index| !index.standing().in_sync;
        follower.until("a listed one is unread", unread).await;
        // Its parent waits again.
        grown.stub.mempool(raw([&child, &apart, &mined])).unwrap();
        follower.in_sync_with(&grown.stub).await;
        follower.until("all wait", |index| index.standing().mempool_count == 3).await;
        grown.stub.mempool(Vec::new()).unwrap();
        grown.stub.switch(&[block]).unwrap();
        follower.in_sync_with(&grown.stub).await;
    }
    equals_fresh("btc", &follower.index, grown.nodes(), true).await;
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn children_may_be_listed_long_before_their_parents() {
    let mut grown = Grown::new("btc", 30).await;
    let script = key_hash_script(5);
    let dir = tempfile::tempdir().unwrap();
    let chain = chain_of(&mut grown, 500, &script);
    for turn in 0..3 {
        let mut listed = chain.clone();
        match turn {
            0 => listed.reverse(),
            1 => {}
            _ => listed.sort_by_key(|transaction| transaction.txid),
        }
        grown.stub.mempool(raw(&listed)).unwrap();
        let follower = Follower::of(&grown.stub, "btc", dir.path()).await;
        follower.in_sync_with(&grown.stub).await;
        let view = follower.view();
        assert_eq!(pool_ids(&view), ids(&chain), "turn {turn}");
        let asked = grown.stub.calls("getrawtransaction");
        assert_eq!(asked, 500 * (turn + 1), "each is asked for once");
        let totals = view.address(&script, Tier::Any).unwrap().unwrap().unconfirmed.unwrap();
        assert_eq!(
            (totals.tx_count, totals.received - totals.sent),
            (500, u128::from(REWARD) - 500)
        );
        let mut pages = Vec::new();
        for from in (0..550).step_by(50) {
            let page = view.history(&script, from, 50).unwrap().unwrap();
            pages.extend(page.transactions.iter().map(|it| it.record.txid));
        }
        assert_eq!(pages.len(), 500);
        assert_eq!(pages.into_iter().collect::<HashSet<_>>(), ids(&chain));
        follower.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_read_is_asked_for_again_without_a_block() {
    let mut grown = Grown::new("ltc", 30).await;
    let dir = tempfile::tempdir().unwrap();
    let chain = chain_of(&mut grown, 150, &key_hash_script(5));
    grown.stub.mempool(raw(&chain)).unwrap();
    grown.stub.withhold(&[chain[70].txid, chain[100].txid]);
    let follower = Follower::of(&grown.stub, "ltc", dir.path()).await;
    follower.until("those before wait", |index| index.standing().mempool_count == 70).await;
    let passes = grown.stub.calls("getrawmempool") + 3;
    follower
        .until("more passes", |index| {
            assert!(!index.standing().in_sync);
            grown.stub.calls("getrawmempool") >= passes
        })
        .await;
    assert_eq!(pool_ids(&follower.view()), ids(&chain[..70]));
    assert_eq!(follower.view().mempool().unwrap().count(), 70);
    grown.stub.withhold(&[chain[100].txid]);
    follower.until("more wait", |index| index.standing().mempool_count == 100).await;
    assert!(!follower.index.standing().in_sync);
    grown.stub.withhold(&[]);
    follower.in_sync_with(&grown.stub).await;
    assert_eq!(pool_ids(&follower.view()), ids(&chain));
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn made_up_ids_count_for_nothing() {
    let mut grown = Grown::new("btc", 30).await;
    let dir = tempfile::tempdir().unwrap();
    let waiting = grown.pay(7, &key_hash_script(5));
    grown.stub.mempool(raw([&waiting])).unwrap();
    let made_up: Vec<Hash32> = (0..300u32).map(|n| Hash32::sha256d(&[&n.to_be_bytes()])).collect();
    grown.stub.make_up(&made_up);
    let follower = Follower::of(&grown.stub, "btc", dir.path()).await;
    follower.in_sync_with(&grown.stub).await;
    let passes = grown.stub.calls("getrawmempool") + 3;
    follower.until("more passes", |_| grown.stub.calls("getrawmempool") >= passes).await;
    let view = follower.view();
    let pool = view.mempool().unwrap();
    assert_eq!((pool.count(), pool.bytes()), (1, waiting.raw.len() as u64));
    assert_eq!(pool_ids(&view), ids([&waiting]));
    assert_eq!(follower.index.standing().mempool_count, 1);
    assert!(follower.index.standing().in_sync);
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_the_bound_ids_alone_are_kept_until_there_is_room() {
    let mut grown = Grown::new("btc", 60).await;
    let dir = tempfile::tempdir().unwrap();
    let script = key_hash_script(5);
    let some: Vec<ForgedTransaction> = (0..50).map(|n| grown.pay(7 + n, &script)).collect();
    let child = Draft::new().spend(some[49].output(0)).pay(1, &script).finish();
    let all = [&some[..], &[child]].concat();
    grown.stub.mempool(raw(&all)).unwrap();
    let tight = SyncOptions { mempool_bytes: 20_000, ..options() };
    let follower = Follower::open("btc", grown.nodes(), dir.path(), tight).await;
    follower.in_sync_with(&grown.stub).await;
    follower.until("all are known", |index| index.standing().mempool_count == 51).await;
    let view = follower.view();
    assert_eq!(pool_ids(&view), ids(&all));
    let held = |view: &View| all.iter().filter(|it| waits(view, &it.txid) == Some(true)).count();
    assert!((5..30).contains(&held(&view)), "{}", held(&view));
    let asked = grown.stub.calls("getrawtransaction");
    let passes = grown.stub.calls("getrawmempool") + 3;
    follower.until("more passes", |_| grown.stub.calls("getrawmempool") >= passes).await;
    assert_eq!(grown.stub.calls("getrawtransaction"), asked, "what has no room is not asked for");
    // A block takes some of each kind away.
    grown.grow(&all[..45]);
    follower.in_sync_with(&grown.stub).await;
    follower
        .until("the rest is read", |index| {
            let Some(view) = index.view() else { return false };
            assert!(
                all[..45].iter().all(|it| waits(&view, &it.txid) != Some(true))
                    || view.height() == 60
            );
            held(&view) == 6 && pool_ids(&view) == ids(&all[45..])
        })
        .await;
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_is_read_at_most_once_in_its_time_while_blocks_come_at_once() {
    let mut grown = Grown::new("btc", 100).await;
    let dir = tempfile::tempdir().unwrap();
    let node = NodeConfig { zmq: Some(grown.stub.zmq()), ..NodeConfig::new(grown.stub.url()) };
    let slow = SyncOptions {
        poll: Duration::from_secs(3600),
        mempool_every: Duration::from_secs(1),
        ..options()
    };
    let follower = Follower::open("btc", vec![node], dir.path(), slow).await;
    follower.in_sync_with(&grown.stub).await;
    let (began, before) = (Instant::now(), grown.stub.calls("getrawmempool"));
    let mut waiting = Vec::new();
    for round in 0..40 {
        waiting.push(grown.pay(7 + round, &key_hash_script(5)));
        grown.stub.mempool(raw(&waiting)).unwrap();
        if round % 8 == 7 {
            let block = grown.grow(&[]);
            follower.until("the block", |index| index.view().unwrap().hash() == block.hash).await;
        }
    }
    // The last of them is seen though the node publishes nothing more.
    follower.until("all wait", |index| index.standing().mempool_count == 40).await;
    let (read, took) = (grown.stub.calls("getrawmempool") - before, began.elapsed());
    assert!(read <= took.as_secs() + 1, "{read} times in {took:?}");
    follower.end().await;
}
