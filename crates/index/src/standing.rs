//! How an index stands with its node, told alike by every family.
//!
//! Leaves what a family alone can tell (difficulty, gas, pools) to its own view. Invariant: heights
//! and hashes are as the chain's node shows them.

/// How an index stands with its node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Our tip is the best block of a node that is not syncing and was heard within 30 s, and the
    /// mempool was read (decision E10).
    pub in_sync: bool,
    /// Height of our tip; during the first load, how far that is.
    pub height: u32,
    /// Hash of our tip, as the chain's node shows it; during the first load that of the last block
    /// that was read.
    pub best_hash: Option<String>,
    /// What the node calls itself.
    pub node_version: Option<String>,
    /// Transactions that wait, as of the last pass over the mempool.
    pub mempool_count: u64,
    /// Why nothing more is connected, if that is so.
    pub stopped: Option<String>,
    /// What of its nodes is waited for, if that is so.
    pub waits_for: Option<&'static str>,
    /// How far the first load has to go, while it runs.
    pub first_load: Option<FirstLoad>,
}

/// The first load of an index, while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstLoad {
    /// Height of the node's best block.
    pub target: u32,
    /// Blocks a second, of late.
    pub blocks_per_sec: u64,
}
