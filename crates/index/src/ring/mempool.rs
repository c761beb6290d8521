//! The transactions that wait for a block, as our node shows them to the public.
//!
//! Leaves asking the node to `pool_pass`. Readers hold copies that share their parts. Invariants:
//! a transaction is never in the pool and in the chain of one view; no two that are here spend one
//! key image; memory stays within a bound, beyond which only hashes are kept.

use std::cmp::Reverse;
use std::sync::Arc;

use chain::ring::{Hash, Key};
use rpds::{HashTrieMapSync, HashTrieSetSync, RedBlackTreeMapSync};

use super::decoded::DecodedTransaction;
use super::facts::NodeFacts;
use super::record::TransactionRecord;

/// A transaction of the pool.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) record: Arc<TransactionRecord>,
    /// What it spends.
    pub(crate) key_images: Vec<Key>,
    /// When we saw it first, in seconds since 1970.
    pub(crate) first_seen: u64,
    /// Bytes of its memory, estimated.
    pub(crate) memory: u64,
}

/// A waiting transaction's place in lists: newest first seen first, then by hash (decision R10).
type Turn = (Reverse<u64>, Hash);

/// The pool. A clone shares everything that does not change.
#[derive(Clone, Debug, Default)]
pub struct Mempool {
    entries: HashTrieMapSync<Hash, Arc<Entry>>,
    order: RedBlackTreeMapSync<Turn, Arc<Entry>>,
    /// Which waiting transaction spends a key image.
    spends: HashTrieMapSync<Key, Hash>,
    /// Hashes of transactions that the bound left no room for.
    beyond: HashTrieSetSync<Hash>,
    memory: u64,
    facts: Option<Arc<NodeFacts>>,
}

impl Mempool {
    /// How many transactions wait and are shown.
    pub fn count(&self) -> u64 {
        self.entries.size() as u64
    }

    /// What the node said last of its chain.
    pub(crate) fn facts(&self) -> Option<Arc<NodeFacts>> {
        self.facts.clone()
    }

    pub(crate) fn note_facts(&mut self, facts: Arc<NodeFacts>) {
        self.facts = Some(facts);
    }

    pub(crate) fn entry(&self, hash: &Hash) -> Option<&Arc<Entry>> {
        self.entries.get(hash)
    }

    /// Every transaction, newest first seen first, then by hash.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.order.values()
    }

    /// Every hash, those included that the bound left no room for.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = &Hash> {
        self.entries.keys().chain(self.beyond.iter())
    }

    /// Whether a transaction waits.
    pub(crate) fn contains(&self, hash: &Hash) -> bool {
        self.entries.contains_key(hash) || self.beyond.contains(hash)
    }

    /// Bytes of memory, estimated.
    pub(crate) fn memory(&self) -> u64 {
        self.memory
    }

    /// Notes a hash that the bound left no room for.
    pub(crate) fn leave_beyond(&mut self, hash: Hash) {
        self.beyond.insert_mut(hash);
    }

    /// Adds a transaction; whatever spends the same key images goes.
    pub(crate) fn insert(&mut self, entry: Entry) {
        let hash = entry.record.hash;
        if self.entries.contains_key(&hash) {
            return;
        }
        for image in &entry.key_images {
            self.spent(image);
            self.spends.insert_mut(*image, hash);
        }
        let entry = Arc::new(entry);
        self.beyond.remove_mut(&hash);
        self.memory += entry.memory;
        self.order.insert_mut((Reverse(entry.first_seen), hash), Arc::clone(&entry));
        self.entries.insert_mut(hash, entry);
    }

    /// Takes a transaction out.
    pub(crate) fn remove(&mut self, hash: &Hash) {
        self.beyond.remove_mut(hash);
        let Some(entry) = self.entries.get(hash).cloned() else { return };
        self.entries.remove_mut(hash);
        self.order.remove_mut(&(Reverse(entry.first_seen), *hash));
        for image in &entry.key_images {
            if self.spends.get(image) == Some(hash) {
                self.spends.remove_mut(image);
            }
        }
        self.memory = self.memory.saturating_sub(entry.memory);
    }

    /// A key image is spent elsewhere: what spends it here can never be in a block.
    pub(crate) fn spent(&mut self, key_image: &Key) {
        if let Some(rival) = self.spends.get(key_image).copied() {
            self.remove(&rival);
        }
    }

    /// Takes out what a block has and what it makes impossible.
    pub(crate) fn confirm(&mut self, transaction: &DecodedTransaction) {
        self.remove(&transaction.record.hash);
        transaction.key_images.iter().for_each(|image| self.spent(image));
    }
}
