//! Nodes that are left alone for a while: what they give is of no use, or they have it no more.
//!
//! Leaves choosing among the others to the pool. Invariant: a node comes back by itself.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use node::{Node, Pool, Tried};

/// Nodes, each with the time at which it comes back.
#[derive(Debug, Default)]
pub(super) struct Aside(HashMap<u64, Instant>);

impl Aside {
    /// Leaves a node alone for so long.
    pub(super) fn put(&mut self, node: &Node, time: Duration) {
        let now = Instant::now();
        self.0.retain(|_, until| *until > now);
        self.0.insert(node.id(), now + time);
    }

    /// Those of a pool that are left alone now, as if they had been tried.
    pub(super) fn tried(&self, pool: &Pool) -> Tried {
        let (mut tried, now) = (Tried::new(), Instant::now());
        let alone =
            |node: &&std::sync::Arc<Node>| self.0.get(&node.id()).is_some_and(|until| *until > now);
        pool.nodes().iter().filter(alone).for_each(|node| tried.add(node));
        tried
    }
}
