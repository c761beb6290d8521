//! Waiting transactions that were read before a transaction whose outputs they spend.
//!
//! Invariant: memory stays within a bound; beyond it only ids are kept.

use std::collections::{HashMap, HashSet};

use chain::Hash32;

/// Bytes of raw transactions that are kept.
const MOST_BYTES: usize = 32 << 20;

/// Transactions that wait for a parent.
#[derive(Default)]
pub(crate) struct Orphans {
    raw: HashMap<Hash32, Vec<u8>>,
    bytes: usize,
    by_parent: HashMap<Hash32, Vec<Hash32>>,
    /// Those for whose bytes there was no room.
    dropped: HashSet<Hash32>,
}

impl Orphans {
    /// Keeps a transaction until that parent comes.
    pub(crate) fn keep(&mut self, txid: Hash32, raw: &[u8], parent: Hash32) {
        if self.bytes + raw.len() > MOST_BYTES {
            self.dropped.insert(txid);
            return;
        }
        self.bytes += raw.len();
        self.raw.insert(txid, raw.to_vec());
        self.by_parent.entry(parent).or_default().push(txid);
    }

    /// Takes out those that waited for a transaction.
    pub(crate) fn freed(&mut self, parent: &Hash32) -> Vec<(Hash32, Vec<u8>)> {
        let children = self.by_parent.remove(parent).unwrap_or_default();
        let take = |txid| self.raw.remove(&txid).map(|raw| (txid, raw));
        let freed: Vec<_> = children.into_iter().filter_map(take).collect();
        self.bytes -= freed.iter().map(|(_, raw)| raw.len()).sum::<usize>();
        freed
    }

    /// The ids of all that still wait.
    pub(crate) fn into_ids(self) -> impl Iterator<Item = Hash32> {
        self.raw.into_keys().chain(self.dropped)
    }
}
