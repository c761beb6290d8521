//! `/status`.

use index::ring::{Index, NodeFacts, View};
use schemars::JsonSchema;
use serde::Serialize;

use super::hex::Hex32;
use crate::utxo::Amount;

/// Bytes that this coin calls a kilobyte (decision R7).
const KILOBYTE: u128 = 1024;

/// The status of a chain.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Status")]
pub struct Status {
    /// Hash of the tip.
    #[schemars(with = "Option<Hex32>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_hash: Option<String>,
    /// Lower-case slug.
    pub chain: &'static str,
    /// Decimals of the smallest unit.
    pub decimals: u8,
    /// Difficulty of the next block; a whole number.
    #[schemars(with = "Option<f64>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difficulty: Option<u128>,
    /// `utxo`, `account` or `ring`.
    #[schemars(extend("enum" = ["utxo", "account", "ring"]))]
    pub family: &'static str,
    /// Height of the tip; while an index is loaded for the first time, how far that is.
    pub height: u32,
    /// Our tip is the best block of a node that is not syncing and was heard within 30 seconds, and
    /// the mempool was read.
    pub in_sync: bool,
    /// Transactions that wait.
    pub mempool_count: u64,
    /// Name of the chain.
    pub name: &'static str,
    /// Network of the chain.
    pub network: &'static str,
    /// As the node names itself; absent where its port does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_version: Option<String>,
    /// What only this family has; absent until a node was heard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring: Option<RingStatus>,
    /// Symbol of the coin.
    pub symbol: &'static str,
}

/// What only chains of rings have.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RingStatus {
    /// Largest weight of a block now.
    pub block_size_limit: u64,
    /// Difficulty of the next block, in decimal digits; may be beyond 64 bits.
    #[schemars(with = "Amount")]
    pub difficulty: String,
    /// Fee of a byte at the lowest priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fee_per_byte: Option<Amount>,
    /// Of 1024 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fee_per_kb: Option<Amount>,
    /// Hashes a second that the difficulty stands for.
    pub hash_rate: u64,
    /// Median weight of the last blocks.
    pub median_block_size: u64,
    /// Transactions of the chain, without coinbases.
    pub tx_count_total: u64,
}

/// How the index stands. While the first load runs, `height` says how far it is.
pub(super) fn status(index: &Index) -> Status {
    let (chain, standing, view) = (index.chain(), index.standing(), index.view());
    let (height, best_hash) = match &view {
        Some(view) => (view.height(), Some(view.hash().to_string())),
        None => (standing.height, standing.best_hash),
    };
    let facts = view.as_ref().and_then(|view| Some((view, view.facts()?)));
    Status {
        best_hash,
        chain: chain.slug,
        decimals: chain.decimals,
        difficulty: facts.map(|(_, facts)| facts.difficulty),
        family: chain.family.as_str(),
        height,
        in_sync: standing.in_sync,
        mempool_count: standing.mempool_count,
        name: chain.name,
        network: index.network().name,
        node_version: standing.node_version,
        ring: facts.map(|(view, facts)| ring(view, facts)),
        symbol: chain.symbol,
    }
}

fn ring(view: &View, facts: &NodeFacts) -> RingStatus {
    let of_a_kilobyte = |fee: u64| Amount::of(u128::from(fee) * KILOBYTE);
    RingStatus {
        block_size_limit: facts.block_size_limit,
        difficulty: facts.difficulty.to_string(),
        fee_per_byte: facts.fee_per_byte.map(Amount::of),
        fee_per_kb: facts.fee_per_byte.map(of_a_kilobyte),
        hash_rate: facts.hash_rate(),
        median_block_size: facts.median_block_size,
        tx_count_total: view.transaction_count(),
    }
}
