//! `/blocks`, `/block/{height|hash}` and `/block/{height|hash}/txs`.

use std::sync::Arc;

use bytes::Bytes;
use chain::account::{Address, Hash, U256};
use index::account::{BlockFacts, Placed, View};
use schemars::JsonSchema;
use serde::Serialize;

use super::place::{BlockPlace, Cursor};
use super::text::{Data, Text};
use super::transaction::{Listed, in_list};
use super::{Desk, confirmations};
use crate::json::json;
use crate::refusal::{Reason, Refusal};

/// A block in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Summary")]
pub struct Summary {
    /// Base fee of a unit of gas; absent before London.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_fee_per_gas: Option<Text<U256>>,
    /// Gas that its transactions could use.
    pub gas_limit: u64,
    /// Gas that they used.
    pub gas_used: u64,
    /// Its hash.
    pub hash: Text<Hash>,
    /// Its height.
    pub height: u32,
    /// Who gets its fees.
    pub miner: Text<Address>,
    /// Bytes, as the node counts them.
    pub size: u64,
    /// Seconds since 1970.
    pub time: u64,
    /// Fees of its transactions, those of blobs too.
    pub total_fees: Text<U256>,
    /// Transactions.
    pub tx_count: u32,
}

/// A block alone.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Block")]
pub struct Block<'a> {
    /// What lists show of it too.
    #[serde(flatten)]
    pub summary: Summary,
    /// Blocks from it to the tip, itself included.
    pub confirmations: u32,
    /// Difficulty; 0 since the Merge.
    pub difficulty: Text<U256>,
    /// Blob gas over target so far; absent before Cancun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excess_blob_gas: Option<u64>,
    /// What its maker wrote into it.
    pub extra_data: Data<&'a [u8]>,
    /// What it created: the rewards of its maker and of uncles.
    pub issuance: Text<U256>,
    /// Hash of the block before; zeros at genesis.
    pub parent_hash: Text<Hash>,
    /// Root of the state after it.
    pub state_root: Text<Hash>,
    /// Values of its transactions, failed ones too.
    pub total_value: Text<U256>,
    /// Withdrawals; absent before Shanghai.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withdrawal_count: Option<u32>,
}

/// A part of a block's transactions, in its order.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Transactions")]
pub struct Transactions {
    /// There are more.
    pub has_more: bool,
    /// Where they go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<u64>,
    /// Its transactions.
    pub txs: Vec<Listed>,
    /// Height of the tip that the answer was made from.
    pub tip_height: u32,
    /// Hash of that tip.
    pub tip_hash: Text<Hash>,
}

fn summary(facts: &BlockFacts) -> Summary {
    Summary {
        base_fee_per_gas: facts.base_fee.map(Text),
        gas_limit: facts.gas_limit,
        gas_used: facts.gas_used,
        hash: Text(facts.hash),
        height: facts.height,
        miner: Text(facts.miner),
        size: facts.size,
        time: facts.time,
        total_fees: Text(facts.total_fees),
        tx_count: facts.tx_count,
    }
}

/// Blocks from `start` down, or from the tip.
pub(super) async fn blocks(
    desk: &Desk<'_>,
    start: Option<u32>,
    limit: u32,
) -> Result<Bytes, Refusal> {
    let (tip, base) = (desk.view.tip().height, desk.view.base());
    let start = start.unwrap_or(tip);
    if start > tip {
        return Err(Reason::NotFound.into());
    }
    if start < base {
        return Err(desk.below_base());
    }
    let lowest = start.saturating_sub(limit - 1).max(base);
    let read = move |view: &View, tier| {
        let blocks = (lowest..=start).rev().map(|height| view.block(height, tier));
        let blocks: Vec<Option<BlockFacts>> = blocks.collect::<Result<_, _>>()?;
        Ok(blocks.iter().flatten().map(summary).collect::<Vec<_>>())
    };
    Ok(json(&desk.read(read).await?))
}

/// The block of a place.
async fn find(desk: &Desk<'_>, place: BlockPlace) -> Result<Arc<BlockFacts>, Refusal> {
    if place.is_below(&desk.view) {
        return Err(desk.below_base());
    }
    let found = desk.read(move |view, tier| place.find(view, tier)).await?;
    found.map(Arc::new).ok_or_else(|| Reason::NotFound.into())
}

/// One block.
pub(super) async fn block(desk: &Desk<'_>, place: BlockPlace) -> Result<Bytes, Refusal> {
    let facts = find(desk, place).await?;
    Ok(json(&Block {
        summary: summary(&facts),
        confirmations: confirmations(&desk.view, facts.height),
        difficulty: Text(facts.difficulty),
        excess_blob_gas: facts.excess_blob_gas,
        extra_data: Data(&facts.extra_data),
        issuance: Text(facts.issuance),
        parent_hash: Text(facts.parent),
        state_root: Text(facts.state_root),
        total_value: Text(facts.total_value),
        withdrawal_count: facts.withdrawals,
    }))
}

/// A part of a block's transactions, in its order.
pub(super) async fn transactions(
    desk: &Desk<'_>,
    place: BlockPlace,
    cursor: Option<Cursor>,
    limit: u32,
) -> Result<Bytes, Refusal> {
    let facts = find(desk, place).await?;
    if cursor.is_some_and(|cursor| cursor.height != facts.height) {
        let text = "the cursor is of another block";
        return Err(Refusal::saying(Reason::BadRequest, text));
    }
    let from = cursor.map_or(0, |cursor| cursor.position);
    let (height, count) = (facts.height, facts.tx_count);
    let read = move |view: &View, tier| {
        let placed: Vec<Placed> = view.transactions(&facts, from, limit as usize, tier)?;
        Ok(placed.into_iter().map(|placed| in_list(view, placed)).collect::<Vec<_>>())
    };
    let txs = desk.read(read).await?;
    let next = from.saturating_add(txs.len() as u32);
    let has_more = next < count;
    let next_cursor = has_more.then(|| Cursor { height, position: next }.number());
    let tip = desk.view.tip();
    Ok(json(&Transactions {
        has_more,
        next_cursor,
        txs,
        tip_height: tip.height,
        tip_hash: Text(tip.hash),
    }))
}
