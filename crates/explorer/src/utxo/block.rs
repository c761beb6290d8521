//! `/blocks`, `/block/{height|hash}` and `/block/{height|hash}/txs`.

use chain::Network;
use index::utxo::BlockRow;
use schemars::JsonSchema;
use serde::Serialize;

use super::hex::HashHex;
use super::listing::{Listing, Source};
use super::place::BlockPlace;
use super::{Desk, Fail};
use crate::answer::{Page, Question};
use crate::refusal::{Reason, Refusal};

/// A block in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "BlockSummary")]
pub struct Summary {
    /// Hash.
    #[schemars(with = "HashHex")]
    pub hash: String,
    /// Height.
    pub height: u32,
    /// Bytes of the whole block.
    pub size: u64,
    /// Seconds since 1970.
    pub time: u32,
    /// Transactions.
    pub tx_count: u32,
}

/// A block.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Block")]
pub struct Header {
    /// Compact target in hex.
    #[schemars(regex(pattern = r"^[0-9a-f]{8}$"))]
    pub bits: String,
    /// Blocks of the chain that confirm it, itself included.
    pub confirmations: u32,
    /// Difficulty that the target stands for.
    pub difficulty: f64,
    /// Hash.
    #[schemars(with = "HashHex")]
    pub hash: String,
    /// Height.
    pub height: u32,
    /// Root of its transactions.
    #[schemars(with = "HashHex")]
    pub merkle_root: String,
    /// Absent at the tip.
    #[schemars(with = "Option<HashHex>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_hash: Option<String>,
    /// Decimal digits; on zec 64 hex digits.
    pub nonce: String,
    /// Absent at the genesis block.
    #[schemars(with = "Option<HashHex>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_hash: Option<String>,
    /// Bytes of the whole block.
    pub size: u64,
    /// Seconds since 1970.
    pub time: u32,
    /// Transactions.
    pub tx_count: u32,
    /// Signed.
    pub version: i32,
}

/// The difficulty that a target in compact form stands for on a network.
pub(crate) fn difficulty(bits: u32, network: &Network) -> f64 {
    network.difficulty.map_or(0.0, |scale| scale.of(bits))
}

/// A list of blocks, newest first.
#[derive(Debug)]
pub(crate) struct Blocks {
    /// The newest; none: the tip. `Some(None)` are digits that no height has.
    start: Option<Option<u32>>,
    limit: u64,
}

impl Blocks {
    pub(crate) fn of(question: &Question<'_>) -> Result<Blocks, Refusal> {
        let start = question.number("start")?.map(|number| number.height());
        Ok(Blocks { start, limit: question.bounded("limit", 1, 25, 10)? })
    }

    pub(crate) fn answer(&self, desk: &Desk) -> Result<Vec<Summary>, Fail> {
        let tip = desk.view.height();
        let start = self.start.unwrap_or(Some(tip)).filter(|start| *start <= tip);
        let start = start.ok_or(Reason::NotFound)?;
        let mut blocks = Vec::with_capacity(self.limit as usize);
        for height in (0..=start).rev().take(self.limit as usize) {
            let block = desk.view.block(height, desk.tier)?.ok_or(Reason::ServiceUnavailable)?;
            blocks.push(Summary {
                hash: block.hash.to_string(),
                height,
                size: block.size,
                time: block.time,
                tx_count: block.tx_count,
            });
        }
        Ok(blocks)
    }
}

/// One block.
pub(crate) fn header(desk: &Desk, place: &BlockPlace) -> Result<Header, Fail> {
    let block = place.find(desk)?.ok_or(Reason::NotFound)?;
    let hash_at = |height: Option<u32>| -> Result<Option<String>, Fail> {
        let Some(height) = height else { return Ok(None) };
        let block = desk.view.block(height, desk.tier)?;
        Ok(block.map(|block| block.hash.to_string()))
    };
    Ok(Header {
        bits: format!("{:08x}", block.bits),
        confirmations: desk.confirmations(block.height),
        difficulty: difficulty(block.bits, desk.network),
        hash: block.hash.to_string(),
        height: block.height,
        merkle_root: block.merkle_root.to_string(),
        next_hash: hash_at(block.height.checked_add(1))?,
        nonce: block.nonce.to_string(),
        previous_hash: hash_at(block.height.checked_sub(1))?,
        size: block.size,
        time: block.time,
        tx_count: block.tx_count,
        version: block.version,
    })
}

/// A page of a block's transactions, in block order.
#[derive(Debug)]
pub(crate) struct BlockTxs {
    place: BlockPlace,
    page: Page,
}

impl BlockTxs {
    pub(crate) fn of(question: &Question<'_>) -> Result<BlockTxs, Refusal> {
        let place = BlockPlace::of(&question.argument()?)?;
        Ok(BlockTxs { place, page: question.page()? })
    }

    /// The page, once the block is found.
    pub(crate) fn listing(&self, desk: &Desk) -> Result<Listing, Fail> {
        let block: BlockRow = self.place.find(desk)?.ok_or(Reason::NotFound)?;
        Ok(Listing::new(desk.clone(), Source::Block(Box::new(block)), self.page))
    }
}
