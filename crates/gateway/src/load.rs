//! What the process has on its hands: requests in flight and bytes buffered, each under a cap.
//!
//! Every claim is given back when it is dropped, wherever the request ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The counts of one process.
#[derive(Debug, Default)]
pub(crate) struct Load {
    in_flight: AtomicUsize,
    buffered: AtomicUsize,
}

/// One request in flight.
#[derive(Debug)]
pub(crate) struct InFlight(Arc<Load>);

/// Bytes that are buffered.
#[derive(Debug)]
pub(crate) struct Buffered {
    load: Arc<Load>,
    bytes: AtomicUsize,
}

impl Load {
    /// Claims a place for a request, if fewer than `most` are in flight.
    pub(crate) fn enter(self: &Arc<Load>, most: usize) -> Option<InFlight> {
        let before = self.in_flight.fetch_add(1, Ordering::Relaxed);
        let claim = InFlight(Arc::clone(self));
        (before < most).then_some(claim)
    }

    /// Starts a claim of no bytes.
    pub(crate) fn buffer(self: &Arc<Load>) -> Buffered {
        Buffered { load: Arc::clone(self), bytes: AtomicUsize::new(0) }
    }

    /// Requests in flight now.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }
}

impl Buffered {
    /// Claims `bytes` more, if the process then buffers at most `most`.
    pub(crate) fn grow(&self, bytes: usize, most: usize) -> bool {
        let before = self.load.buffered.fetch_add(bytes, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        before.saturating_add(bytes) <= most
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Buffered {
    fn drop(&mut self) {
        self.load.buffered.fetch_sub(*self.bytes.get_mut(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_given_back() {
        let load = Arc::new(Load::default());
        let first = load.enter(1);
        assert!(first.is_some());
        assert!(load.enter(1).is_none());
        assert_eq!(load.in_flight(), 1);
        drop(first);
        assert_eq!(load.in_flight(), 0);
        let bytes = load.buffer();
        assert!(bytes.grow(10, 20));
        assert!(!bytes.grow(11, 20));
        drop(bytes);
        assert_eq!(load.buffered.load(Ordering::Relaxed), 0);
    }
}
