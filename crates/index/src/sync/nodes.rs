//! Which node is followed, and which others may be asked for a block.
//!
//! Leaves who gave us our tip to its callers. Invariant: rows are for good, so nothing is taken from
//! a node before a probe knew its chain.

use std::sync::Arc;
use std::time::{Duration, Instant};

use node::{Node, Pool, Tried, Verdict};

use super::Trouble;

/// A node that is so many blocks behind the best one is not stayed with (decision G11).
const LAG: u64 = 2;
/// So long a node that gave no block or a spoilt one is followed only if no other is as far.
const PASSED_OVER: Duration = Duration::from_secs(30);

/// The nodes of a chain as an index chooses among them.
pub(crate) struct Nodes {
    pool: Arc<Pool>,
    /// Nodes that gave no block or a spoilt one, and until when others are preferred.
    passed_over: Vec<(u64, Instant)>,
}

impl Nodes {
    /// Those of a pool.
    pub(crate) fn new(pool: Arc<Pool>) -> Nodes {
        Nodes { pool, passed_over: Vec::new() }
    }

    /// The pool.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The node that gave us our tip (`last`), if it can be asked and was not left behind; else the
    /// best one.
    pub(crate) fn choose(&mut self, last: Option<u64>) -> Result<Arc<Node>, Trouble> {
        let now = Instant::now();
        self.passed_over.retain(|(_, until)| *until > now);
        let nodes = self.pool.nodes();
        let best = self.best(&nodes)?;
        let last = nodes.iter().find(|node| Some(node.id()) == last && is_ready(node));
        let last = last.filter(|last| !self.is_passed_over(last) && !is_behind(last, &best));
        Ok(last.map_or(best, Arc::clone))
    }

    fn best(&self, nodes: &[Arc<Node>]) -> Result<Arc<Node>, Trouble> {
        let mut tried = Tried::new();
        let mut spare: Option<Arc<Node>> = None;
        loop {
            match self.pool.pick(&tried) {
                Ok(node)
                    if matches!(node.state().verdict, Verdict::Unprobed | Verdict::Refused) =>
                {
                    tried.add(&node);
                }
                Ok(node) if self.is_passed_over(&node) => {
                    tried.add(&node);
                    spare.get_or_insert(node);
                }
                // One that is far behind is no help.
                Ok(node) => {
                    return Ok(spare.filter(|spare| is_behind(&node, spare)).unwrap_or(node));
                }
                // A node that is still downloading can be followed while it does.
                Err(_) => {
                    let syncing = || nodes.iter().find(|node| node.state().syncing()).cloned();
                    return spare.or_else(syncing).ok_or(Trouble::NoNode);
                }
            }
        }
    }

    /// The other nodes that can be asked.
    pub(crate) fn others(&self, node: &Arc<Node>) -> Vec<Arc<Node>> {
        let nodes = self.pool.nodes();
        nodes.into_iter().filter(|other| other.id() != node.id() && is_ready(other)).collect()
    }

    /// Follows another node for a while, if there is one as far.
    pub(crate) fn pass_over(&mut self, node: &Arc<Node>, trouble: &Trouble) {
        if self.is_passed_over(node) || self.pool.nodes().len() < 2 {
            return;
        }
        let (chain, host) = (self.pool.chain().slug, node.host());
        tracing::warn!(chain, node = host, "a block is asked of other nodes: {trouble}");
        self.passed_over.push((node.id(), Instant::now() + PASSED_OVER));
    }

    fn is_passed_over(&self, node: &Node) -> bool {
        self.passed_over.iter().any(|(id, _)| *id == node.id())
    }
}

fn is_ready(node: &Arc<Node>) -> bool {
    let state = node.state();
    state.verdict == Verdict::Ready && !state.ejected
}

fn is_behind(node: &Node, best: &Node) -> bool {
    node.height().map(|height| height + LAG) < best.height()
}
