//! Hash and time of the blocks that transactions are in, remembered once they were read.
//!
//! A page has many transactions, and most readers ask for late ones. Invariants: what is remembered
//! is of one tip, so that no reorganisation makes it wrong; it is bounded, and of a tip that nobody
//! asks for nothing is held.

use std::sync::{Arc, OnceLock};

use chain::Hash32;
use quick_cache::sync::Cache;

use super::{Inclusion, View};
use crate::utxo::block_row::BlockRow;
use crate::utxo::schema::HEADER_BY_HEIGHT;
use crate::{ReadError, Tier};

/// Blocks that are remembered.
const MOST: usize = 8192;

/// What is shown of a block with each of its transactions.
#[derive(Clone, Copy)]
struct Stamp {
    hash: Hash32,
    time: u32,
}

/// The blocks of one tip.
#[derive(Clone, Default)]
pub(super) struct Blocks(Arc<OnceLock<Cache<u32, Stamp>>>);

impl Blocks {
    fn cache(&self) -> &Cache<u32, Stamp> {
        self.0.get_or_init(|| Cache::new(MOST))
    }
}

impl View {
    /// The blocks of confirmed transactions, by their places, in their order.
    pub(super) fn inclusions(
        &self,
        tier: Tier,
        txnums: impl Iterator<Item = u64>,
    ) -> Result<Vec<Inclusion>, ReadError> {
        let cache = self.blocks.cache();
        let mut found = Vec::with_capacity(txnums.size_hint().0);
        for txnum in txnums {
            let height = self.heights.height_of(txnum).ok_or_else(super::gone)?;
            found.push((height, cache.get(&height)));
        }
        let missing = || found.iter().filter(|(_, stamp)| stamp.is_none());
        let mut heights: Vec<u32> = missing().map(|(height, _)| *height).collect();
        heights.sort_unstable();
        heights.dedup();
        let read = self.stamps(tier, &heights)?;
        let included = |(height, stamp): (u32, Option<Stamp>)| {
            let read = || heights.binary_search(&height).ok().map(|place| read[place]);
            let Stamp { hash, time } = stamp.or_else(read).ok_or_else(super::gone)?;
            Ok(Inclusion::Block { height, hash, time })
        };
        found.into_iter().map(included).collect()
    }

    /// Reads blocks, and remembers them.
    fn stamps(&self, tier: Tier, heights: &[u32]) -> Result<Vec<Stamp>, ReadError> {
        let keys: Vec<[u8; 4]> = heights.iter().map(|height| height.to_be_bytes()).collect();
        let mut stamps = Vec::with_capacity(heights.len());
        for (height, row) in
            heights.iter().zip(self.reader(tier).multi_get(HEADER_BY_HEIGHT, &keys)?)
        {
            let block = BlockRow::read(*height, &row.ok_or_else(super::gone)?);
            let BlockRow { hash, time, .. } = block.map_err(|bad| bad.of("header_by_height"))?;
            self.blocks.cache().insert(*height, Stamp { hash, time });
            stamps.push(Stamp { hash, time });
        }
        Ok(stamps)
    }
}
