//! One tip with its mempool: what every answer is made from.
//!
//! Leaves JSON, `tx_extra` and the check of outputs to the explorer. Invariants: a view never
//! changes; a read needs a bounded number of rows, and no node.

mod rings;
mod transactions;

use std::sync::Arc;

use chain::ring::Hash;

use super::block_row::BlockRow;
use super::facts::NodeFacts;
use super::mempool::Mempool;
use super::record::TransactionRecord;
use super::schema::HEIGHT_BY_HASH;
use super::store::{Store, read_block};
use super::tip::Tip;
use crate::db::{Reader, Snapshot};
use crate::heights::Heights;
use crate::sync::TipView;
use crate::{ReadError, Tier};

pub use rings::{CACHED_MEMBERS, RingMember};

/// One tip with its mempool.
pub struct View {
    tip: Tip,
    heights: Heights,
    snapshot: Arc<Snapshot>,
    mempool: Option<Mempool>,
    facts: Option<Arc<NodeFacts>>,
}

/// A transaction with what its place in the chain or the pool adds. Its rings are read apart, by
/// [`View::rings`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionView {
    /// The transaction.
    pub record: Arc<TransactionRecord>,
    /// Whether it is in a block, and in which.
    pub inclusion: Inclusion,
}

/// Whether a transaction is in a block, and in which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inclusion {
    /// In a block of the chain.
    Block {
        /// The block's height.
        height: u32,
        /// Its hash.
        hash: Hash,
        /// Its time, in seconds since 1970.
        time: u64,
    },
    /// In the mempool.
    Mempool {
        /// When we saw it first, in seconds since 1970.
        first_seen: u64,
    },
}

impl TipView<Hash, Mempool> for View {
    fn tip(&self) -> (u32, Hash) {
        (self.tip.height, self.tip.hash)
    }

    fn shows_waiting(&self) -> bool {
        self.mempool.is_some()
    }

    /// What the node said comes with a mempool; that it is not heard takes back nothing of it.
    fn showing(&self, mempool: Option<Mempool>) -> View {
        let said = mempool.as_ref().and_then(Mempool::facts);
        View {
            tip: self.tip,
            heights: self.heights.clone(),
            snapshot: Arc::clone(&self.snapshot),
            facts: said.or_else(|| self.facts.clone()),
            mempool,
        }
    }
}

impl View {
    /// What a store holds now, if it has a tip.
    pub fn of(store: &Store) -> Option<View> {
        let tip = store.tip()?;
        let snapshot = Arc::new(store.db().snapshot());
        let heights = store.heights().clone();
        Some(View { tip, heights, snapshot, mempool: None, facts: None })
    }

    pub(crate) fn reader(&self, tier: Tier) -> Reader<'_> {
        self.snapshot.reader(tier)
    }

    /// Height of the tip.
    pub fn height(&self) -> u32 {
        self.tip.height
    }

    /// Hash of the tip.
    pub fn hash(&self) -> Hash {
        self.tip.hash
    }

    /// Transactions of the chain up to the tip, coinbases left out, as the node's `get_info` counts
    /// them.
    pub fn transaction_count(&self) -> u64 {
        self.tip.next_txnum.saturating_sub(u64::from(self.tip.height) + 1)
    }

    /// The mempool; none where the node is not heard.
    pub fn mempool(&self) -> Option<&Mempool> {
        self.mempool.as_ref()
    }

    /// What the node said last of difficulty, limits and fees; none before it was heard.
    pub fn facts(&self) -> Option<&NodeFacts> {
        self.facts.as_deref()
    }

    /// The block at a height; none above the tip.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn block(&self, height: u32, tier: Tier) -> Result<Option<BlockRow>, ReadError> {
        if height > self.tip.height {
            return Ok(None);
        }
        read_block(self.reader(tier), height)
    }

    /// The height of a block of our chain; none of a block that is not in it, though a node may
    /// know it (decision E6).
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn block_height(&self, hash: &Hash, tier: Tier) -> Result<Option<u32>, ReadError> {
        let Some(row) = self.reader(tier).get(HEIGHT_BY_HASH, &hash.0)? else { return Ok(None) };
        let height = <[u8; 4]>::try_from(&row[..]).map(u32::from_be_bytes);
        let height =
            height.map_err(|_| ReadError::Damaged("a row of height_by_hash is short".into()))?;
        let block = self.block(height, tier)?;
        Ok(block.filter(|block| block.hash == *hash).map(|block| block.height))
    }
}
