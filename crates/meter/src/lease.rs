//! Units of a day or month that a shared store has lent to this process, for one account or key.
//!
//! A call spends them without asking anybody: one compare-and-swap on a word that carries its stamp
//! (decision B14). Leaves to `holdings` what is borrowed and returned. Invariant: units come into the
//! word only after the store has committed that they are lent to this process, and what is taken out
//! of it to be returned can be spent no more; so what was spent is never more than what is lent.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::tally::{NO_STAMP, pack, stamp_of, used_of};

/// What is lent of the current stamp and of the one before or after it.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    /// Of even stamps, of odd ones: at midnight the lease of the new day is there already.
    terms: [Term; 2],
}

/// What is lent of one stamp.
#[derive(Debug)]
pub(crate) struct Term {
    /// Stamp and units that may still be spent.
    left: AtomicU64,
    /// Under this many units more is borrowed.
    low: AtomicU64,
    /// Units that nobody had been lent when the store was last asked.
    pool: AtomicU64,
    /// The cap that was last lent under.
    cap: AtomicU64,
    /// Units that calls wait for.
    waiting: AtomicU32,
    /// Has the holder been told that more is needed?
    asked: AtomicBool,
    /// Milliseconds of the holder's time until which the store is known to have no more.
    dry_until_ms: AtomicU64,
}

/// Units that were taken, and how it stands then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Units that the caller may use besides, here or elsewhere, as far as is known.
    pub(crate) remaining: u64,
    /// Must more be borrowed?
    pub(crate) is_low: bool,
}

impl Default for Term {
    fn default() -> Term {
        Term {
            left: AtomicU64::new(pack(NO_STAMP, 0)),
            low: AtomicU64::new(0),
            pool: AtomicU64::new(0),
            cap: AtomicU64::new(0),
            waiting: AtomicU32::new(0),
            asked: AtomicBool::new(false),
            dry_until_ms: AtomicU64::new(0),
        }
    }
}

impl Lease {
    /// The word of a stamp; it may have another one for now.
    #[inline]
    pub(crate) fn term(&self, stamp: u32) -> &Term {
        &self.terms[(stamp & 1) as usize]
    }
}

impl Term {
    /// Spends units of a stamp under a cap, if they are here. What was lent under a higher cap is
    /// not spent before the store was asked again.
    #[inline]
    pub(crate) fn take(&self, stamp: u32, units: u64, cap: u64) -> Option<Taken> {
        if cap < self.cap.load(Ordering::Acquire) {
            return None;
        }
        let mut word = self.left.load(Ordering::Relaxed);
        while stamp_of(word) == stamp && used_of(word) >= units {
            match self.swap(word, word - units) {
                Ok(_) => return Some(self.taken(used_of(word) - units)),
                Err(now) => word = now,
            }
        }
        None
    }

    fn taken(&self, left: u64) -> Taken {
        Taken {
            remaining: left.saturating_add(self.pool.load(Ordering::Relaxed)),
            is_low: left < self.low.load(Ordering::Relaxed),
        }
    }

    /// How it stands with a stamp, if it is that one's.
    pub(crate) fn look(&self, stamp: u32) -> Option<Taken> {
        self.left(stamp).map(|left| self.taken(left))
    }

    /// Units of a stamp that may be spent here; `None` if the word has another stamp.
    pub(crate) fn left(&self, stamp: u32) -> Option<u64> {
        let word = self.left.load(Ordering::Acquire);
        (stamp_of(word) == stamp).then_some(used_of(word))
    }

    /// The stamp of the word; `None` where it has none yet.
    pub(crate) fn stamp(&self) -> Option<u32> {
        Some(stamp_of(self.left.load(Ordering::Acquire))).filter(|stamp| *stamp != NO_STAMP)
    }

    /// Adds units: lent now, or spent before and given back. Says whether the word still has that
    /// stamp; else they stay lent for good, which is nobody's loss once the stamp is over.
    pub(crate) fn put(&self, stamp: u32, units: u64) -> bool {
        let mut word = self.left.load(Ordering::Relaxed);
        while stamp_of(word) == stamp {
            match self.swap(word, word + units) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Takes units out that are to be returned, at most that many; says how many.
    pub(crate) fn withdraw(&self, stamp: u32, most: u64) -> u64 {
        let mut word = self.left.load(Ordering::Relaxed);
        while stamp_of(word) == stamp {
            let units = used_of(word).min(most);
            match self.swap(word, word - units) {
                Ok(_) => return units,
                Err(now) => word = now,
            }
        }
        0
    }

    /// Turns the word to another stamp, of which nothing is lent yet. What was left of the former is
    /// spent no more.
    pub(crate) fn begin(&self, stamp: u32) {
        if self.left(stamp).is_none() {
            self.show(0, 0, 0);
            self.dry_until_ms.store(0, Ordering::Release);
            self.left.store(pack(stamp, 0), Ordering::Release);
        }
    }

    /// What the store said last: under which cap, what it can lend besides, and below how many units
    /// it is to be asked again.
    pub(crate) fn show(&self, cap: u64, pool: u64, low: u64) {
        self.pool.store(pool, Ordering::Relaxed);
        self.low.store(low, Ordering::Relaxed);
        self.cap.store(cap, Ordering::Release);
    }

    /// Below how many units the store is to be asked again.
    pub(crate) fn low(&self) -> u64 {
        self.low.load(Ordering::Relaxed)
    }

    /// The store has no more for now.
    pub(crate) fn run_dry(&self, until_ms: u64) {
        self.dry_until_ms.store(until_ms, Ordering::Release);
    }

    /// Has the store no more under this cap for now?
    pub(crate) fn is_dry(&self, cap: u64, now_ms: u64) -> bool {
        cap == self.cap.load(Ordering::Acquire)
            && now_ms < self.dry_until_ms.load(Ordering::Acquire)
    }

    /// Says that more is needed; false if that was said already.
    pub(crate) fn ask(&self) -> bool {
        !self.asked.load(Ordering::Relaxed) && !self.asked.swap(true, Ordering::AcqRel)
    }

    /// What was said so far is looked after now.
    pub(crate) fn heard(&self) {
        self.asked.store(false, Ordering::Release);
    }

    /// Units that calls wait for.
    pub(crate) fn waiting(&self) -> u64 {
        u64::from(self.waiting.load(Ordering::Acquire))
    }

    /// Says for as long as the value lives that a call waits for units.
    pub(crate) fn wait(&self, units: u32) -> Waiting<'_> {
        self.waiting.fetch_add(units, Ordering::AcqRel);
        Waiting(&self.waiting, units)
    }

    fn swap(&self, from: u64, to: u64) -> Result<u64, u64> {
        self.left.compare_exchange_weak(from, to, Ordering::AcqRel, Ordering::Relaxed)
    }
}

/// A call that waits.
#[derive(Debug)]
pub(crate) struct Waiting<'a>(&'a AtomicU32, u32);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests;
