//! Reads that may wait for the disk, on a bounded pool.
//!
//! Invariant: the runtime's workers never wait for the disk, and what the pool cannot take soon is
//! refused instead of piling up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;

use crate::refusal::Refusal;

/// Reads that wait for a place, as a multiple of the places.
const WAITING: usize = 16;

/// The pool.
pub(crate) struct Reads {
    places: Arc<Semaphore>,
    most: usize,
    taken: AtomicUsize,
}

impl Reads {
    /// A pool of that many reads at once.
    pub(crate) fn new(places: usize) -> Reads {
        Reads {
            places: Arc::new(Semaphore::new(places)),
            most: places * (WAITING + 1),
            taken: AtomicUsize::new(0),
        }
    }

    /// Runs a read away from the runtime's workers.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let busy = || Refusal::unavailable("too many reads at once", 1);
        let _claim = Claim::of(&self.taken, self.most).ok_or_else(busy)?;
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(|_| busy())?;
        let work = move || {
            let _place = place;
            read()
        };
        tokio::task::spawn_blocking(work).await.map_err(|error| {
            tracing::error!(%error, "a read was cut off");
            Refusal::unavailable("the read was cut off", 1)
        })
    }
}

struct Claim<'a>(&'a AtomicUsize);

impl<'a> Claim<'a> {
    fn of(taken: &'a AtomicUsize, most: usize) -> Option<Claim<'a>> {
        let before = taken.fetch_add(1, Ordering::Relaxed);
        let claim = Claim(taken);
        (before < most).then_some(claim)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
