//! The transactions that wait for a block, as our node has them.
//!
//! Leaves asking the node to `pool_pass`. Readers hold copies that share their parts. Invariants:
//! a transaction is never in the pool and in the chain of one view; of two that spend one output
//! only one is here; memory stays within a bound, beyond which only ids are kept; a change of one
//! transaction takes time that grows with the logarithm of the pool, however busy its scripts are.

use std::cmp::Reverse;
use std::sync::Arc;

use chain::Hash32;
use chain::utxo::{Block, OutPoint};
use rpds::{HashTrieMapSync, HashTrieSetSync, RedBlackTreeSetSync};

use super::input_view::InputView;
use super::record::TransactionRecord;
use super::script_id::ScriptId;
use super::upstream::ValuePool;

/// A transaction of the pool.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The transaction without its inputs.
    pub(crate) record: TransactionRecord,
    /// Its inputs with the outputs that they spend.
    pub(crate) inputs: Vec<InputView>,
    /// When we saw it first, in seconds since 1970.
    pub(crate) first_seen: u64,
    /// What it pays to and takes from each script.
    pub(crate) touches: Vec<Touch>,
    /// Bytes of its memory, estimated.
    pub(crate) memory: u64,
}

/// What a transaction pays to and takes from one script.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) script: ScriptId,
    pub(crate) received: u128,
    pub(crate) sent: u128,
}

/// What the pool says of one script.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolScript {
    pub(crate) received: u128,
    pub(crate) sent: u128,
    /// Its transactions in their order.
    pub(crate) order: RedBlackTreeSetSync<Turn>,
}

/// A waiting transaction's place in lists: newest first seen first, then by id as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn {
    first_seen: Reverse<u64>,
    /// The id's bytes as they are shown, which is the reverse of their order on the wire.
    shown: [u8; 32],
}

impl Turn {
    fn of(first_seen: u64, txid: &Hash32) -> Turn {
        let mut shown = *txid.wire();
        shown.reverse();
        Turn { first_seen: Reverse(first_seen), shown }
    }

    /// The transaction.
    pub(crate) fn txid(&self) -> Hash32 {
        let mut wire = self.shown;
        wire.reverse();
        Hash32::from_wire(wire)
    }
}

/// The pool. A clone shares everything that does not change.
#[derive(Clone, Debug, Default)]
pub struct Mempool {
    entries: HashTrieMapSync<Hash32, Arc<Entry>>,
    by_script: HashTrieMapSync<ScriptId, PoolScript>,
    spends: HashTrieMapSync<OutPoint, Hash32>,
    order: RedBlackTreeSetSync<Turn>,
    /// Ids of transactions that the bound left no room for.
    beyond: HashTrieSetSync<Hash32>,
    bytes: u64,
    memory: u64,
    counts_vsize: bool,
    /// What each pool of value holds after a block, as the node says.
    value_pools: Option<(Hash32, Arc<[ValuePool]>)>,
}

impl Mempool {
    /// An empty pool; whether its bytes are those of `vsize`.
    pub(crate) fn new(counts_vsize: bool) -> Mempool {
        Mempool { counts_vsize, ..Mempool::default() }
    }

    /// How many transactions wait.
    pub fn count(&self) -> u64 {
        (self.entries.size() + self.beyond.size()) as u64
    }

    /// The sum of their vsizes, on chains without witnesses of their sizes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What each pool of value holds after a block, if the node said so of that block.
    pub(crate) fn value_pools(&self, at: &Hash32) -> Option<&[ValuePool]> {
        self.value_pools.as_ref().filter(|(hash, _)| hash == at).map(|(_, pools)| &pools[..])
    }

    pub(crate) fn note_value_pools(&mut self, pools: Option<(Hash32, Arc<[ValuePool]>)>) {
        self.value_pools = pools;
    }

    /// The ids of the newest, newest first seen first.
    pub fn newest(&self, limit: usize) -> Vec<Hash32> {
        let held = self.order.iter().map(Turn::txid);
        held.chain(self.beyond.iter().copied()).take(limit).collect()
    }

    /// Whether a transaction waits.
    pub fn contains(&self, txid: &Hash32) -> bool {
        self.entries.contains_key(txid) || self.beyond.contains(txid)
    }

    /// Whether the bound left no room for a transaction.
    pub(crate) fn is_beyond(&self, txid: &Hash32) -> bool {
        self.beyond.contains(txid)
    }

    pub(crate) fn entry(&self, txid: &Hash32) -> Option<&Arc<Entry>> {
        self.entries.get(txid)
    }

    pub(crate) fn script(&self, script: ScriptId) -> Option<&PoolScript> {
        self.by_script.get(&script)
    }

    /// The waiting transaction that spends an output.
    pub(crate) fn spender(&self, output: &OutPoint) -> Option<Hash32> {
        self.spends.get(output).copied()
    }

    /// Bytes of memory, estimated.
    pub(crate) fn memory(&self) -> u64 {
        self.memory
    }

    /// Every id.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &Hash32> {
        self.entries.keys().chain(self.beyond.iter())
    }

    /// The ids that the bound left no room for.
    pub(crate) fn beyond(&self) -> impl Iterator<Item = &Hash32> {
        self.beyond.iter()
    }

    /// Every transaction that is held.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.values()
    }

    fn size_of(&self, record: &TransactionRecord) -> u64 {
        u64::from(if self.counts_vsize { record.vsize } else { record.size })
    }

    /// Notes an id that the bound left no room for.
    pub(crate) fn leave_beyond(&mut self, txid: Hash32) {
        self.beyond.insert_mut(txid);
    }

    /// Adds a transaction; whatever spends the same outputs goes.
    pub(crate) fn insert(&mut self, entry: Entry) {
        let txid = entry.record.txid;
        if self.entries.contains_key(&txid) {
            return;
        }
        for input in &entry.inputs {
            let Some(previous) = input.previous() else { continue };
            if let Some(rival) = self.spender(&previous) {
                self.remove_with_descendants(&rival);
            }
            self.spends.insert_mut(previous, txid);
        }
        let turn = Turn::of(entry.first_seen, &txid);
        for touch in &entry.touches {
            let mut of = self.by_script.get(&touch.script).cloned().unwrap_or_default();
            of.received += touch.received;
            of.sent += touch.sent;
            of.order.insert_mut(turn);
            self.by_script.insert_mut(touch.script, of);
        }
        self.order.insert_mut(turn);
        self.beyond.remove_mut(&txid);
        self.bytes += self.size_of(&entry.record);
        self.memory += entry.memory;
        self.entries.insert_mut(txid, Arc::new(entry));
    }

    /// Takes a transaction out.
    pub(crate) fn remove(&mut self, txid: &Hash32) {
        self.beyond.remove_mut(txid);
        let Some(entry) = self.entries.get(txid).cloned() else { return };
        self.entries.remove_mut(txid);
        let turn = Turn::of(entry.first_seen, txid);
        self.order.remove_mut(&turn);
        for previous in entry.inputs.iter().filter_map(InputView::previous) {
            if self.spender(&previous) == Some(*txid) {
                self.spends.remove_mut(&previous);
            }
        }
        for touch in &entry.touches {
            self.untouch(touch, &turn);
        }
        self.bytes = self.bytes.saturating_sub(self.size_of(&entry.record));
        self.memory = self.memory.saturating_sub(entry.memory);
    }

    fn untouch(&mut self, touch: &Touch, turn: &Turn) {
        let Some(mut of) = self.by_script.get(&touch.script).cloned() else { return };
        of.received = of.received.saturating_sub(touch.received);
        of.sent = of.sent.saturating_sub(touch.sent);
        of.order.remove_mut(turn);
        if of.order.is_empty() {
            self.by_script.remove_mut(&touch.script);
        } else {
            self.by_script.insert_mut(touch.script, of);
        }
    }

    /// Takes a transaction out together with all that spend its outputs.
    pub(crate) fn remove_with_descendants(&mut self, txid: &Hash32) {
        let mut waiting = vec![*txid];
        while let Some(txid) = waiting.pop() {
            if let Some(entry) = self.entries.get(&txid) {
                let outputs = (0..entry.record.outputs.len() as u32)
                    .filter_map(|vout| self.spender(&OutPoint { txid, vout }));
                waiting.extend(outputs);
            }
            self.remove(&txid);
        }
    }

    /// Takes out what a block includes and what is in conflict with it.
    pub(crate) fn confirm(&mut self, block: &Block<'_>) {
        for (transaction, txid) in block.transactions.iter().zip(&block.txids) {
            self.remove(txid);
            if self.spends.is_empty() {
                continue;
            }
            for input in transaction.inputs() {
                if let Some(rival) = self.spender(&input.previous) {
                    self.remove_with_descendants(&rival);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
