//! `/status`.

use chain::{Chain, Dialect};
use index::utxo::{Index, ValuePool};
use schemars::JsonSchema;
use serde::Serialize;

use super::amount::Amount;
use super::block::difficulty;
use super::hex::HashHex;

/// The status of a chain.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Status")]
pub struct Status {
    /// Hash of the tip.
    #[schemars(with = "Option<HashHex>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_hash: Option<String>,
    /// Lower-case slug.
    pub chain: &'static str,
    /// Decimals of the smallest unit.
    pub decimals: u8,
    /// Difficulty of the tip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difficulty: Option<f64>,
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
    /// As the node names itself; not on dcr.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_version: Option<String>,
    /// What each pool of value holds, on zec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pools: Option<Vec<Pool>>,
    /// Symbol of the coin.
    pub symbol: &'static str,
}

/// What a pool of value holds.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ValuePool")]
pub struct Pool {
    /// The node's name of it.
    pub id: String,
    /// What it holds, in the smallest unit.
    pub value: Amount,
}

impl Pool {
    fn of(pool: &ValuePool) -> Pool {
        Pool { id: pool.id.clone(), value: Amount(pool.value.into()) }
    }
}

/// The specification names dcr as a chain without `node_version`.
fn shows_version(chain: &Chain) -> bool {
    chain.dialect != Dialect::Dcrd
}

/// How the index stands. While the first load runs, `height` says how far it is.
pub(crate) fn status(index: &Index) -> Status {
    let (chain, standing, view) = (index.chain(), index.standing(), index.view());
    let (height, best_hash) = match &view {
        Some(view) => (view.height(), Some(view.hash().to_string())),
        None => (standing.height, standing.best_hash),
    };
    let pools = view.as_ref().and_then(|view| view.value_pools());
    let pools = pools.map(|pools| pools.iter().map(Pool::of).collect());
    Status {
        best_hash,
        chain: chain.slug,
        decimals: chain.decimals,
        difficulty: view.and_then(|view| view.bits()).map(|bits| difficulty(bits, index.network())),
        family: chain.family.as_str(),
        height,
        in_sync: standing.in_sync,
        mempool_count: standing.mempool_count,
        name: chain.name,
        network: index.network().name,
        node_version: standing.node_version.filter(|_| shows_version(chain)),
        pools,
        symbol: chain.symbol,
    }
}
