//! `/gas`: what to offer for gas (decision A10).

use bytes::Bytes;
use chain::account::U256;
use schemars::JsonSchema;
use serde::Serialize;

use super::Desk;
use super::text::Text;
use crate::json::json;
use crate::refusal::Refusal;

/// What to offer for gas at the tip.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Gas")]
pub struct Gas {
    /// Base fee of the tip, a unit of gas; absent before London.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_fee_per_gas: Option<Text<U256>>,
    /// Height of the tip.
    pub height: u32,
    /// Base fee of the next block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_base_fee: Option<Text<U256>>,
    /// Ways to pay, the cheapest first.
    pub tiers: Vec<GasTier>,
}

/// One way to pay for gas.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Tier")]
pub struct GasTier {
    /// How soon it is likely to be mined.
    #[schemars(extend("enum" = ["slow", "standard", "fast"]))]
    pub label: &'static str,
    /// Most to pay for a unit of gas.
    pub max_fee_per_gas: Text<U256>,
    /// What the block's maker gets of it.
    pub max_priority_fee_per_gas: Text<U256>,
}

/// What gas costs.
pub(super) async fn gas(desk: &Desk<'_>) -> Result<Bytes, Refusal> {
    let fees = desk.index.fees(&desk.view).await?;
    let tier = |tier: &index::account::FeeTier| GasTier {
        label: tier.label,
        max_fee_per_gas: Text(tier.most),
        max_priority_fee_per_gas: Text(tier.tip),
    };
    Ok(json(&Gas {
        base_fee_per_gas: fees.base_fee.map(Text),
        height: fees.height,
        next_base_fee: fees.next_base_fee.map(Text),
        tiers: fees.tiers.iter().map(tier).collect(),
    }))
}
