//! Transactions that left the pool, until the index has come to where they may have gone.
//!
//! A node takes what it mines from its pool at once; the index has the block a moment later, or much
//! later where it waits for something. Until then such a transaction waits, as far as is known.
//! Leaves to its readers whether the chain has it by now. Invariants: what a node has put another one
//! in the place of is gone at once; what is remembered is bounded.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use chain::account::{Address, Hash};

use super::pending::Pending;

/// Transactions that are remembered.
const MOST: usize = 16_384;

/// Transactions that left, each with when that was seen.
#[derive(Debug, Default)]
pub(super) struct Gone(HashMap<Hash, (Arc<Pending>, Duration)>);

impl Gone {
    /// Goes on with what is not in a newer pool any more, of which `now` is the time. `followed` is
    /// when the index last began to come to its node's best block and did.
    pub(super) fn next(
        &self,
        before: &HashMap<Hash, Arc<Pending>>,
        newer: &HashMap<Hash, Arc<Pending>>,
        followed: Duration,
        now: Duration,
    ) -> Gone {
        let place = |tx: &Pending| -> (Address, u64) { (tx.from, tx.nonce) };
        let taken: HashSet<(Address, u64)> = newer.values().map(|tx| place(tx)).collect();
        let open = self.0.iter().filter(|(_, (_, left))| *left >= followed);
        let open = open.map(|(hash, (tx, left))| (*hash, Arc::clone(tx), *left));
        let left = before.iter().map(|(hash, tx)| (*hash, Arc::clone(tx), now));
        let gone = open
            .chain(left)
            .filter(|(hash, tx, _)| !newer.contains_key(hash) && !taken.contains(&place(tx)));
        Gone(gone.take(MOST).map(|(hash, tx, left)| (hash, (tx, left))).collect())
    }

    /// One that may be in a block that the index has not yet.
    pub(super) fn get(&self, hash: &Hash, followed: Duration) -> Option<&Arc<Pending>> {
        let (tx, left) = self.0.get(hash)?;
        (*left >= followed).then_some(tx)
    }
}

#[cfg(test)]
mod tests {
    use chain::account::U256;

    use super::*;

    fn pool(txs: &[(u8, u8, u64)]) -> HashMap<Hash, Arc<Pending>> {
        let pending = |&(hash, from, nonce): &(u8, u8, u64)| {
            let tx = Pending {
                hash: Hash([hash; 32]),
                from: Address([from; 20]),
                to: None,
                kind: 2,
                nonce,
                value: U256::ZERO,
                gas_limit: 1,
                gas_price: U256::ZERO,
                max_fee: None,
                max_tip: None,
                input: Vec::new(),
            };
            (tx.hash, Arc::new(tx))
        };
        txs.iter().map(pending).collect()
    }

    const fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn what_left_waits_until_the_index_has_come_so_far() {
        let first = pool(&[(1, 1, 0), (2, 1, 1), (3, 2, 0), (4, 3, 0)]);
        // 1 is mined or dropped, 3 replaced, 4 stays.
        let second = pool(&[(2, 1, 1), (5, 2, 0), (4, 3, 0)]);
        let gone = Gone::default().next(&first, &second, at(10), at(20));
        let has = |gone: &Gone, followed: u64| -> Vec<u8> {
            let all = (1..6).filter(|n| gone.get(&Hash([*n; 32]), at(followed)).is_some());
            all.collect()
        };
        assert_eq!(has(&gone, 10), [1]);
        assert_eq!(has(&gone, 20), [1]);
        assert_eq!(has(&gone, 21), Vec::<u8>::new());
        // Another look before the index has come so far, and one after.
        let third = pool(&[(5, 2, 0)]);
        let later = gone.next(&second, &third, at(15), at(30));
        assert_eq!(has(&later, 15), [1, 2, 4]);
        let last = later.next(&third, &third, at(25), at(40));
        assert_eq!(has(&last, 25), [2, 4]);
        // One that came back waits in the pool itself.
        let back = later.next(&third, &pool(&[(2, 1, 1)]), at(25), at(40));
        assert_eq!(has(&back, 25), [4, 5]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let many = |from: u32| -> HashMap<Hash, Arc<Pending>> {
            let one = pool(&[(1, 1, 0)]).into_values().next().unwrap();
            let tx = |n: u32| {
                let mut hash = [0; 32];
                hash[..4].copy_from_slice(&(from + n).to_be_bytes());
                let nonce = u64::from(from + n);
                (Hash(hash), Arc::new(Pending { hash: Hash(hash), nonce, ..(*one).clone() }))
            };
            (0..10_000).map(tx).collect()
        };
        let mut gone = Gone::default();
        for round in 0..4 {
            gone = gone.next(&many(round * 10_000), &HashMap::new(), at(0), at(1));
            assert!(gone.0.len() <= MOST);
        }
        assert_eq!(gone.0.len(), MOST);
    }
}
