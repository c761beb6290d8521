//! What is kept of an index of rings beside its rows: the pool of its nodes, what they say, a load.
//!
//! Leaves how it is kept at the tip to `family`.

use std::sync::Arc;

use chain::ring::Hash;
use node::Node;

use super::facts::NodeFacts;
use super::pool_pass::PoolPasses;
use super::upstream;
use crate::sync::{self, Best, Passes};

/// The index of one chain whose inputs hide in rings.
pub type Index = sync::Index<Ring>;

/// The family of chains whose inputs hide in rings.
pub struct Ring {
    pub(super) passes: PoolPasses,
    /// Height of the block that is loaded next, while a load is kept.
    pub(super) load_height: Option<u32>,
    /// The block at which the fee was asked for last.
    pub(super) fee_at: Option<Hash>,
}

impl Ring {
    /// Keeps what the node said. A fee that cannot be had leaves the last one.
    pub(super) async fn note(&mut self, node: &Arc<Node>, best: Best<Hash>, facts: NodeFacts) {
        let before = self.passes.waiting().facts();
        let mut fee_per_byte = before.and_then(|facts| facts.fee_per_byte);
        if fee_per_byte.is_none() || self.fee_at != Some(best.hash) {
            if let Ok(fee) = upstream::fee_per_byte(node).await {
                fee_per_byte = Some(fee);
            }
            self.fee_at = Some(best.hash);
        }
        self.passes.waiting_mut().note_facts(Arc::new(NodeFacts { fee_per_byte, ..facts }));
    }
}
