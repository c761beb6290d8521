//! Whose answers are kept, in bytes: an account that asks for much loses its own oldest ones, not
//! those of others.
//!
//! Invariant: a claim is given back when what it is for is dropped, wherever that happens. So nothing
//! is taken out of the store while this is locked.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::key::Key;

/// Keys of an account that are gone are looked for when there are this many beside those kept.
const GONE: usize = 64;

/// What is kept for each account.
#[derive(Debug, Default)]
pub(super) struct Shares(Mutex<HashMap<u64, Share>>);

/// What is kept for one account.
#[derive(Debug, Default)]
struct Share {
    bytes: usize,
    entries: usize,
    /// What it asked for, oldest first. Some may be gone from the store.
    order: VecDeque<Key>,
}

/// The bytes of one entry.
#[derive(Debug)]
pub(super) struct Claim {
    shares: Arc<Shares>,
    account: u64,
    bytes: usize,
}

impl Shares {
    /// Claims `bytes` for one entry of an account.
    pub(super) fn claim(self: &Arc<Shares>, account: u64, bytes: usize) -> Claim {
        let mut accounts = self.lock();
        let share = accounts.entry(account).or_default();
        share.bytes += bytes;
        share.entries += 1;
        Claim { shares: Arc::clone(self), account, bytes }
    }

    /// The oldest key of an account that has more than `most` bytes, which has to go.
    pub(super) fn oldest_beyond(&self, account: u64, most: usize) -> Option<Key> {
        let mut accounts = self.lock();
        accounts.get_mut(&account).filter(|share| share.bytes > most)?.order.pop_front()
    }

    /// Notes what an account asked for. Keys of it that are not `kept` are forgotten once there are
    /// many.
    pub(super) fn note(&self, account: u64, key: &Key, kept: impl Fn(&Key) -> bool) {
        let mut order = {
            let mut accounts = self.lock();
            let Some(share) = accounts.get_mut(&account) else { return };
            share.order.push_back(key.clone());
            if share.order.len() < 2 * share.entries + GONE {
                return;
            }
            std::mem::take(&mut share.order)
        };
        order.retain(kept);
        let mut accounts = self.lock();
        let Some(share) = accounts.get_mut(&account) else { return };
        order.append(&mut share.order);
        share.order = order;
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Share>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim {
    /// Whose it is.
    pub(super) fn account(&self) -> u64 {
        self.account
    }

    /// How many.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut accounts = self.shares.lock();
        let Some(share) = accounts.get_mut(&self.account) else { return };
        share.bytes -= self.bytes;
        share.entries -= 1;
        if share.entries == 0 {
            accounts.remove(&self.account);
        }
    }
}
