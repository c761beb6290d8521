//! `/status`.

use chain::account::U256;
use index::account::{Index, View};
use schemars::JsonSchema;
use serde::Serialize;

use super::text::Text;

/// The status of a chain.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Status")]
pub struct Status {
    /// What only this family has; absent before the first block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountStatus>,
    /// Hash of the tip.
    #[schemars(with = "Option<Text<chain::account::Hash>>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_hash: Option<String>,
    /// Lower-case slug.
    pub chain: &'static str,
    /// Decimals of the smallest unit.
    pub decimals: u8,
    /// Difficulty of the tip; 0 since the Merge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difficulty: Option<f64>,
    /// `utxo`, `account` or `ring`.
    #[schemars(extend("enum" = ["utxo", "account", "ring"]))]
    pub family: &'static str,
    /// Height of the tip.
    pub height: u32,
    /// Our tip is the best block of a node that is not syncing and was heard within 30 seconds, and
    /// the pool was looked at.
    pub in_sync: bool,
    /// Transactions that wait, those included that cannot be mined yet; absent where the node does
    /// not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mempool_count: Option<u64>,
    /// Name of the chain.
    pub name: &'static str,
    /// Network of the chain.
    pub network: &'static str,
    /// As the node names itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_version: Option<String>,
    /// Symbol of the coin.
    pub symbol: &'static str,
}

/// What only chains of accounts have in their status.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AccountStatus")]
pub struct AccountStatus {
    /// Base fee of the tip, a unit of gas; absent before London.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_fee_per_gas: Option<Text<U256>>,
    /// The number that transactions are signed for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain_id: Option<u64>,
    /// Gas that the tip's transactions could use.
    pub gas_limit: u64,
    /// How much of it they used, from 0 to 1.
    pub gas_used_ratio: f64,
    /// Base fee of the next block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_base_fee: Option<Text<U256>>,
    /// Transactions that could be mined next; absent where the node does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_tx_count: Option<u64>,
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
