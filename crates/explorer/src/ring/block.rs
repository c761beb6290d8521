//! `/blocks` and `/block/{height|hash}`.

use index::ring::BlockRow;
use schemars::JsonSchema;
use serde::Serialize;

use super::Desk;
use super::hex::Hex32;
use super::place::BlockPlace;
use crate::answer::Question;
use crate::fail::Fail;
use crate::refusal::{Reason, Refusal};
use crate::utxo::Amount;

/// A block in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "BlockSummary")]
pub struct Summary {
    /// Hash.
    pub hash: Hex32,
    /// Height.
    pub height: u32,
    /// Weight, as the node counts it.
    pub size: u64,
    /// Seconds since 1970.
    pub time: u64,
    /// Transactions, the coinbase among them.
    pub tx_count: u32,
}

/// A block.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Block")]
pub struct BlockJson {
    /// What a list shows of it too.
    #[serde(flatten)]
    pub summary: Summary,
    /// Blocks of the chain that confirm it, itself included.
    pub confirmations: u32,
    /// Sum of what its coinbase pays out: new coins and fees.
    pub reward: Amount,
}

fn summary(block: &BlockRow) -> Summary {
    Summary {
        hash: block.hash.into(),
        height: block.height,
        size: block.size,
        time: block.time,
        tx_count: block.tx_count,
    }
}

/// A list of blocks, newest first.
#[derive(Debug)]
pub(super) struct Blocks {
    /// The newest; none: the tip. `Some(None)` are digits that no height has.
    start: Option<Option<u32>>,
    limit: u64,
}

impl Blocks {
    pub(super) fn of(question: &Question<'_>) -> Result<Blocks, Refusal> {
        let start = question.number("start")?.map(|number| number.height());
        Ok(Blocks { start, limit: question.bounded("limit", 1, 25, 10)? })
    }

    pub(super) fn answer(&self, desk: &Desk) -> Result<Vec<Summary>, Fail> {
        let tip = desk.view.height();
        let start = self.start.unwrap_or(Some(tip)).filter(|start| *start <= tip);
        let start = start.ok_or(Reason::NotFound)?;
        let mut blocks = Vec::with_capacity(self.limit as usize);
        for height in (0..=start).rev().take(self.limit as usize) {
            let block = desk.view.block(height, desk.tier)?.ok_or(Reason::ServiceUnavailable)?;
            blocks.push(summary(&block));
        }
        Ok(blocks)
    }
}

/// The block of a place; 404 where our chain has none.
pub(super) fn find(desk: &Desk, place: BlockPlace) -> Result<BlockRow, Fail> {
    let height = match place {
        BlockPlace::Height(height) => height,
        BlockPlace::Hash(hash) => desk.view.block_height(&hash, desk.tier)?,
    };
    let block = match height {
        Some(height) => desk.view.block(height, desk.tier)?,
        None => None,
    };
    block.ok_or_else(|| Reason::NotFound.into())
}

/// One block.
pub(super) fn block(desk: &Desk, place: BlockPlace) -> Result<BlockJson, Fail> {
    let block = find(desk, place)?;
    Ok(BlockJson {
        confirmations: desk.confirmations(block.height),
        reward: Amount::of(block.reward),
        summary: summary(&block),
    })
}
