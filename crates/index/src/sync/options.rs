//! How an index is kept at the tip.
//!
//! Invariant: none of it changes a row.

use std::time::Duration;

use crate::utxo::LoadOptions;

/// How an index is kept at the tip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncOptions {
    /// Between two looks at the node; 500 ms.
    pub poll: Duration,
    /// Blocks that are fetched at once; 8.
    pub window: usize,
    /// An empty index that is this many blocks behind is loaded in bulk; 500.
    pub bulk_from: u32,
    /// How that is done, where a family does it.
    pub load: LoadOptions,
    /// Memory for the mempool; beyond it only ids are kept; 512 MiB.
    pub mempool_bytes: u64,
    /// The list of the mempool is read at most once in so long; 1 s (decision U16).
    pub mempool_every: Duration,
    /// Nothing is connected while less is free on the disk; 2 GiB.
    pub least_free_bytes: u64,
    /// So long a node that knows nothing of our last blocks is waited for, if another node gave
    /// them; 30 s.
    pub patience: Duration,
}

impl Default for SyncOptions {
    fn default() -> SyncOptions {
        SyncOptions {
            poll: Duration::from_millis(500),
            window: 8,
            bulk_from: 500,
            load: LoadOptions::default(),
            mempool_bytes: 512 << 20,
            mempool_every: Duration::from_secs(1),
            least_free_bytes: 2 << 30,
            patience: Duration::from_secs(30),
        }
    }
}
