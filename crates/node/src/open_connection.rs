//! How many connections to a node are open.
//!
//! Invariant: one is counted from before it is opened until it is closed, wherever that happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An open connection, counted until it is dropped.
pub(crate) struct OpenConnection(Arc<AtomicUsize>);

impl OpenConnection {
    /// Counts one more; also gives how many there were before.
    pub(crate) fn count(open: &Arc<AtomicUsize>) -> (OpenConnection, usize) {
        let before = open.fetch_add(1, Ordering::AcqRel);
        (OpenConnection(Arc::clone(open)), before)
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
