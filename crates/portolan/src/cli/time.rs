//! Times as people type them.
//!
//! A day, a moment, or a span from now or back. Everything is UTC. Invariant: a text that can be
//! read two ways is refused.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp};

/// Reads a moment: `2027-01-31` (00:00 UTC), `2027-01-31T12:00:00Z`, or a span such as `90d` after
/// `now`.
///
/// # Errors
/// A text for people if it is none of these, or out of range.
pub(crate) fn moment_after(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    match moment(text) {
        Some(moment) => Ok(moment),
        None => now.checked_add(span(text)?).map_err(|error| error.to_string()),
    }
}

/// Reads a moment like [`moment_after`], a span being back from `now`.
///
/// # Errors
/// As [`moment_after`].
pub(crate) fn moment_before(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    match moment(text) {
        Some(moment) => Ok(moment),
        None => now.checked_sub(span(text)?).map_err(|error| error.to_string()),
    }
}

/// Reads a span such as `24h`, `7d`, `1w` or `0s`; a day has 24 hours.
///
/// # Errors
/// A text for people if it is none, negative, or holds months, whose length is not fixed.
pub(crate) fn span(text: &str) -> Result<SignedDuration, String> {
    let wrong = || format!("{text:?} is no time: expected 2027-01-31, 2027-01-31T12:00:00Z or 24h");
    let span: Span = text.parse().map_err(|_| wrong())?;
    if span.is_negative() || span.get_months() != 0 || span.get_years() != 0 {
        return Err(wrong());
    }
    let days = SignedDuration::from_hours(24 * i64::from(span.get_days()))
        + SignedDuration::from_hours(24 * 7 * i64::from(span.get_weeks()));
    let rest = span.days(0).weeks(0);
    let rest = SignedDuration::try_from(rest).map_err(|_| wrong())?;
    days.checked_add(rest).ok_or_else(wrong)
}

fn moment(text: &str) -> Option<Timestamp> {
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(moment);
    }
    let date: Date = text.parse().ok().filter(|_| text.len() == 10)?;
    TimeZone::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: &str = "2026-11-28T12:00:00Z";

    #[test]
    fn days_moments_and_spans_are_read() {
        let now: Timestamp = NOON.parse().unwrap();
        for (text, after) in [
            ("2027-01-31", "2027-01-31T00:00:00Z"),
            ("2027-01-31T13:00:00+01:00", "2027-01-31T12:00:00Z"),
            ("90d", "2027-02-26T12:00:00Z"),
            ("24h", "2026-11-29T12:00:00Z"),
            ("1w", "2026-12-05T12:00:00Z"),
            ("0s", NOON),
        ] {
            assert_eq!(moment_after(text, now).unwrap().to_string(), after, "{text}");
        }
        assert_eq!(moment_before("24h", now).unwrap().to_string(), "2026-11-27T12:00:00Z");
    }

    #[test]
    fn anything_else_is_refused() {
        let now: Timestamp = NOON.parse().unwrap();
        for text in ["", "tomorrow", "5", "-24h", "1mo", "1y", "2027-13-01", "99999999999w"] {
            assert!(moment_after(text, now).is_err(), "{text}");
        }
    }
}
