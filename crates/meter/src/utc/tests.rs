//! Days and months against the calendar walked day by day, and times in text.

use jiff::{ToSpan, civil::date};

use super::*;

fn utc(text: &str) -> Utc {
    Utc::from_secs(text.parse::<Timestamp>().unwrap().as_second() as u64)
}

#[test]
fn every_day_of_two_centuries_has_the_month_of_the_calendar() {
    let mut day = date(1970, 1, 1);
    for number in 0..73_100_u32 {
        let month = (day.year() as u32 - 1970) * 12 + day.month() as u32 - 1;
        assert_eq!(month_of_day(number), month, "{day}");
        if day.day() == 1 {
            assert_eq!(first_day_of_month(month), number, "{day}");
        }
        day = day.checked_add(1.day()).unwrap();
    }
}

#[test]
fn waits_end_at_midnight_and_on_the_first() {
    for (now, next_day, next_month) in [
        ("2024-02-28T23:59:59Z", "2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z"),
        ("2024-02-29T12:00:00Z", "2024-03-01T00:00:00Z", "2024-03-01T00:00:00Z"),
        ("2023-02-28T23:59:59Z", "2023-03-01T00:00:00Z", "2023-03-01T00:00:00Z"),
        ("2026-12-31T23:59:59Z", "2027-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        ("2026-11-30T00:00:00Z", "2026-12-01T00:00:00Z", "2026-12-01T00:00:00Z"),
        ("2000-02-29T23:00:00Z", "2000-03-01T00:00:00Z", "2000-03-01T00:00:00Z"),
        ("2100-02-28T23:00:00Z", "2100-03-01T00:00:00Z", "2100-03-01T00:00:00Z"),
    ] {
        let now = utc(now);
        assert_eq!(now.secs() + now.secs_to_next_day(), utc(next_day).secs());
        assert_eq!(now.secs() + now.secs_to_next_month(), utc(next_month).secs());
    }
}

#[test]
fn no_moment_panics() {
    for secs in [0, 1, 86_399, 86_400, u64::from(u32::MAX), LAST_SECOND, LAST_SECOND + 1, u64::MAX]
    {
        let now = Utc::from_secs(secs);
        assert!(now.day() < 1 << 20);
        assert!(now.month() < 1 << 20);
        assert!((1..=86_400).contains(&now.secs_to_next_day()));
        assert!((1..=31 * 86_400).contains(&now.secs_to_next_month()));
        assert_eq!(now.month(), month_of_day(now.day()));
    }
    // Numbers that no moment has, as a damaged row may show them.
    assert!(month_of_day(u32::MAX) > month_of_day(Utc::from_secs(u64::MAX).day()));
    assert!(first_day_of_month(u32::MAX) > 1 << 20);
}

#[test]
fn times_are_written_and_read_as_rfc_3339() {
    assert_eq!(utc("2026-11-28T01:00:00Z").to_string(), "2026-11-28T01:00:00Z");
    assert_eq!("2026-11-28".parse::<Utc>().unwrap(), utc("2026-11-28T00:00:00Z"));
    assert_eq!("2026-11-28T02:00:00+01:00".parse::<Utc>().unwrap(), utc("2026-11-28T01:00:00Z"));
    for odd in ["", "yesterday", "1969-12-31", "2026-02-30", "1764291600"] {
        assert!(odd.parse::<Utc>().is_err(), "{odd}");
    }
}
