//! When each account last handed in a transaction: what it asks afterwards must not be older.
//!
//! A send counts when it begins and when its answer is known, or its client gone. Older ones than
//! [`TIP_LIFE`] are forgotten, because nothing that they could change is given for as long.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::stamp::TIP_LIFE;

/// Sends that are remembered before old ones are looked for.
const MANY: usize = 1024;

/// The last send of each account on each chain.
#[derive(Debug, Default)]
pub(crate) struct Sends {
    last: Mutex<HashMap<(u64, usize), Instant>>,
    /// How many there are, read without the lock.
    count: AtomicUsize,
}

/// A send under way.
pub(crate) struct Sending<'a> {
    sends: &'a Sends,
    account: u64,
    chain: usize,
}

impl Sends {
    /// Begins a send on the chain of that ordinal.
    pub(crate) fn begin(&self, account: u64, chain: usize) -> Sending<'_> {
        self.mark(account, chain);
        Sending { sends: self, account, chain }
    }

    /// When the account last sent something there, if that still matters.
    pub(crate) fn last(&self, account: u64, chain: usize) -> Option<Instant> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.lock().get(&(account, chain)).copied()
    }

    fn mark(&self, account: u64, chain: usize) {
        let (now, mut last) = (Instant::now(), self.lock());
        if last.len() >= MANY {
            last.retain(|_, sent| now.saturating_duration_since(*sent) <= TIP_LIFE);
        }
        last.insert((account, chain), now);
        self.count.store(last.len(), Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(u64, usize), Instant>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        self.sends.mark(self.account, self.chain);
    }
}
