//! The index of one chain, of whichever family: what the explorer and the program hold.
//!
//! A new family is one variant here; the compiler then names each place that has to know of it.
//! Leaves everything that only one family has to that family's own index. Invariant: whether a
//! chain has an index is asked here and nowhere else.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use chain::utxo::Layout;
use chain::{Chain, Family, Network};
use node::Pool;

use crate::utxo::{self, SyncOptions};
use crate::{IndexError, Memory, Standing};

/// The running index of one chain.
#[derive(Clone)]
pub enum ChainIndex {
    /// Of a chain whose transactions spend earlier outputs.
    Utxo(Arc<utxo::Index>),
}

impl ChainIndex {
    /// Whether this version keeps an index of that chain.
    pub fn is_kept_of(chain: &Chain) -> bool {
        match chain.family {
            // The rows have no place yet for what other layouts have.
            Family::Utxo => chain.format.is_some_and(|format| format.layout == Layout::Plain),
            Family::Account | Family::Ring => false,
        }
    }

    /// Opens the index of the pool's chain in `dir`, or begins one, and keeps it at the tip of the
    /// pool's nodes from then on. To be called in a runtime, where waiting for the disk is allowed.
    ///
    /// # Errors
    /// The folder holds something else, is in use or damaged; this version keeps no index of the
    /// chain.
    pub fn open(
        dir: &Path,
        pool: &Arc<Pool>,
        memory: &Memory,
        options: SyncOptions,
    ) -> Result<ChainIndex, IndexError> {
        let (chain, network) = (pool.chain(), pool.network());
        match chain.family {
            Family::Utxo => {
                let store = utxo::Store::open(dir, chain, network, memory, None)?;
                Ok(ChainIndex::Utxo(utxo::Index::start(store, Arc::clone(pool), options)))
            }
            Family::Account | Family::Ring => Err(utxo::no_index(dir, chain)),
        }
    }

    /// The chain.
    pub fn chain(&self) -> &'static Chain {
        match self {
            ChainIndex::Utxo(index) => index.chain(),
        }
    }

    /// The network.
    pub fn network(&self) -> &'static Network {
        match self {
            ChainIndex::Utxo(index) => index.network(),
        }
    }

    /// How the index stands with its node.
    pub fn standing(&self) -> Standing {
        match self {
            ChainIndex::Utxo(index) => index.standing(),
        }
    }

    /// Whether both are the same running index.
    pub fn is(&self, other: &ChainIndex) -> bool {
        match (self, other) {
            (ChainIndex::Utxo(one), ChainIndex::Utxo(other)) => Arc::ptr_eq(one, other),
        }
    }

    /// A copy of the index in a new folder, with hard links where both are on one disk.
    ///
    /// # Errors
    /// The folder is there already, or the disk is full.
    pub fn backup(&self, dir: &Path) -> Result<(), IndexError> {
        match self {
            ChainIndex::Utxo(index) => {
                index.store().lock().unwrap_or_else(PoisonError::into_inner).backup(dir)
            }
        }
    }

    /// Ends the sync once the block that it is at is on the disk. What is held stays readable.
    pub async fn stop(&self) {
        match self {
            ChainIndex::Utxo(index) => index.stop().await,
        }
    }
}

impl std::fmt::Debug for ChainIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the index of {}", self.chain().slug)
    }
}
