//! One address with more transactions and coins than anybody should have.
//!
//! A debug build makes a tenth of it.

use std::cmp::Reverse;
use std::collections::HashSet;

use chain::Hash32;
use chain::utxo::OutPoint;
use index::Tier;
use index::utxo::View;
use testkit::{Draft, ForgedTransaction, key_hash_script};

use super::rig::{Follower, Grown, REWARD};

const SCALE: usize = if cfg!(debug_assertions) { 10 } else { 1 };
/// Transactions that pay it, and those of them whose coin is spent again.
const PAID: usize = 115_000 / SCALE;
const SPENT: usize = 15_000 / SCALE;
/// Transactions of a block.
const BLOCK: usize = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Coin {
    value: Reverse<u64>,
    height: u32,
    position: usize,
    place: Spot,
}

/// Where a coin is: output and transaction. Every transaction pays the whale once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Spot(u32, Hash32);

struct Whale {
    grown: Grown,
    script: Vec<u8>,
    /// In chain order, oldest first.
    history: Vec<Hash32>,
    coins: Vec<Coin>,
}

impl Whale {
    /// A block with `BLOCK` outputs for anybody, and then one that spends them.
    fn pay(&mut self, number: usize) {
        let mut split = Draft::new().spend(self.grown.coins.remove(0));
        for n in 0..number {
            split = split.pay(100_000 + n as u64, &key_hash_script(3));
        }
        let split = split.finish();
        self.grown.grow(std::slice::from_ref(&split));
        let paid = self.history.len() as u64;
        let pays = |vout: usize| {
            // Every third value is another's too.
            let value = ((paid + vout as u64) / 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let draft = Draft::new().spend(split.output(vout as u32));
            let draft = match vout % 2 {
                0 => draft.pay(value, &self.script),
                _ => draft.pay(5, &key_hash_script(4)).pay(value, &self.script),
            };
            (draft.finish(), (vout % 2) as u32, value)
        };
        let made: Vec<(ForgedTransaction, u32, u64)> = (0..number).map(pays).collect();
        let transactions: Vec<_> = made.iter().map(|(one, _, _)| one.clone()).collect();
        let block = self.grown.grow(&transactions);
        for (position, (one, vout, value)) in made.iter().enumerate() {
            self.history.push(one.txid);
            let place = Spot(*vout, one.txid);
            let value = Reverse(*value);
            self.coins.push(Coin { value, height: block.height, position, place });
        }
    }

    /// A block that spends these coins, each in a transaction of its own.
    fn spend(&mut self, coins: &[Coin]) {
        let spends = |coin: &Coin| {
            let Spot(vout, txid) = coin.place;
            let draft = Draft::new().spend(OutPoint { txid, vout });
            draft.pay(coin.value.0, &key_hash_script(8)).finish()
        };
        let transactions: Vec<_> = coins.iter().map(spends).collect();
        self.grown.grow(&transactions);
        self.history.extend(transactions.iter().map(|one| one.txid));
    }

    /// Holds what a view says of it against what was done.
    fn holds(&self, view: &View, per_page: u64) {
        let totals = view.address(&self.script, Tier::Any).unwrap().unwrap();
        let count = self.history.len() as u64;
        assert_eq!((totals.tx_count, totals.unspent_count), (count, self.coins.len() as u64));
        let sum: u128 = self.coins.iter().map(|coin| u128::from(coin.value.0)).sum();
        assert_eq!(totals.received - totals.sent, sum);
        let last = (count - 1) / per_page;
        for page in [0, 1, last / 2, last - 1, last, last + 1, last * 1000] {
            let history = view.history(&self.script, page * per_page, per_page).unwrap().unwrap();
            assert_eq!(history.tx_count, count);
            let ids: Vec<Hash32> = history.transactions.iter().map(|t| t.record.txid).collect();
            let expected = self.history.iter().rev().skip((page * per_page) as usize);
            let expected: Vec<Hash32> = expected.take(per_page as usize).copied().collect();
            assert_eq!(ids, expected, "page {page} of {last}");
            assert_eq!(ids.is_empty(), page > last);
        }
        for limit in [1, 1000] {
            let list = view.unspent(&self.script, limit).unwrap().unwrap();
            assert_eq!(list.count, self.coins.len() as u64);
            let items: Vec<(u64, u32, Spot)> = list
                .items
                .iter()
                .map(|item| (item.value, item.height, Spot(item.vout, item.txid)))
                .collect();
            let expected = self.coins.iter().take(limit);
            let expected: Vec<(u64, u32, Spot)> =
                expected.map(|coin| (coin.value.0, coin.height, coin.place)).collect();
            assert_eq!(items, expected);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whale_is_counted_paged_and_ordered() {
    let grown = Grown::new("btc", 5).await;
    let script = key_hash_script(1_000_000);
    let mut whale = Whale { grown, script, history: Vec::new(), coins: Vec::new() };
    assert!(REWARD > BLOCK as u64 * 101_000);
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::of(&whale.grown.stub, "btc", dir.path()).await;
    while whale.coins.len() < PAID {
        let number = BLOCK.min(PAID - whale.coins.len());
        whale.pay(number);
    }
    let spent: Vec<Coin> = whale.coins.iter().step_by(PAID / SPENT).take(SPENT).copied().collect();
    let gone: HashSet<Spot> = spent.iter().map(|coin| coin.place).collect();
    whale.coins.retain(|coin| !gone.contains(&coin.place));
    spent.chunks(BLOCK).for_each(|coins| whale.spend(coins));
    whale.coins.sort();
    assert_eq!((whale.history.len(), whale.coins.len()), (130_000 / SCALE, 100_000 / SCALE));
    follower.in_sync_with(&whale.grown.stub).await;
    for per_page in [1, 25, 50] {
        whale.holds(&follower.view(), per_page);
    }
    // The largest go first, so that every scan begins where many rows were.
    let every = (whale.coins.len() / BLOCK / 5).max(1);
    let mut blocks = 0;
    while whale.coins.len() > BLOCK {
        let largest: Vec<Coin> = whale.coins.drain(..BLOCK).collect();
        whale.spend(&largest);
        blocks += 1;
        if blocks % every == 0 {
            follower.in_sync_with(&whale.grown.stub).await;
            whale.holds(&follower.view(), 25);
        }
    }
    let rest: Vec<Coin> = whale.coins.drain(..).collect();
    whale.spend(&rest);
    follower.in_sync_with(&whale.grown.stub).await;
    whale.holds(&follower.view(), 25);
    follower.end().await;
}
