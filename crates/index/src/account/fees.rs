//! What a transaction should offer for its gas (decision A10).
//!
//! Invariant: tips are medians over blocks that are not empty; one answer of a node serves a tip.

use std::sync::{Arc, Mutex, PoisonError};

use chain::account::{Hash, U256, next_base_fee};
use node::{Node, Tried};
use serde::Deserialize;

use super::nodes::Nodes;
use super::quantity::Hex;
use super::unanswered::Unanswered;
use super::upstream::{Upstream, read};
use super::view::View;
use crate::sync::UpstreamError;

/// Labels of the tiers, the cheapest first, in the order of the percentiles that are asked for.
const LABELS: [&str; 3] = ["slow", "standard", "fast"];

/// One way to pay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeeTier {
    /// `slow`, `standard` or `fast`.
    pub label: &'static str,
    /// For the block's maker, a unit of gas.
    pub tip: U256,
    /// Most to pay for a unit of gas.
    pub most: U256,
}

/// What gas costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fees {
    /// Height of the tip that it is told of.
    pub height: u32,
    /// Base fee of the tip; none before London.
    pub base_fee: Option<U256>,
    /// Base fee of the next block.
    pub next_base_fee: Option<U256>,
    /// The ways to pay, the cheapest first.
    pub tiers: Vec<FeeTier>,
}

/// The tips of the last tip that was asked for.
#[derive(Debug, Default)]
pub(super) struct FeeCache(Mutex<Option<(Hash, [U256; 3])>>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct History {
    #[serde(default)]
    gas_used_ratio: Option<Vec<f64>>,
    #[serde(default)]
    reward: Option<Vec<Vec<Hex<U256>>>>,
}

impl View {
    /// The base fee of the block after the tip; none before London.
    pub fn next_base_fee(&self) -> Option<U256> {
        let tip = self.tip();
        tip.base_fee.map(|base_fee| next_base_fee(base_fee, tip.gas_used, tip.gas_limit))
    }
}

impl FeeCache {
    /// What gas costs at the tip of a view.
    pub(super) async fn fees(&self, nodes: &Nodes, view: &View) -> Result<Fees, Unanswered> {
        let tip = view.tip();
        let cached = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let tips = match cached.filter(|(hash, _)| *hash == tip.hash) {
            Some((_, tips)) => tips,
            None => {
                let tips = tips(nodes).await?;
                let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                *cache = Some((tip.hash, tips));
                tips
            }
        };
        let next_base_fee = view.next_base_fee();
        let base = next_base_fee.unwrap_or_default().saturating_mul(U256::from(2));
        let tier = |(label, tip): (&'static str, U256)| FeeTier {
            label,
            tip,
            most: base.saturating_add(tip),
        };
        let tiers = LABELS.into_iter().zip(tips).map(tier).collect();
        Ok(Fees { height: tip.height, base_fee: tip.base_fee, next_base_fee, tiers })
    }
}

async fn tips(nodes: &Nodes) -> Result<[U256; 3], Unanswered> {
    let mut tried = Tried::new();
    let mut last = Unanswered::Silent;
    while let Ok(node) = nodes.pick(&tried) {
        let method = "eth_feeHistory";
        let answer = nodes.upstream.call(&node, method, r#"["0x14","latest",[10,50,90]]"#).await;
        match answer.and_then(|text| read::<History>(method, &text)) {
            Ok(history) => {
                if let Some(tips) = medians(history) {
                    return Ok(tips);
                }
                return Ok([suggested(&nodes.upstream, &node).await; 3]);
            }
            Err(UpstreamError::Missing { .. }) => {
                return Ok([suggested(&nodes.upstream, &node).await; 3]);
            }
            Err(error) => last = Unanswered::of(&error),
        }
        tried.add(&node);
    }
    Err(last)
}

/// What the node itself would offer; nothing where it does not say.
async fn suggested(upstream: &Upstream, node: &Arc<Node>) -> U256 {
    let method = "eth_maxPriorityFeePerGas";
    let answer = upstream.call(node, method, "[]").await;
    let tip = answer.and_then(|text| read::<Hex<U256>>(method, &text));
    tip.map_or(U256::ZERO, |tip| tip.0)
}

/// The lower medians over the blocks that are not empty; none where there is no such block.
fn medians(history: History) -> Option<[U256; 3]> {
    let ratios = history.gas_used_ratio.unwrap_or_default();
    let rows = history.reward.unwrap_or_default();
    let used = ratios.iter().zip(&rows).filter(|(ratio, row)| **ratio > 0.0 && row.len() == 3);
    let rows: Vec<&Vec<Hex<U256>>> = used.map(|(_, row)| row).collect();
    let median = |place: usize| {
        let mut tips: Vec<U256> = rows.iter().map(|row| row[place].0).collect();
        tips.sort_unstable();
        tips.get((tips.len().checked_sub(1)?) / 2).copied()
    };
    let (slow, standard, fast) = (median(0)?, median(1)?, median(2)?);
    // A node's percentiles ascend; whatever it says, so do ours.
    let standard = standard.max(slow);
    Some([slow, standard, fast.max(standard)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tips(text: &str) -> Option<[u64; 3]> {
        medians(serde_json::from_str(text).unwrap()).map(|tips| tips.map(|tip| tip.to()))
    }

    #[test]
    fn empty_blocks_and_odd_rows_do_not_count() {
        let text = r#"{"gasUsedRatio":[0.5,0,0.1,0.2,0.9],"reward":[["0x1","0x2","0x3"],
            ["0x0","0x0","0x0"],["0x5","0x6","0x7"],["0x3","0x4","0x5"],["0x9"]]}"#;
        assert_eq!(tips(text), Some([3, 4, 5]));
        let two =
            r#"{"gasUsedRatio":[0.5,0.1],"reward":[["0x1","0x9","0x3"],["0x5","0x6","0x7"]]}"#;
        assert_eq!(tips(two), Some([1, 6, 6]));
        for none in [r#"{"gasUsedRatio":null}"#, "{}", r#"{"gasUsedRatio":[0],"reward":[[]]}"#] {
            assert_eq!(tips(none), None);
        }
    }
}
