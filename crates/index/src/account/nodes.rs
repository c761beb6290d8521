//! The nodes that an index asks: which one, and by what calls.
//!
//! Leaves their health to `node`, the calls to `upstream`. Invariant: the node that gave us our tip is
//! asked before others, unless another one is well ahead of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chain::account::RewardForks;
use node::{Node, Pool, Tried, Unusable};

use super::options::SyncOptions;
use super::upstream::Upstream;

/// The nodes of one chain.
pub(super) struct Nodes {
    pub(super) pool: Arc<Pool>,
    pub(super) upstream: Upstream,
    /// The node that gave us our tip, and one; 0: none.
    last: AtomicU64,
}

impl Nodes {
    pub(super) fn new(pool: Arc<Pool>, forks: RewardForks, options: &SyncOptions) -> Nodes {
        let upstream = Upstream::new(forks, options.retry_after);
        Nodes { pool, upstream, last: AtomicU64::new(0) }
    }

    /// The node that gave us our tip, if it can be asked; else the best one.
    pub(super) fn pick(&self, tried: &Tried) -> Result<Arc<Node>, Unusable> {
        let best = self.pool.pick(tried)?;
        let (last, nodes) = (self.last(), self.pool.nodes());
        let last = nodes.iter().find(|node| Some(node.id()) == last && !tried.contains(node));
        let usable = |node: &&Arc<Node>| {
            let state = node.state();
            let behind = node.height().map(|height| height + 2) < best.height();
            state.verdict == node::Verdict::Ready && !state.ejected && !behind
        };
        Ok(last.filter(usable).map_or(best, Arc::clone))
    }

    /// Notes which node gave us our tip.
    pub(super) fn came_from(&self, node: &Node) {
        self.last.store(node.id().saturating_add(1), Ordering::Relaxed);
    }

    /// The node that gave us our tip.
    pub(super) fn last(&self) -> Option<u64> {
        self.last.load(Ordering::Relaxed).checked_sub(1)
    }
}
