//! The two times of the meter: monotonic for rates, UTC for quotas.
//!
//! Everything that depends on time takes a [`Now`] that was read once, so that one request sees
//! one time. Leaves what a day and a month are to `utc`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::utc::Utc;

/// Where the meter reads the time: the machine, or a test's own hands.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System { origin: Instant },
    Hands(Hands),
}

impl Clock {
    /// The clocks of the machine.
    pub fn system() -> Clock {
        Clock(Source::System { origin: Instant::now() })
    }

    /// A clock that stands at a UTC second until its hands are moved.
    pub fn test(utc_secs: u64) -> (Clock, Hands) {
        let hands = Hands { mono_ns: Arc::default(), utc_ms: Arc::new((utc_secs * 1000).into()) };
        (Clock(Source::Hands(hands.clone())), hands)
    }

    /// The time now, both clocks.
    #[inline]
    pub fn now(&self) -> Now {
        Now { mono: self.mono(), utc: self.utc() }
    }

    /// Monotonic time since this clock was made.
    #[inline]
    pub fn mono(&self) -> Duration {
        match &self.0 {
            Source::System { origin } => origin.elapsed(),
            Source::Hands(hands) => Duration::from_nanos(hands.mono_ns.load(Ordering::SeqCst)),
        }
    }

    /// The moment in UTC. A machine whose clock stands before 1970 counts as 1970.
    ///
    /// Read from the clock that the kernel moves some hundred times a second: whole seconds are all
    /// that is asked for, and it costs a quarter of the exact one.
    #[inline]
    pub fn utc(&self) -> Utc {
        match &self.0 {
            Source::System { .. } => {
                let since = clock_gettime(ClockId::RealtimeCoarse).tv_sec;
                Utc::from_secs(u64::try_from(since).unwrap_or_default())
            }
            Source::Hands(hands) => Utc::from_secs(hands.utc_ms.load(Ordering::SeqCst) / 1000),
        }
    }
}

/// The hands of a test clock.
#[derive(Clone, Debug)]
pub struct Hands {
    mono_ns: Arc<AtomicU64>,
    utc_ms: Arc<AtomicU64>,
}

impl Hands {
    /// Lets time pass on both clocks.
    pub fn advance(&self, by: Duration) {
        let ns = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        self.mono_ns.fetch_add(ns, Ordering::SeqCst);
        self.utc_ms.fetch_add(ns / 1_000_000, Ordering::SeqCst);
    }

    /// Sets the UTC clock, forwards or back; monotonic time stays.
    pub fn set_utc(&self, utc_secs: u64) {
        self.utc_ms.store(utc_secs.saturating_mul(1000), Ordering::SeqCst);
    }
}

/// One reading of both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Since the clock was made.
    pub mono: Duration,
    /// The moment in UTC.
    pub utc: Utc,
}

#[cfg(test)]
mod tests;
