//! Routes that a node may have or not.
//!
//! Invariant: one that a node lacks is not asked for again until its time has come.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What a node is known to lack.
pub(crate) struct OptionalRoutes {
    pub(crate) block: OptionalRoute,
    /// monerod's `get_blocks.bin`.
    pub(crate) spans: OptionalRoute,
    /// `getblock` takes a boolean where others take a verbosity.
    pub(crate) boolean_verbosity: AtomicBool,
}

impl OptionalRoutes {
    /// Nothing is known yet; what will turn out to be missing is tried again after `retry`.
    pub(crate) fn new(retry: Duration) -> OptionalRoutes {
        OptionalRoutes {
            block: OptionalRoute::new(retry),
            spans: OptionalRoute::new(retry),
            boolean_verbosity: AtomicBool::new(false),
        }
    }
}

/// A route that a node may have or not.
pub(crate) struct OptionalRoute {
    born: Instant,
    retry: Duration,
    /// Milliseconds since `born` until which the route is known to be missing.
    missing_until_ms: AtomicU64,
}

impl OptionalRoute {
    pub(crate) fn new(retry: Duration) -> OptionalRoute {
        OptionalRoute { born: Instant::now(), retry, missing_until_ms: AtomicU64::new(0) }
    }

    /// May it be asked for?
    pub(crate) fn may_be_there(&self) -> bool {
        self.born.elapsed().as_millis() as u64 >= self.missing_until_ms.load(Relaxed)
    }

    /// It is not there: it is left alone for a while.
    pub(crate) fn note_missing(&self) {
        let until = self.born.elapsed() + self.retry;
        self.missing_until_ms.store(until.as_millis() as u64, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_route_is_tried_again_after_its_time() {
        let route = OptionalRoute::new(Duration::from_secs(3600));
        assert!(route.may_be_there());
        route.note_missing();
        assert!(!route.may_be_there());
        let route = OptionalRoute::new(Duration::ZERO);
        route.note_missing();
        assert!(route.may_be_there());
    }
}
