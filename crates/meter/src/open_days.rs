//! Which UTC days the quota words can be trusted for.
//!
//! A day is open when every word knows what its rows add up to: because they were read, or
//! because no row can be of that day. The second is the rule at midnight, and costs nothing. The
//! first is needed when the clock is set back, or forward onto days that have rows (a machine
//! that started without a clock). Invariant: no unit is admitted on a day that is not open.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::utc::month_of_day;

/// Days that are held for known at once. The words remember twice as many.
const MOST_KNOWN: usize = 4;
const NO_DAY: u32 = u32::MAX;

/// The open days of one service.
#[derive(Debug)]
pub(crate) struct OpenDays {
    /// The day that was asked for last.
    current: AtomicU32,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    /// Oldest knowledge first.
    days: VecDeque<u32>,
    /// No row is of a later day.
    last_day: Option<u32>,
}

impl OpenDays {
    /// The open days of a service whose last row is of that day.
    pub(crate) fn new(last_day: Option<u32>) -> OpenDays {
        let known = Known { days: VecDeque::new(), last_day };
        OpenDays { current: AtomicU32::new(NO_DAY), known: Mutex::new(known) }
    }

    /// Is the day open, or can it be opened without reading a row?
    #[inline]
    pub(crate) fn is_open(&self, day: u32) -> bool {
        self.current.load(Ordering::Acquire) == day || self.turn_to(day)
    }

    #[cold]
    fn turn_to(&self, day: u32) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let open = known.days.contains(&day) || known.is_new(day);
        if open {
            known.add(day);
            self.current.store(day, Ordering::Release);
        }
        open
    }

    /// Is it known that no row is of that day or a later one?
    pub(crate) fn is_blank(&self, day: u32) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.last_day.is_none_or(|last| last < day)
    }

    /// The rows of that day and its month were read.
    pub(crate) fn open(&self, day: u32) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.add(day);
        self.current.store(day, Ordering::Release);
    }
}

impl Known {
    /// Can no row be of that day, and is its month known or new too?
    fn is_new(&self, day: u32) -> bool {
        let Some(last_day) = self.last_day else { return true };
        let month = month_of_day(day);
        let known = |known: &u32| month_of_day(*known) == month;
        day > last_day && (month > month_of_day(last_day) || self.days.iter().any(known))
    }

    fn add(&mut self, day: u32) {
        if !self.days.contains(&day) {
            if self.days.len() == MOST_KNOWN {
                self.days.pop_front();
            }
            self.days.push_back(day);
        }
        self.last_day = self.last_day.max(Some(day));
    }
}

#[cfg(test)]
mod tests;
