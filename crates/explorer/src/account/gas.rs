//! `/gas`: what to offer for gas (decision A10).

use bytes::Bytes;
use chain::account::U256;
use serde::Serialize;

use super::text::Text;
use super::{Desk, json};
use crate::refusal::Refusal;

#[derive(Serialize)]
struct GasJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    base_fee_per_gas: Option<Text<U256>>,
    height: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_base_fee: Option<Text<U256>>,
    tiers: Vec<TierJson>,
}

#[derive(Serialize)]
struct TierJson {
    label: &'static str,
    max_fee_per_gas: Text<U256>,
    max_priority_fee_per_gas: Text<U256>,
}

/// What gas costs.
pub(super) async fn gas(desk: &Desk<'_>) -> Result<Bytes, Refusal> {
    let fees = desk.index.fees(&desk.view).await?;
    let tier = |tier: &index::account::FeeTier| TierJson {
        label: tier.label,
        max_fee_per_gas: Text(tier.most),
        max_priority_fee_per_gas: Text(tier.tip),
    };
    Ok(json(&GasJson {
        base_fee_per_gas: fees.base_fee.map(Text),
        height: fees.height,
        next_base_fee: fees.next_base_fee.map(Text),
        tiers: fees.tiers.iter().map(tier).collect(),
    }))
}
