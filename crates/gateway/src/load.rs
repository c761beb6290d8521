//! What the process has on its hands: requests in flight and bytes buffered, each under a cap.
//!
//! Every claim is given back when it is dropped, wherever the request ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use listen::Places;

/// The counts of one process.
#[derive(Debug, Default)]
pub(crate) struct Load {
    /// Requests in flight.
    pub(crate) places: Places,
    buffered: AtomicUsize,
}

/// Bytes that are buffered.
#[derive(Debug)]
pub(crate) struct Buffered {
    load: Arc<Load>,
    bytes: AtomicUsize,
}

impl Load {
    /// Starts a claim of no bytes.
    pub(crate) fn buffer(self: &Arc<Load>) -> Buffered {
        Buffered { load: Arc::clone(self), bytes: AtomicUsize::new(0) }
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
        let bytes = load.buffer();
        assert!(bytes.grow(10, 20));
        assert!(!bytes.grow(11, 20));
        drop(bytes);
        assert_eq!(load.buffered.load(Ordering::Relaxed), 0);
    }
}
