//! Room for bytes of answers under way, bounded for the process and for each account (decision
//! E17).
//!
//! Leaves to the front what is said to those who find none. Invariants: an account that has
//! nothing under way finds room for one answer of any size, as long as the process has some; what
//! was taken is given back when it is dropped, wherever the answer ends.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// An account's share of the process's room is one part of so many.
const SHARES: u64 = 16;
/// So long an answer waits for room.
const PATIENCE: Duration = Duration::from_secs(1);

/// The room of a process.
#[derive(Debug, Clone)]
pub(crate) struct Room(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    most: AtomicU64,
    used: Mutex<Used>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Used {
    all: u64,
    by_account: HashMap<u64, u64>,
}

/// Whose room is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// The account's share.
    Account,
    /// The process's.
    Process,
}

/// Room that an answer takes.
#[derive(Debug)]
pub(crate) struct Taken {
    room: Room,
    account: u64,
    bytes: u64,
}

impl Room {
    /// Room for so many bytes.
    pub(crate) fn new(most: u64) -> Room {
        let (most, used, freed) = (AtomicU64::new(most), Mutex::default(), Notify::new());
        Room(Arc::new(Inner { most, used, freed }))
    }

    /// Makes it larger or smaller; what is taken stays.
    pub(crate) fn resize(&self, most: u64) {
        self.0.most.store(most, Ordering::Relaxed);
        self.0.freed.notify_waiters();
    }

    /// Bytes under way now.
    pub(crate) fn used(&self) -> u64 {
        self.lock().all
    }

    /// Takes room for an answer, waiting up to a second for it.
    ///
    /// # Errors
    /// Whose room is full.
    pub(crate) async fn take(&self, account: u64, bytes: u64) -> Result<Taken, Full> {
        let until = Instant::now() + PATIENCE;
        loop {
            let mut freed = std::pin::pin!(self.0.freed.notified());
            // Before the look, so that what is given back in between is not missed.
            freed.as_mut().enable();
            let full = match self.try_take(account, bytes) {
                Ok(taken) => return Ok(taken),
                Err(full) => full,
            };
            if timeout_at(until, freed).await.is_err() {
                return Err(full);
            }
        }
    }

    fn try_take(&self, account: u64, bytes: u64) -> Result<Taken, Full> {
        let most = self.0.most.load(Ordering::Relaxed);
        let mut used = self.lock();
        let (all, own) = (used.all, used.by_account.get(&account).copied().unwrap_or(0));
        if own > 0 && own.saturating_add(bytes) > most / SHARES {
            return Err(Full::Account);
        }
        if all > 0 && all.saturating_add(bytes) > most {
            return Err(Full::Process);
        }
        used.all = all.saturating_add(bytes);
        used.by_account.insert(account, own.saturating_add(bytes));
        Ok(Taken { room: self.clone(), account, bytes })
    }

    fn give_back(&self, account: u64, bytes: u64) {
        let mut used = self.lock();
        used.all = used.all.saturating_sub(bytes);
        if let Some(own) = used.by_account.get_mut(&account) {
            *own = own.saturating_sub(bytes);
            if *own == 0 {
                used.by_account.remove(&account);
            }
        }
        drop(used);
        self.0.freed.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.0.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.room.give_back(self.account, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_have_shares_and_one_answer_always() {
        let room = Room::new(1600);
        let whole = room.try_take(1, 1000).unwrap();
        assert_eq!(room.try_take(1, 1).unwrap_err(), Full::Account);
        let other = room.try_take(2, 60).unwrap();
        assert_eq!(room.try_take(2, 41).unwrap_err(), Full::Account);
        let more = room.try_take(2, 40).unwrap();
        assert_eq!(room.try_take(3, 501).unwrap_err(), Full::Process);
        assert_eq!(room.used(), 1100);
        drop((whole, other, more));
        assert_eq!(room.used(), 0);
        assert!(room.try_take(4, 1_000_000).is_ok(), "one answer of any size");
    }

    #[tokio::test]
    async fn what_waits_goes_on_when_room_is_given_back() {
        let room = Room::new(1600);
        let first = room.take(1, 100).await.unwrap();
        let waiting = tokio::spawn({
            let room = room.clone();
            async move { room.take(1, 50).await.is_ok() }
        });
        tokio::task::yield_now().await;
        drop(first);
        assert!(waiting.await.unwrap());
    }
}
