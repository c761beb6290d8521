//! The index of one chain as its readers see it: a view, and how it stands with the node.
//!
//! Leaves moving the tip to `sync`. Invariant: one atomic pointer holds tip, snapshot and mempool
//! (decision E7); whoever loads it sees one moment.

use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use chain::{Chain, Hash32, Network};

use super::view::View;

/// The index of one chain.
pub struct Index {
    chain: &'static Chain,
    network: &'static Network,
    view: ArcSwapOption<View>,
    standing: ArcSwap<Standing>,
}

/// How an index stands with its node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Our tip is the best block of a node that is not syncing and was heard within 30 s, and the
    /// mempool was read (decision E10).
    pub in_sync: bool,
    /// Height of our tip; during the first load, how far that is.
    pub height: u32,
    /// Hash of our tip; during the first load that of the last block that was read.
    pub best_hash: Option<Hash32>,
    /// Target of that block in compact form.
    pub bits: Option<u32>,
    /// What the node calls itself.
    pub node_version: Option<String>,
    /// Transactions that wait, as of the last pass over the mempool.
    pub mempool_count: u64,
    /// Why nothing more is connected, if that is so.
    pub stopped: Option<String>,
}

impl Index {
    pub(crate) fn new(chain: &'static Chain, network: &'static Network) -> Index {
        Index {
            chain,
            network,
            view: ArcSwapOption::empty(),
            standing: ArcSwap::from_pointee(Standing::default()),
        }
    }

    /// The chain.
    pub fn chain(&self) -> &'static Chain {
        self.chain
    }

    /// The network.
    pub fn network(&self) -> &'static Network {
        self.network
    }

    /// The tip with its mempool; none while the first load runs.
    pub fn view(&self) -> Option<Arc<View>> {
        self.view.load_full()
    }

    /// How the index stands with its node.
    pub fn standing(&self) -> Standing {
        Standing::clone(&self.standing.load())
    }

    pub(crate) fn publish(&self, view: View) {
        self.view.store(Some(Arc::new(view)));
    }

    pub(crate) fn stand(&self, standing: Standing) {
        self.standing.store(Arc::new(standing));
    }
}
