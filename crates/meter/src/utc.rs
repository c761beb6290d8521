//! A moment in UTC, and the days and months that quotas are counted in.
//!
//! The calendar is jiff's. Invariant: all of it is total: no moment, however odd the machine's clock,
//! makes it panic.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::Offset;
use serde::{Serialize, Serializer};

const SECS_A_DAY: u64 = 86_400;
/// Last UTC second the meter counts in, in the year 4840; later times are taken as this one. Day
/// numbers up to here fit the stamp of a quota word and leave one stamp that no day has.
const LAST_SECOND: u64 = ((1 << 20) - 1) * SECS_A_DAY - 1;

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
        (self.0 / SECS_A_DAY) as u32
    }

    /// Months since January 1970.
    pub fn month(self) -> u32 {
        month_of_day(self.day())
    }

    /// Whole seconds until the next 00:00 UTC, 1 to 86,400.
    pub(crate) fn secs_to_next_day(self) -> u64 {
        SECS_A_DAY - self.0 % SECS_A_DAY
    }

    /// Whole seconds until 00:00 UTC on the first of the next month.
    pub(crate) fn secs_to_next_month(self) -> u64 {
        u64::from(first_day_of_month(self.month() + 1)) * SECS_A_DAY - self.0
    }
}

impl fmt::Display for Utc {
    /// RFC 3339, such as `2026-11-28T01:00:00Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        timestamp(self.0).fmt(f)
    }
}

impl FromStr for Utc {
    type Err = TimeError;

    /// Reads an RFC 3339 time or a plain date, which is its 00:00 UTC.
    fn from_str(text: &str) -> Result<Utc, TimeError> {
        let midnight = format!("{text}T00:00:00Z");
        let time: Timestamp =
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
    let date = Offset::UTC.to_datetime(timestamp(u64::from(day) * SECS_A_DAY)).date();
    // Neither is negative from 1970 on.
    (u32::from(date.year().unsigned_abs()) - 1970) * 12 + u32::from(date.month().unsigned_abs()) - 1
}

/// Days since 1970 of the first of a month, counted from January 1970.
pub(crate) fn first_day_of_month(month: u32) -> u32 {
    let year = i16::try_from(1970 + month / 12).unwrap_or(i16::MAX);
    let first = Date::new(year, (month % 12) as i8 + 1, 1).unwrap_or(Date::MAX);
    let midnight = Offset::UTC.to_timestamp(first.to_datetime(Time::midnight()));
    let secs = midnight.unwrap_or(Timestamp::MAX).as_second().cast_unsigned();
    (secs / SECS_A_DAY) as u32
}

/// The moment so many seconds after 1970, at most the last that RFC 3339 can write.
fn timestamp(secs: u64) -> Timestamp {
    Timestamp::from_second(secs.cast_signed()).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
