//! Tip and mempool of a view belong together.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chain::Hash32;
use index::Tier;
use index::utxo::{Inclusion, View};
use testkit::{Draft, ForgedTransaction, key_hash_script};

use super::rig::{Follower, Grown, REWARD, equals_fresh, pool_ids};

/// Reads a whole history in pages.
fn pages(view: &View, script: &[u8], size: u64) -> Vec<(Hash32, Inclusion)> {
    let mut all = Vec::new();
    loop {
        let Some(page) = view.history(script, all.len() as u64, size).unwrap() else { return all };
        if page.transactions.is_empty() {
            assert_eq!(all.len() as u64, page.tx_count);
            return all;
        }
        assert!(page.transactions.len() as u64 <= size);
        all.extend(page.transactions.iter().map(|one| (one.record.txid, one.inclusion)));
    }
}

fn is_waiting(inclusion: &Inclusion) -> bool {
    matches!(inclusion, Inclusion::Mempool { .. })
}

/// Asserts that a script's history has nothing twice, and what waits first.
fn is_sound(view: &View, script: &[u8]) {
    let all = pages(view, script, 25);
    let ids: HashSet<Hash32> = all.iter().map(|(txid, _)| *txid).collect();
    assert_eq!(ids.len(), all.len());
    let waiting = all.iter().take_while(|(_, place)| is_waiting(place)).count();
    assert!(!all[waiting..].iter().any(|(_, place)| is_waiting(place)));
    let totals = view.address(script, Tier::Any).unwrap();
    let in_pool = totals.and_then(|totals| totals.unconfirmed).map_or(0, |pool| pool.tx_count);
    assert_eq!(in_pool, waiting as u64);
    assert_eq!(totals.map_or(0, |totals| totals.tx_count) + in_pool, all.len() as u64);
    // Nothing that waits spends what the chain has spent already.
    for txid in pool_ids(view) {
        let transaction = view.transaction(&txid).unwrap().unwrap();
        assert!(is_waiting(&transaction.inclusion), "{txid}");
    }
}

fn raw(transactions: &[ForgedTransaction]) -> Vec<bytes::Bytes> {
    transactions.iter().map(|transaction| transaction.raw.clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_lose_and_repeat_nothing() {
    let mut grown = Grown::new("btc", 70).await;
    let script = key_hash_script(77);
    let mut confirmed = Vec::new();
    for at_once in [1, 5, 20, 4, 30] {
        let some: Vec<_> = (0..at_once).map(|n| grown.pay(1000 + n, &script)).collect();
        grown.grow(&some);
        confirmed.extend(some.iter().map(|one| one.txid));
    }
    let waiting: Vec<_> = (0..3).map(|n| grown.pay(10 + n, &script)).collect();
    grown.stub.mempool(raw(&waiting)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::of(&grown.stub, "btc", dir.path()).await;
    follower.in_sync_with(&grown.stub).await;
    let view = follower.view();
    assert_eq!(confirmed.len(), 60);
    confirmed.reverse();
    for size in [1, 7, 25, 50] {
        let all = pages(&view, &script, size);
        assert_eq!(all.len(), 63);
        let first: HashSet<Hash32> = all[..3].iter().map(|(txid, _)| *txid).collect();
        assert_eq!(first, waiting.iter().map(|one| one.txid).collect());
        assert!(all[..3].iter().all(|(_, place)| is_waiting(place)));
        let rest: Vec<Hash32> = all[3..].iter().map(|(txid, _)| *txid).collect();
        assert_eq!(rest, confirmed);
    }
    let starts = [0, 25, 50, 75].map(|from| view.history(&script, from, 25).unwrap().unwrap());
    assert_eq!(starts.each_ref().map(|page| page.transactions.len()), [25, 25, 13, 0]);
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_confirmed_is_never_in_pool_and_chain_of_one_view() {
    let mut grown = Grown::new("btc", 120).await;
    let script = key_hash_script(77);
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::of(&grown.stub, "btc", dir.path()).await;
    follower.in_sync_with(&grown.stub).await;
    let end = Arc::new(AtomicBool::new(false));
    let (index, ended, watched) = (Arc::clone(&follower.index), Arc::clone(&end), script.clone());
    let watching = tokio::task::spawn_blocking(move || {
        let mut views = 0u64;
        while !ended.load(Ordering::Relaxed) {
            is_sound(&index.view().unwrap(), &watched);
            views += 1;
        }
        views
    });
    for round in 0..25 {
        let some: Vec<_> = (0..4).map(|n| grown.pay(1000 + n, &script)).collect();
        // A child stands before its parent.
        let child = Draft::new().spend(some[0].output(0)).pay(1, &script).finish();
        let all = [&[child.clone()][..], &some].concat();
        grown.stub.mempool(raw(&all)).unwrap();
        if round % 3 != 0 {
            follower.until("all wait", |index| index.standing().mempool_count == 5).await;
        }
        grown.grow(&[&some[..], &[child]].concat());
        if round % 5 == 4 {
            // Back into the pool, while another block takes its place.
            grown.stub.rewind(1).unwrap();
            grown.stub.mempool(raw(&all)).unwrap();
            grown.forge = grown.below.pop().unwrap().branch(round + 1);
            grown.coins.pop();
            grown.grow(&[]);
            follower.in_sync_with(&grown.stub).await;
            follower.until("all wait again", |index| index.standing().mempool_count == 5).await;
            grown.stub.mempool(Vec::new()).unwrap();
        }
        if round % 2 == 0 {
            follower.in_sync_with(&grown.stub).await;
        }
    }
    follower.in_sync_with(&grown.stub).await;
    follower.until("nothing waits", |index| index.standing().mempool_count == 0).await;
    end.store(true, Ordering::Relaxed);
    let views = watching.await.unwrap();
    println!("{views} views were held to be sound");
    equals_fresh("btc", &follower.index, grown.nodes(), true).await;
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_block_makes_impossible_goes_with_it() {
    let mut grown = Grown::new("btc", 20).await;
    let script = key_hash_script(5);
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::of(&grown.stub, "btc", dir.path()).await;
    for round in 0..10 {
        let coin = grown.coins.remove(0);
        let pays = |value| Draft::new().spend(coin).pay(value, &script).finish();
        let (loser, winner) = (pays(REWARD - 2), pays(REWARD - 3 - round));
        let child = Draft::new().spend(loser.output(0)).pay(7, &script).finish();
        let other = grown.pay(9, &key_hash_script(6));
        let waiting = [loser.clone(), child.clone(), other.clone()];
        grown.stub.mempool(raw(&waiting)).unwrap();
        follower.until("three wait", |index| index.standing().mempool_count == 3).await;
        assert_eq!(
            follower.view().unspent(&super::rig::miner(), 100).unwrap().map(|list| {
                list.items.iter().filter(|item| item.unconfirmed_spend.is_some()).count()
            }),
            Some(2)
        );
        let block = grown.grow(std::slice::from_ref(&winner));
        let mut first = None;
        follower
            .until("the block", |index| {
                first = index.view().filter(|view| view.hash() == block.hash);
                first.is_some()
            })
            .await;
        let view = first.unwrap();
        // This node still lists the child, which no other would; it is known by its id at most.
        let ids = pool_ids(&view);
        assert!(ids.contains(&other.txid) && !ids.contains(&loser.txid), "round {round}");
        for gone in [loser.txid, child.txid] {
            assert!(view.transaction(&gone).unwrap().is_none());
        }
        let totals = view.address(&script, Tier::Any).unwrap().unwrap();
        assert_eq!(totals.unconfirmed, None);
        grown.stub.mempool(raw(std::slice::from_ref(&other))).unwrap();
        grown.grow(std::slice::from_ref(&other));
        follower.in_sync_with(&grown.stub).await;
        is_sound(&follower.view(), &script);
    }
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_replaced_goes_when_its_rival_comes() {
    let mut grown = Grown::new("ltc", 20).await;
    let script = key_hash_script(5);
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::of(&grown.stub, "ltc", dir.path()).await;
    let coin = grown.coins.remove(0);
    let first = Draft::new().spend(coin).pay(100, &script).finish();
    let child = Draft::new().spend(first.output(0)).pay(50, &script).finish();
    grown.stub.mempool(raw(&[first, child])).unwrap();
    follower.until("two wait", |index| index.standing().mempool_count == 2).await;
    for value in (10..60).rev() {
        let rival = Draft::new().spend(coin).pay(value, &script).finish();
        grown.stub.mempool(raw(std::slice::from_ref(&rival))).unwrap();
        let only = HashSet::from([rival.txid]);
        follower
            .until("the rival", |index| {
                let view = index.view().unwrap();
                let ids = pool_ids(&view);
                assert!(ids.len() == 1 || value == 59, "{ids:?}");
                ids == only
            })
            .await;
        let totals = follower.view().address(&script, Tier::Any).unwrap().unwrap();
        let unconfirmed = totals.unconfirmed.unwrap();
        assert_eq!((unconfirmed.received, unconfirmed.tx_count), (value.into(), 1));
    }
    follower.end().await;
}
