//! A quota word: units used in one UTC day or month.
//!
//! The word carries its own stamp (a day or month number), so roll-over, check and add are one
//! compare-and-swap (decision B14); no job resets anything at midnight. Where the clock is set
//! back, the amounts of the last stamps are still known and the word goes on from them.
//! Invariant: what a stamp has used never exceeds the cap it was taken under.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const USED_BITS: u32 = 44;
/// Most units one stamp can hold; quotas end below it.
pub(crate) const MAX_USED: u64 = (1 << USED_BITS) - 1;
/// A stamp that no time has.
pub(crate) const NO_STAMP: u32 = (1 << (u64::BITS - USED_BITS)) - 1;
/// Former stamps that are remembered. More than twice as many as `open_days` holds for known, so
/// that a day it calls known is never forgotten here.
const REMEMBERED: usize = 8;

/// Units used in the current stamp and in the last ones.
#[derive(Debug)]
pub(crate) struct Tally {
    word: AtomicU64,
    former: Mutex<Vec<(u32, u64)>>,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally { word: AtomicU64::new(pack(NO_STAMP, 0)), former: Mutex::default() }
    }
}

impl Tally {
    /// Uses `units` more of a stamp if they fit under `cap`; says how much is used then.
    #[inline]
    pub(crate) fn take(&self, stamp: u32, units: u64, cap: u64) -> Option<u64> {
        let mut word = self.word.load(Ordering::Relaxed);
        while stamp_of(word) == stamp {
            let used = used_of(word) + units;
            if used > cap {
                return None;
            }
            match self.swap(word, pack(stamp, used)) {
                Ok(_) => return Some(used),
                Err(now) => word = now,
            }
        }
        self.turn(stamp, units, cap)
    }

    /// As [`Tally::take`], where the word has another stamp.
    #[cold]
    fn turn(&self, stamp: u32, units: u64, cap: u64) -> Option<u64> {
        let mut former = self.former();
        loop {
            let word = self.word.load(Ordering::Relaxed);
            let turned = stamp_of(word) != stamp;
            let known = former.iter().position(|(known, _)| *known == stamp);
            let before = match known {
                _ if !turned => used_of(word),
                Some(place) => former[place].1,
                None => 0,
            };
            let used = before + units;
            if used > cap {
                return None;
            }
            if self.swap(word, pack(stamp, used)).is_ok() {
                if turned {
                    former.retain(|(known, _)| *known != stamp);
                    remember(&mut former, stamp_of(word), used_of(word));
                }
                return Some(used);
            }
        }
    }

    /// Gives units of a stamp back. Says whether the stamp is still the current one.
    pub(crate) fn give_back(&self, stamp: u32, units: u64) -> bool {
        if self.lessen(stamp, units) {
            return true;
        }
        let mut former = self.former();
        if self.lessen(stamp, units) {
            return true;
        }
        if let Some((_, used)) = former.iter_mut().find(|(known, _)| *known == stamp) {
            *used = used.saturating_sub(units);
        }
        false
    }

    fn lessen(&self, stamp: u32, units: u64) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        while stamp_of(word) == stamp {
            match self.swap(word, pack(stamp, used_of(word).saturating_sub(units))) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Tells what the usage rows of a stamp add up to. A stamp that this process has counted
    /// itself keeps its own amount, which is newer.
    pub(crate) fn restore(&self, stamp: u32, used: u64) {
        let mut former = self.former();
        let current = stamp_of(self.word.load(Ordering::Relaxed)) == stamp;
        if !current && !former.iter().any(|(known, _)| *known == stamp) {
            remember(&mut former, stamp, used.min(MAX_USED));
        }
    }

    /// Counts units that were used of a stamp, whatever it is.
    pub(crate) fn charge(&self, stamp: u32, units: u64) {
        let mut former = self.former();
        let mut word = self.word.load(Ordering::Relaxed);
        while stamp_of(word) == stamp {
            match self.swap(word, pack(stamp, (used_of(word) + units).min(MAX_USED))) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
        match former.iter_mut().find(|(known, _)| *known == stamp) {
            Some((_, used)) => *used = (*used + units).min(MAX_USED),
            None => remember(&mut former, stamp, units.min(MAX_USED)),
        }
    }

    /// What was used of a stamp, as far as this word knows.
    pub(crate) fn used(&self, stamp: u32) -> u64 {
        let former = self.former();
        let word = self.word.load(Ordering::Acquire);
        if stamp_of(word) == stamp {
            return used_of(word);
        }
        former.iter().find(|(known, _)| *known == stamp).map_or(0, |(_, used)| *used)
    }

    fn swap(&self, from: u64, to: u64) -> Result<u64, u64> {
        self.word.compare_exchange_weak(from, to, Ordering::AcqRel, Ordering::Relaxed)
    }

    fn former(&self) -> MutexGuard<'_, Vec<(u32, u64)>> {
        self.former.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn remember(former: &mut Vec<(u32, u64)>, stamp: u32, used: u64) {
    if stamp == NO_STAMP {
        return;
    }
    if former.len() == REMEMBERED {
        former.remove(0);
    }
    former.push((stamp, used));
}

pub(crate) fn pack(stamp: u32, used: u64) -> u64 {
    u64::from(stamp) << USED_BITS | used
}

pub(crate) fn stamp_of(word: u64) -> u32 {
    (word >> USED_BITS) as u32
}

pub(crate) fn used_of(word: u64) -> u64 {
    word & MAX_USED
}

#[cfg(test)]
mod tests;
