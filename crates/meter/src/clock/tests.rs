//! Hands that are moved, and the machine's clock.

use jiff::{Timestamp, tz::TimeZone};

use super::*;

#[test]
fn hands_move_both_clocks_or_one() {
    let (clock, hands) = Clock::test(100);
    hands.advance(Duration::from_millis(1500));
    assert_eq!(clock.now(), Now { mono: Duration::from_millis(1500), utc: Utc::from_secs(101) });
    hands.set_utc(7);
    assert_eq!(clock.now(), Now { mono: Duration::from_millis(1500), utc: Utc::from_secs(7) });
}

#[test]
fn the_system_clock_agrees_with_the_calendar() {
    let now = Clock::system().utc();
    let civil = TimeZone::UTC.to_datetime(Timestamp::now());
    assert!(
        now.month().abs_diff((civil.year() as u32 - 1970) * 12 + civil.month() as u32 - 1) <= 1
    );
}
