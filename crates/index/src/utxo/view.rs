//! One tip with its mempool: what every answer is made from.
//!
//! Leaves JSON and addresses to the explorer. Invariants: a view never changes; a read needs a
//! bounded number of rows, whoever asks.

use std::sync::Arc;

use chain::Hash32;
use chain::utxo::Format;

use super::block_row::{BlockRow, read_block};
use super::effects::Rules;
use super::input_view::InputView;
use super::mempool::Mempool;
use super::record::TransactionRecord;
use super::schema::{HEIGHT_BY_HASH, hash_key};
use super::script_id::HashKey;
use super::store::Store;
use super::tip::Tip;
use super::upstream::ValuePool;
use crate::db::{Reader, Snapshot};
use crate::heights::Heights;
use crate::sync::TipView;
use crate::{ReadError, Tier};

mod address;
mod blocks;
mod transactions;

use blocks::Blocks;

pub use transactions::LIST_OUTPUTS;

pub use address::{AddressTotals, History, Unconfirmed, UnspentList, UnspentOutput};

/// One tip with its mempool.
pub struct View {
    tip: Tip,
    bits: Option<u32>,
    heights: Heights,
    blocks: Blocks,
    snapshot: Arc<Snapshot>,
    key: HashKey,
    format: Format,
    mempool: Option<Mempool>,
}

/// A transaction with what its place in the chain or the pool adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionView {
    /// The transaction.
    pub record: TransactionRecord,
    /// Whether it is in a block, and in which.
    pub inclusion: Inclusion,
    /// Its inputs in order.
    pub inputs: Vec<InputView>,
}

/// Whether a transaction is in a block, and in which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inclusion {
    /// In a block of the chain.
    Block {
        /// The block's height.
        height: u32,
        /// Its hash.
        hash: Hash32,
        /// Its time, in seconds since 1970.
        time: u32,
    },
    /// In a block of the chain whose regular tree the next block's votes voided, and nowhere else:
    /// it moves nothing.
    Voided {
        /// The block's height.
        height: u32,
        /// Its hash.
        hash: Hash32,
        /// Its time, in seconds since 1970.
        time: u32,
    },
    /// In the mempool.
    Mempool {
        /// When we saw it first, in seconds since 1970.
        first_seen: u64,
    },
}

impl TipView<Hash32, Mempool> for View {
    fn tip(&self) -> (u32, Hash32) {
        (self.tip.height, self.tip.hash)
    }

    fn shows_waiting(&self) -> bool {
        self.mempool.is_some()
    }

    fn showing(&self, mempool: Option<Mempool>) -> View {
        View {
            tip: self.tip,
            bits: self.bits,
            heights: self.heights.clone(),
            blocks: self.blocks.clone(),
            snapshot: Arc::clone(&self.snapshot),
            key: self.key,
            format: self.format,
            mempool,
        }
    }
}

impl View {
    /// What a store holds now, if it has a tip.
    pub fn of(store: &Store) -> Option<View> {
        let tip = store.tip()?;
        let snapshot = Arc::new(store.db().snapshot());
        let (heights, key, format) = (store.heights().clone(), *store.key(), *store.format());
        // A row that cannot be read is told by whoever asks for the block itself.
        let bits = store.block(tip.height).ok().flatten().map(|block| block.bits);
        let blocks = Blocks::default();
        Some(View { tip, bits, heights, blocks, snapshot, key, format, mempool: None })
    }

    fn reader(&self, tier: Tier) -> Reader<'_> {
        self.snapshot.reader(tier)
    }

    pub(crate) fn latest(&self) -> Reader<'_> {
        self.reader(Tier::Any)
    }

    /// How its scripts are named, and which outputs count.
    pub(crate) fn rules(&self) -> Rules<'_> {
        Rules { key: &self.key, format: &self.format }
    }

    /// Height of the tip.
    pub fn height(&self) -> u32 {
        self.tip.height
    }

    /// Hash of the tip.
    pub fn hash(&self) -> Hash32 {
        self.tip.hash
    }

    /// Target of the tip's block in compact form.
    pub fn bits(&self) -> Option<u32> {
        self.bits
    }

    /// The mempool; none where the node is not heard.
    pub fn mempool(&self) -> Option<&Mempool> {
        self.mempool.as_ref()
    }

    /// What each pool of value holds after this tip, as the node says; none on chains without such
    /// pools, and where the node is not heard.
    pub fn value_pools(&self) -> Option<&[ValuePool]> {
        self.mempool.as_ref()?.value_pools(&self.hash())
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

    /// The height of a block of our chain; none of a block that is not in it.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn block_height(&self, hash: &Hash32, tier: Tier) -> Result<Option<u32>, ReadError> {
        let row = self.reader(tier).get(HEIGHT_BY_HASH, &hash_key(hash))?;
        let Some(row) = row else { return Ok(None) };
        let height = <[u8; 4]>::try_from(&row[..]).map(u32::from_be_bytes);
        let height =
            height.map_err(|_| ReadError::Damaged("a row of height_by_hash is short".into()))?;
        let block = self.block(height, tier)?;
        Ok(block.filter(|block| block.hash == *hash).map(|block| block.height))
    }
}

fn gone() -> ReadError {
    ReadError::Damaged("a row that another one names is gone".into())
}
