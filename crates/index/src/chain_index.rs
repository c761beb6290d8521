//! The index of one chain, of whichever family: what the explorer and the program hold.
//!
//! A new family is one variant here; the compiler then names each place that has to know of it.
//! Leaves everything that only one family has to that family's own index. Invariant: whether a
//! chain has an index is asked here and nowhere else.

use std::path::Path;
use std::sync::Arc;

use chain::{Chain, Family, Network};
use node::Pool;

use crate::{Identity, IndexError, Memory, Standing, Stopped, SyncOptions, account, ring, utxo};

/// The running index of one chain.
#[derive(Clone)]
pub enum ChainIndex {
    /// Of a chain whose transactions spend earlier outputs.
    Utxo(Arc<utxo::Index>),
    /// Of a chain whose transactions change balances of accounts.
    Account(Arc<account::Index>),
    /// Of a chain whose inputs hide in rings.
    Ring(Arc<ring::Index>),
    /// One that could not be opened; its chain is not answered for.
    Stopped(Arc<Stopped>),
}

impl ChainIndex {
    /// Whether this version keeps an index of that chain.
    pub fn is_kept_of(chain: &Chain) -> bool {
        match chain.family {
            Family::Utxo(_) | Family::Account | Family::Ring => true,
        }
    }

    /// Opens the index of the pool's chain in `dir`, or begins one, and keeps it at the tip of the
    /// pool's nodes from then on. To be called in a runtime, where waiting for the disk is allowed.
    /// `accounts` is for an index of accounts alone (decision A12).
    ///
    /// # Errors
    /// The folder holds something else, is in use or damaged.
    pub fn open(
        dir: &Path,
        pool: &Arc<Pool>,
        memory: &Memory,
        options: SyncOptions,
        accounts: account::AccountOptions,
    ) -> Result<ChainIndex, IndexError> {
        let (chain, network) = (pool.chain(), pool.network());
        match chain.family {
            Family::Utxo(_) => {
                let store = utxo::Store::open(dir, chain, network, memory)?;
                Ok(ChainIndex::Utxo(utxo::Index::start(store, Arc::clone(pool), options)))
            }
            Family::Account => {
                let mut store = account::Store::open(dir, chain, network, memory)?;
                store.go_by(accounts.reward_forks)?;
                let defaults = account::SyncOptions::default();
                let options = account::SyncOptions {
                    poll: options.poll,
                    window: options.window,
                    least_free_bytes: options.least_free_bytes,
                    patience: options.patience,
                    history_from: accounts.history_from.unwrap_or(defaults.history_from),
                    ..defaults
                };
                let index = account::Index::start(store, Arc::clone(pool), options);
                Ok(ChainIndex::Account(index))
            }
            Family::Ring => {
                let store = ring::Store::open(dir, chain, network, memory)?;
                Ok(ChainIndex::Ring(ring::Index::start(store, Arc::clone(pool), options)))
            }
        }
    }

    /// Whether a folder may become the index of that chain: it is one already, or holds nothing, or
    /// nothing that can be read.
    ///
    /// # Errors
    /// `Stranger`: it holds something else.
    pub fn may_be(
        dir: &Path,
        chain: &'static Chain,
        network: &'static Network,
    ) -> Result<(), IndexError> {
        let wanted = Identity::new(chain, network);
        let found = match chain.family {
            Family::Utxo(_) => utxo::Store::identity(dir),
            Family::Account => account::Store::identity(dir),
            Family::Ring => ring::Store::identity(dir),
        };
        match found {
            Ok(Some(found)) if found != wanted => Err(IndexError::Stranger {
                dir: dir.to_owned(),
                found: found.to_string(),
                wanted: wanted.to_string(),
            }),
            _ => Ok(()),
        }
    }

    /// Whether a process has the index in a folder open.
    pub fn is_open(dir: &Path, chain: &'static Chain) -> bool {
        match chain.family {
            Family::Utxo(_) => utxo::Store::is_open(dir),
            Family::Account => account::Store::is_open(dir),
            Family::Ring => ring::Store::is_open(dir),
        }
    }

    /// What stands in the place of an index of the pool's chain that cannot be opened. Whatever can
    /// be read of it is served as it is, unless it is damaged; nothing is written.
    pub fn stopped(
        dir: &Path,
        pool: &Arc<Pool>,
        memory: &Memory,
        error: &IndexError,
    ) -> ChainIndex {
        let (chain, network, why) = (pool.chain(), pool.network(), error.to_string());
        let held = match chain.family {
            _ if error.is_damage() => None,
            Family::Utxo(_) => {
                let store = utxo::Store::open_read_only(dir, chain, network, memory).ok();
                store.map(|store| ChainIndex::Utxo(utxo::Index::hold(store, why.clone())))
            }
            Family::Account => {
                let store = account::Store::open_read_only(dir, chain, network, memory).ok();
                let hold = |store| account::Index::hold(store, Arc::clone(pool), why.clone());
                store.map(|store| ChainIndex::Account(hold(store)))
            }
            Family::Ring => {
                let store = ring::Store::open_read_only(dir, chain, network, memory).ok();
                store.map(|store| ChainIndex::Ring(ring::Index::hold(store, why.clone())))
            }
        };
        if let Some(held) = held {
            return held;
        }
        ChainIndex::Stopped(Arc::new(Stopped::new(chain, network, why)))
    }

    /// The chain.
    pub fn chain(&self) -> &'static Chain {
        match self {
            ChainIndex::Utxo(index) => index.chain(),
            ChainIndex::Account(index) => index.chain(),
            ChainIndex::Ring(index) => index.chain(),
            ChainIndex::Stopped(index) => index.chain(),
        }
    }

    /// The network.
    pub fn network(&self) -> &'static Network {
        match self {
            ChainIndex::Utxo(index) => index.network(),
            ChainIndex::Account(index) => index.network(),
            ChainIndex::Ring(index) => index.network(),
            ChainIndex::Stopped(index) => index.network(),
        }
    }

    /// How the index stands with its node.
    pub fn standing(&self) -> Standing {
        match self {
            ChainIndex::Utxo(index) => index.standing(),
            ChainIndex::Account(index) => index.standing(),
            ChainIndex::Ring(index) => index.standing(),
            ChainIndex::Stopped(index) => index.standing(),
        }
    }

    /// Whether blocks of the past are still to be filled in, while the tip is served already.
    pub fn is_filling(&self) -> bool {
        match self {
            ChainIndex::Account(index) => index.is_filling(),
            ChainIndex::Utxo(_) | ChainIndex::Ring(_) | ChainIndex::Stopped(_) => false,
        }
    }

    /// Whether both are the same running index.
    pub fn is(&self, other: &ChainIndex) -> bool {
        match (self, other) {
            (ChainIndex::Utxo(one), ChainIndex::Utxo(other)) => Arc::ptr_eq(one, other),
            (ChainIndex::Account(one), ChainIndex::Account(other)) => Arc::ptr_eq(one, other),
            (ChainIndex::Ring(one), ChainIndex::Ring(other)) => Arc::ptr_eq(one, other),
            (ChainIndex::Stopped(one), ChainIndex::Stopped(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// A copy of the index in a new folder, with hard links where both are on one disk. Holds up
    /// nothing but its caller.
    ///
    /// # Errors
    /// The folder is there already, or the disk is full; the first load runs; the index is stopped.
    pub fn backup(&self, dir: &Path) -> Result<(), IndexError> {
        match self {
            ChainIndex::Utxo(index) => index.backup(dir),
            ChainIndex::Account(index) => index.backup(dir),
            ChainIndex::Ring(index) => index.backup(dir),
            ChainIndex::Stopped(_) => Err(IndexError::failed("it is stopped")),
        }
    }

    /// Ends the sync once the block that it is at is on the disk. What is held stays readable.
    pub async fn stop(&self) {
        match self {
            ChainIndex::Utxo(index) => index.stop().await,
            ChainIndex::Account(index) => index.stop().await,
            ChainIndex::Ring(index) => index.stop().await,
            ChainIndex::Stopped(_) => {}
        }
    }
}

impl std::fmt::Debug for ChainIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the index of {}", self.chain().slug)
    }
}
