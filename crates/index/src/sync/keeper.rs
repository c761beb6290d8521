//! What keeping an index at the tip goes by: the index, its rows, its nodes, and what is remembered
//! of them.
//!
//! Leaves what is done in a round to `round`, which nodes are asked to `nodes`. Invariant: the rows
//! are locked for the length of one change or read, never across a wait for a node.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::watch;

use super::nodes::Nodes;
use super::{Family, Index, SyncOptions, Trouble};
use crate::store::Store;
use crate::{IndexError, room};

/// What keeping an index at the tip goes by.
pub struct Keeper<F: Family> {
    pub(crate) index: Arc<Index<F>>,
    pub(crate) nodes: Nodes,
    pub(crate) store: Arc<Mutex<Store<F::Schema>>>,
    pub(crate) options: SyncOptions,
    /// The height that was published before the first disconnect.
    pub(super) held_at: Option<u32>,
    /// The node that gave us our tip.
    pub(super) last_node: Option<u64>,
    /// Since when other nodes do not know our tip.
    pub(super) alone_since: Option<Instant>,
    pub(super) end: watch::Receiver<bool>,
}

impl<F: Family> Keeper<F> {
    /// The chain's name, for the log.
    pub(crate) fn slug(&self) -> &'static str {
        self.index.chain().slug
    }

    pub(crate) fn store(&self) -> MutexGuard<'_, Store<F::Schema>> {
        locked(&self.store)
    }

    /// Ends the round if the end was asked for.
    pub(crate) fn check_end(&self) -> Result<(), Trouble> {
        if *self.end.borrow() { Err(Trouble::Ended) } else { Ok(()) }
    }

    /// Ends the round if less is free on the disk than is to stay free.
    pub(crate) fn check_room(&self) -> Result<(), Trouble> {
        let dir = self.store().dir();
        Ok(room::check(&dir, self.options.least_free_bytes)?)
    }
}

/// The rows behind a lock. A change is one batch, so that they are whole also after a panic.
pub(crate) fn locked<S>(store: &Mutex<S>) -> MutexGuard<'_, S> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs what reads and writes the disk away from the runtime.
pub(crate) async fn away<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, IndexError> + Send + 'static,
) -> Result<T, Trouble> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done?),
        Err(error) => Err(IndexError::failed(format!("a change was cut off: {error}")).into()),
    }
}
