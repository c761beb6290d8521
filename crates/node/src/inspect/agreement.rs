//! Whether nodes of one chain have the same blocks.
//!
//! Invariant: a difference at the tip alone is told as such: blocks that were found a moment ago
//! differ between honest nodes.

use std::sync::Arc;

use crate::node::Node;
use crate::probe::hash_at;

/// Blocks below the lowest tip at which nodes of one chain have to agree.
const SETTLED: u64 = 6;

/// A node that has other blocks than the first node of its chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// Place of the node in the list that was given.
    pub place: usize,
    /// Whether more than the last blocks differ.
    pub deep: bool,
    /// What differs from whom, for people.
    pub text: String,
}

/// Compares the blocks of `nodes`, which are all of one chain, near the lowest of their tips.
/// Nodes that do not answer are left out.
pub async fn disagreements(nodes: &[Arc<Node>]) -> Vec<Disagreement> {
    let Some(lowest) = nodes.iter().filter_map(|node| node.height()).min() else {
        return Vec::new();
    };
    let at_tip = differing(nodes, lowest).await;
    if at_tip.is_empty() || lowest == 0 {
        return at_tip;
    }
    let below = lowest.saturating_sub(SETTLED).max(1).min(lowest - 1);
    let mut found = differing(nodes, below).await;
    found.iter_mut().for_each(|one| one.deep = true);
    for one in at_tip {
        if found.iter().all(|deep| deep.place != one.place) {
            found.push(Disagreement {
                text: format!("{}; if it lasts, one of them follows a fork", one.text),
                ..one
            });
        }
    }
    found.sort_by_key(|one| one.place);
    found
}

/// The nodes whose block at `height` is another than that of the first one that has it.
async fn differing(nodes: &[Arc<Node>], height: u64) -> Vec<Disagreement> {
    let mut first: Option<(&str, String)> = None;
    let mut found = Vec::new();
    for (place, node) in nodes.iter().enumerate() {
        let Ok(Some(hash)) = hash_at(node, height).await else { continue };
        match &first {
            None => first = Some((node.host(), hash)),
            Some((_, same)) if same.eq_ignore_ascii_case(&hash) => {}
            Some((host, other)) => found.push(Disagreement {
                place,
                deep: height == 0,
                text: format!("its block {height} is {hash}, and {other} for {host}"),
            }),
        }
    }
    found
}
