//! `/status`.

use index::utxo::{Index, ValuePool};
use serde::Serialize;

use super::amount::Amount;
use super::block::difficulty;

/// The status of a chain.
#[derive(Debug, Serialize)]
pub(crate) struct Status {
    #[serde(skip_serializing_if = "Option::is_none")]
    best_hash: Option<String>,
    chain: &'static str,
    decimals: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    difficulty: Option<f64>,
    family: &'static str,
    height: u32,
    in_sync: bool,
    mempool_count: u64,
    name: &'static str,
    network: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    node_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pools: Option<Vec<Pool>>,
    symbol: &'static str,
}

/// What a pool of value holds, by the node's name of it.
#[derive(Debug, Serialize)]
struct Pool {
    id: String,
    value: Amount,
}

impl Pool {
    fn of(pool: &ValuePool) -> Pool {
        Pool { id: pool.id.clone(), value: Amount(pool.value.into()) }
    }
}

/// How the index stands. While the first load runs, `height` says how far it is.
pub(crate) fn status(index: &Index) -> Status {
    let (chain, standing, view) = (index.chain(), index.standing(), index.view());
    let (height, best_hash) = match &view {
        Some(view) => (view.height(), Some(view.hash().to_string())),
        None => (standing.height, standing.best_hash),
    };
    let pools = view.as_ref().and_then(|view| view.mempool()?.value_pools());
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
        node_version: standing.node_version,
        pools,
        symbol: chain.symbol,
    }
}
