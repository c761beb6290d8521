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
const KNOWN: usize = 4;
const NO_DAY: u32 = u32::MAX;

/// The open days of one service.
#[derive(Debug)]
pub(crate) struct Books {
    /// The day that was asked for last.
    current: AtomicU32,
    pages: Mutex<Pages>,
}

#[derive(Debug)]
struct Pages {
    /// Oldest knowledge first.
    known: VecDeque<u32>,
    /// No row is of a later day.
    last_day: Option<u32>,
}

impl Books {
    /// Books of a service whose last row is of that day.
    pub(crate) fn new(last_day: Option<u32>) -> Books {
        let pages = Pages { known: VecDeque::new(), last_day };
        Books { current: AtomicU32::new(NO_DAY), pages: Mutex::new(pages) }
    }

    /// Is the day open, or can it be opened without reading a row?
    #[inline]
    pub(crate) fn is_open(&self, day: u32) -> bool {
        self.current.load(Ordering::Acquire) == day || self.turn_to(day)
    }

    #[cold]
    fn turn_to(&self, day: u32) -> bool {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let open = pages.known.contains(&day) || pages.is_new(day);
        if open {
            pages.know(day);
            self.current.store(day, Ordering::Release);
        }
        open
    }

    /// The rows of that day and its month were read.
    pub(crate) fn open(&self, day: u32) {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.know(day);
        self.current.store(day, Ordering::Release);
    }
}

impl Pages {
    /// Can no row be of that day, and is its month known or new too?
    fn is_new(&self, day: u32) -> bool {
        let Some(last_day) = self.last_day else { return true };
        let month = month_of_day(day);
        let known = |known: &u32| month_of_day(*known) == month;
        day > last_day && (month > month_of_day(last_day) || self.known.iter().any(known))
    }

    fn know(&mut self, day: u32) {
        if !self.known.contains(&day) {
            if self.known.len() == KNOWN {
                self.known.pop_front();
            }
            self.known.push_back(day);
        }
        self.last_day = self.last_day.max(Some(day));
    }
}

#[cfg(test)]
mod tests;
