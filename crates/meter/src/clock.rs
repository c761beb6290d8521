//! The two times of the meter: monotonic for rates, UTC for quotas.
//!
//! Everything that depends on time takes a [`Now`] that was read once, so that one request sees
//! one time. Calendar arithmetic is plain integers and total: no moment, however odd the
//! machine's clock, makes it panic.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use serde::{Serialize, Serializer};

/// Last UTC second the meter counts in; later times are taken as this one. Day numbers up to
/// here fit the stamp of a quota word and leave one stamp that no day has.
const LAST_SECOND: u64 = ((1 << 20) - 1) * 86_400 - 1;

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
    #[inline]
    pub fn utc(&self) -> Utc {
        match &self.0 {
            Source::System { .. } => {
                let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
                Utc::from_secs(since.map_or(0, |since| since.as_secs()))
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

/// A moment in UTC, whole seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Utc(u64);

impl Utc {
    /// The moment so many seconds after 1970-01-01T00:00:00Z; beyond the last countable second it
    /// is that one.
    pub const fn from_secs(secs: u64) -> Utc {
        Utc(if secs > LAST_SECOND { LAST_SECOND } else { secs })
    }

    /// Seconds since 1970.
    pub fn secs(self) -> u64 {
        self.0
    }

    /// Hours since 1970.
    pub fn hour(self) -> u32 {
        (self.0 / 3600) as u32
    }

    /// Days since 1970.
    pub fn day(self) -> u32 {
        (self.0 / 86_400) as u32
    }

    /// Months since January 1970.
    pub fn month(self) -> u32 {
        let (year, month) = year_and_month(self.day());
        (year - 1970) * 12 + month - 1
    }

    /// Whole seconds until the next 00:00 UTC, 1 to 86,400.
    pub fn secs_to_next_day(self) -> u64 {
        86_400 - self.0 % 86_400
    }

    /// Whole seconds until 00:00 UTC on the first of the next month.
    pub fn secs_to_next_month(self) -> u64 {
        u64::from(first_day_of_month(self.month() + 1)) * 86_400 - self.0
    }
}

impl fmt::Display for Utc {
    /// RFC 3339, such as `2026-11-28T01:00:00Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_second(self.0.cast_signed()) {
            Ok(time) => time.fmt(f),
            // Beyond the year 9999, where RFC 3339 ends.
            Err(_) => write!(f, "@{}", self.0),
        }
    }
}

impl FromStr for Utc {
    type Err = TimeError;

    /// Reads an RFC 3339 time or a plain date, which is its 00:00 UTC.
    fn from_str(text: &str) -> Result<Utc, TimeError> {
        let midnight = format!("{text}T00:00:00Z");
        let time: jiff::Timestamp =
            text.parse().or_else(|_| midnight.parse()).map_err(|_| TimeError(text.to_owned()))?;
        u64::try_from(time.as_second()).map(Utc::from_secs).map_err(|_| TimeError(text.to_owned()))
    }
}

impl Serialize for Utc {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Text that is no time from 1970 on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no time: write 2026-11-28T01:00:00Z or 2026-11-28")]
pub struct TimeError(String);

/// The month that a day lies in, both counted from 1970.
pub(crate) fn month_of_day(day: u32) -> u32 {
    let (year, month) = year_and_month(day);
    (year - 1970) * 12 + month - 1
}

/// Days since 1970 of the first of a month, counted from January 1970.
pub(crate) fn first_day_of_month(month: u32) -> u32 {
    // Years that begin in March put the leap day last (Howard Hinnant, "chrono-Compatible
    // Low-Level Date Algorithms", days_from_civil). Nothing is negative from 1970 on.
    let (year, month) = (1970 + month / 12, month % 12 + 1);
    let (year, shifted) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year / 400, year % 400);
    let day_of_year = (153 * shifted + 2) / 5;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468
}

/// Year and month (1 to 12) of a day since 1970; civil_from_days of the same paper.
fn year_and_month(day: u32) -> (u32, u32) {
    let shifted = day + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let year = era * 400 + year;
    if month < 10 { (year, month + 3) } else { (year + 1, month - 9) }
}

#[cfg(test)]
mod tests;
