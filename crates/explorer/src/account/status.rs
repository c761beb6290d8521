//! `/status`.

use chain::account::U256;
use index::account::{Index, View};
use serde::Serialize;

use super::text::Text;

/// The status of a chain.
#[derive(Serialize)]
pub(super) struct Status {
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<AccountStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    best_hash: Option<String>,
    chain: &'static str,
    decimals: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    difficulty: Option<f64>,
    family: &'static str,
    height: u32,
    in_sync: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    mempool_count: Option<u64>,
    name: &'static str,
    network: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    node_version: Option<String>,
    symbol: &'static str,
}

/// What only this family has.
#[derive(Serialize)]
struct AccountStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    base_fee_per_gas: Option<Text<U256>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chain_id: Option<u64>,
    gas_limit: u64,
    gas_used_ratio: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_base_fee: Option<Text<U256>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_tx_count: Option<u64>,
}

/// How the index stands. Height and hash are those of the tip that is served.
pub(super) fn status(index: &Index) -> Status {
    let (chain, standing, view) = (index.chain(), index.standing(), index.view());
    let counts = index.pool_counts();
    let (height, best_hash) = match &view {
        Some(view) => (view.tip().height, Some(view.tip().hash.to_string())),
        None => (standing.height, standing.best_hash),
    };
    Status {
        account: view.as_ref().map(|view| account(index, view)),
        best_hash,
        chain: chain.slug,
        decimals: chain.decimals,
        difficulty: view.as_ref().map(|view| number(view.tip().difficulty)),
        family: chain.family.as_str(),
        height,
        in_sync: standing.in_sync,
        mempool_count: counts.map(|(pending, queued)| pending.saturating_add(queued)),
        name: chain.name,
        network: index.network().name,
        node_version: standing.node_version,
        symbol: chain.symbol,
    }
}

fn account(index: &Index, view: &View) -> AccountStatus {
    let tip = view.tip();
    let ratio = tip.gas_used as f64 / tip.gas_limit as f64;
    AccountStatus {
        base_fee_per_gas: tip.base_fee.map(Text),
        chain_id: index.chain_id(),
        gas_limit: tip.gas_limit,
        gas_used_ratio: if ratio.is_finite() { ratio } else { 0.0 },
        next_base_fee: view.next_base_fee().map(Text),
        pending_tx_count: index.pool_counts().map(|(pending, _)| pending),
    }
}

/// The nearest number with a fraction; a difficulty is far below what that can hold.
fn number(amount: U256) -> f64 {
    amount.to_string().parse().unwrap_or(f64::MAX)
}
