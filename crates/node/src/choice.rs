//! Which node takes the next call.
//!
//! Facts come from `health`. Invariant: a node of another chain or one that is syncing is never
//! chosen; one that refuses us, is ejected or lags only where nothing better is left.

use std::sync::Arc;

use crate::Unusable;
use crate::health::Verdict;
use crate::node::Node;

/// Verdicts on nodes that may be chosen.
const USABLE: [Verdict; 3] = [Verdict::Unprobed, Verdict::Ready, Verdict::Refused];

/// The nodes that a call was sent to already.
#[derive(Clone, Debug, Default)]
pub struct Tried(Vec<u64>);

impl Tried {
    /// Nothing tried yet.
    pub fn new() -> Tried {
        Tried::default()
    }

    /// Leaves `node` out from now on.
    pub fn add(&mut self, node: &Node) {
        self.0.push(node.id());
    }

    /// Whether `node` was tried.
    pub fn contains(&self, node: &Node) -> bool {
        self.0.contains(&node.id())
    }

    /// Whether no node was tried.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The best node that was not tried: neither ejected nor more than `max_lag` blocks behind, if
/// there is one such, and with the least in flight; among equals `turn` decides.
pub(crate) fn choose(
    nodes: &[Arc<Node>],
    tried: &Tried,
    max_lag: u64,
    turn: usize,
) -> Result<Arc<Node>, Unusable> {
    let usable = |node: &&Arc<Node>| USABLE.contains(&node.health.verdict());
    let refuses = |node: &Node| node.health.verdict() == Verdict::Refused;
    let best_height = nodes.iter().filter(usable).filter_map(|node| node.height()).max();
    let lags = |node: &Node| match (node.height(), best_height) {
        (Some(height), Some(best)) => height.saturating_add(max_lag) < best,
        _ => false,
    };
    let start = turn % nodes.len().max(1);
    let in_turn = nodes[start..].iter().chain(&nodes[..start]);
    in_turn
        .filter(usable)
        .filter(|node| !tried.contains(node))
        .min_by_key(|node| (refuses(node), node.health.is_ejected(), lags(node), node.in_flight()))
        .cloned()
        .ok_or_else(|| reason(nodes, tried))
}

fn reason(nodes: &[Arc<Node>], tried: &Tried) -> Unusable {
    let any = |wanted: &[Verdict]| nodes.iter().any(|n| wanted.contains(&n.health.verdict()));
    if any(&USABLE) {
        return Unusable::NoneLeft;
    }
    match any(&[Verdict::Syncing]) {
        true => Unusable::Syncing,
        false if tried.is_empty() => Unusable::Unavailable,
        false => Unusable::NoneLeft,
    }
}
