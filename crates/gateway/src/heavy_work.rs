//! Work that keeps a processor busy, done in turns: few at once, and one account never has more than
//! one.
//!
//! Invariant: whoever waits for a turn waits for those who came before, one of each account, however
//! much any of them has waiting.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Accounts that are remembered before those without work are forgotten.
const MANY: usize = 1024;

/// The work of a process that is done in turns.
#[derive(Debug)]
pub(crate) struct HeavyWork {
    process: Arc<Semaphore>,
    accounts: Mutex<HashMap<u64, Weak<Semaphore>>>,
}

/// A turn. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _process: OwnedSemaphorePermit,
    _account: OwnedSemaphorePermit,
}

impl HeavyWork {
    /// At most so many at once.
    pub(crate) fn new(at_once: usize) -> HeavyWork {
        HeavyWork { process: Arc::new(Semaphore::new(at_once)), accounts: Mutex::default() }
    }

    /// Waits for the account's turn; None only where the process ends.
    pub(crate) async fn take(&self, account: u64) -> Option<Turn> {
        // The account's first: what it has waiting is in nobody's way.
        let own = self.of_account(account).acquire_owned().await.ok()?;
        let process = Arc::clone(&self.process).acquire_owned().await.ok()?;
        Some(Turn { _process: process, _account: own })
    }

    fn of_account(&self, account: u64) -> Arc<Semaphore> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = accounts.get(&account).and_then(Weak::upgrade) {
            return own;
        }
        if accounts.len() >= MANY {
            accounts.retain(|_, own| own.strong_count() > 0);
        }
        let own = Arc::new(Semaphore::new(1));
        accounts.insert(account, Arc::downgrade(&own));
        own
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    #[test]
    fn one_account_waits_for_itself_and_others_for_one_of_it() {
        let work = HeavyWork::new(1);
        let first = poll(pin!(work.take(1))).expect("a turn is free");
        let mut waiting = [pin!(work.take(1)), pin!(work.take(1))];
        assert!(waiting.iter_mut().all(|waiting| poll(waiting.as_mut()).is_none()));
        let mut other = pin!(work.take(2));
        assert!(poll(other.as_mut()).is_none(), "there is one turn at a time");
        drop(first);
        let other = poll(other.as_mut()).expect("it does not stand behind all that the first has");
        assert!(waiting.iter_mut().all(|waiting| poll(waiting.as_mut()).is_none()));
        drop(other);
        assert!(poll(waiting[0].as_mut()).is_some());
    }

    #[test]
    fn accounts_without_work_are_forgotten() {
        let work = HeavyWork::new(1);
        for account in 0..10 * MANY as u64 {
            assert!(poll(pin!(work.take(account))).is_some());
        }
        assert!(work.accounts.lock().unwrap().len() <= MANY);
    }
}
