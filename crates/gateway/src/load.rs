//! What bodies take up in the process: bytes buffered, of which one account holds at most a quarter
//! (decision G17), and bodies that are being decompressed, each under a cap.
//!
//! Every claim is given back when it is dropped, wherever the request ends.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::heavy_work::HeavyWork;
use crate::settings::Settings;

/// The counts of one process.
#[derive(Debug)]
pub(crate) struct Load {
    /// Bodies that may be decompressed at once: half of the processors, so that the other half
    /// serves whatever is sent.
    pub(crate) heavy_work: HeavyWork,
    buffered: AtomicUsize,
    by_account: Mutex<HashMap<u64, usize>>,
}

/// Bytes that are buffered for one request.
#[derive(Debug)]
pub(crate) struct Buffered {
    load: Arc<Load>,
    account: u64,
    /// Most bytes of the process and of the account.
    most: [usize; 2],
    bytes: AtomicUsize,
}

impl Default for Load {
    fn default() -> Load {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Load {
            heavy_work: HeavyWork::new((processors / 2).max(1)),
            buffered: AtomicUsize::new(0),
            by_account: Mutex::default(),
        }
    }
}

impl Load {
    /// Starts a claim of no bytes for a request of an account.
    pub(crate) fn buffer(self: &Arc<Load>, account: u64, settings: &Settings) -> Buffered {
        let most = [settings.max_buffered_bytes, settings.account_buffered_bytes()];
        Buffered { load: Arc::clone(self), account, most, bytes: AtomicUsize::new(0) }
    }

    fn by_account(&self) -> MutexGuard<'_, HashMap<u64, usize>> {
        self.by_account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Buffered {
    /// Claims `bytes` more; says whether process and account then buffer no more than they may.
    pub(crate) fn grow(&self, bytes: usize) -> bool {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let process = self.load.buffered.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let account = {
            let mut by_account = self.load.by_account();
            let account = by_account.entry(self.account).or_default();
            *account += bytes;
            *account
        };
        process <= self.most[0] && account <= self.most[1]
    }

    /// Gives `bytes` back, which were claimed before.
    pub(crate) fn shrink(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.load.buffered.fetch_sub(bytes, Ordering::Relaxed);
        if let Entry::Occupied(mut account) = self.load.by_account().entry(self.account) {
            *account.get_mut() -= bytes;
            if *account.get() == 0 {
                account.remove();
            }
        }
    }
}

impl Drop for Buffered {
    fn drop(&mut self) {
        self.shrink(self.bytes.load(Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(max_buffered_bytes: usize) -> Settings {
        Settings { max_buffered_bytes, max_request_bytes: 5, ..Settings::default() }
    }

    #[test]
    fn claims_are_given_back() {
        let load = Arc::new(Load::default());
        let bytes = load.buffer(1, &settings(40));
        assert!(bytes.grow(10));
        assert!(!bytes.grow(1));
        bytes.shrink(1);
        assert_eq!(load.buffered.load(Ordering::Relaxed), 10);
        drop(bytes);
        assert_eq!(load.buffered.load(Ordering::Relaxed), 0);
        assert!(load.by_account().is_empty());
    }

    #[test]
    fn an_account_has_a_quarter_and_others_the_rest() {
        let load = Arc::new(Load::default());
        let settings = settings(40);
        let first = [load.buffer(1, &settings), load.buffer(1, &settings)];
        assert!(first[0].grow(6) && !first[1].grow(6));
        let others: Vec<Buffered> = (2..4).map(|n| load.buffer(n, &settings)).collect();
        assert!(others.iter().all(|other| other.grow(10)));
        // 32 of 40 are taken.
        assert!(!load.buffer(4, &settings).grow(9));
        assert!(load.buffer(4, &settings).grow(8));
    }
}
