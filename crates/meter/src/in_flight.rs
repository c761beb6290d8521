//! A request's place among those that its account has in flight on a service (decision B11).
//!
//! Leaves to `permit` what is charged. Invariant: a place is given back when it is dropped, wherever
//! the request ends.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::bucket::Level;
use crate::clock::Now;
use crate::table::{Allowance, KeyEntry};
use crate::{Caller, Denial, Reason, Service};

/// A place in flight. It lives until the answer is sent or the client is gone.
pub struct AccountInFlight {
    pub(crate) key: Arc<KeyEntry>,
    service: Service,
    in_flight: u32,
    /// Tokens that were taken before it was known how many it takes.
    prepaid: u32,
    /// How full the bucket was after those.
    prepaid_level: Option<Level>,
}

impl AccountInFlight {
    /// Takes a place, if the plan has one more.
    #[inline]
    pub(crate) fn enter(caller: &Caller) -> Result<AccountInFlight, Denial> {
        let most = caller.plan().concurrency;
        let more = |now: u32| (now < most).then_some(now + 1);
        let taken: &AtomicU32 = &caller.allowance().in_flight;
        match taken.fetch_update(Ordering::AcqRel, Ordering::Relaxed, more) {
            Ok(before) => Ok(AccountInFlight {
                key: Arc::clone(&caller.key),
                service: caller.service,
                in_flight: before + 1,
                prepaid: 0,
                prepaid_level: None,
            }),
            Err(_) => Err(Denial::after(Reason::TooManyConcurrent, 1)),
        }
    }

    /// Requests that the account had in flight when this one came, this one included.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Takes one token now, of those that the request will be charged with.
    pub(crate) fn prepay(&mut self, now: Now, rate: u32) -> Result<(), Denial> {
        if self.prepaid == 0 {
            let level = self.pay(now, 1, rate)?;
            self.prepaid_one(level);
        }
        Ok(())
    }

    /// One token was taken, which left the bucket like that.
    pub(crate) fn prepaid_one(&mut self, level: Level) {
        (self.prepaid, self.prepaid_level) = (1, Some(level));
    }

    /// Tokens that were taken already, and how full the bucket was then.
    pub(crate) fn paid(&self) -> Option<(u32, Level)> {
        self.prepaid_level.map(|level| (self.prepaid, level))
    }

    pub(crate) fn service(&self) -> Service {
        self.service
    }

    /// Takes the tokens that are not paid yet, at what is this process's part of the plan's rate.
    #[inline]
    pub(crate) fn pay(&mut self, now: Now, tokens: u32, rate: u32) -> Result<Level, Denial> {
        let owed = tokens.saturating_sub(self.prepaid);
        let level = self.allowance().bucket.take(now.mono, owed, rate);
        level.map_err(|wait| Denial::after(Reason::RateLimited, wait))
    }

    #[inline]
    pub(crate) fn allowance(&self) -> &Allowance {
        &self.key.account.allowances[self.service.place()]
    }
}

impl Drop for AccountInFlight {
    fn drop(&mut self) {
        self.allowance().in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}

impl fmt::Debug for AccountInFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountInFlight")
            .field("account", &self.key.account.id)
            .field("key", &self.key.id)
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}
