//! How many requests a service has in flight, under a cap.
//!
//! Leaves to the service what it says to those beyond the cap. Invariant: a place is given back
//! when it is dropped, wherever the request ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The count of one service; a clone counts the same requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct InFlightCount(Arc<AtomicUsize>);

/// One request in flight.
#[derive(Debug)]
pub struct InFlight(Arc<AtomicUsize>);

impl InFlightCount {
    /// Claims a place for a request, if fewer than `most` are in flight.
    pub(crate) fn enter(&self, most: usize) -> Option<InFlight> {
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        let claim = InFlight(Arc::clone(&self.0));
        (before < most).then_some(claim)
    }

    /// Requests in flight now.
    pub(crate) fn in_flight(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_given_back() {
        let count = InFlightCount::default();
        let first = count.enter(1);
        assert!(first.is_some());
        assert!(count.enter(1).is_none());
        assert_eq!(count.in_flight(), 1);
        drop(first);
        assert_eq!(count.in_flight(), 0);
    }
}
