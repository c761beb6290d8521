//! B14: days that need no reading, and days that do.

use super::*;

/// 2026-11-28.
const DAY: u32 = 20_785;

#[test]
fn midnight_and_month_end_need_no_reading() {
    let days = OpenDays::new(Some(DAY));
    assert!(!days.is_open(DAY));
    days.open(DAY);
    for day in DAY..DAY + 400 {
        assert!(days.is_open(day), "day {day}");
    }
}

#[test]
fn a_store_without_rows_is_open_everywhere() {
    assert!(OpenDays::new(None).is_open(0));
    assert!(OpenDays::new(None).is_open(DAY));
}

#[test]
fn a_clock_set_back_needs_reading_unless_the_day_was_known() {
    let days = OpenDays::new(Some(DAY));
    days.open(DAY);
    assert!(days.is_open(DAY + 1));
    assert!(days.is_open(DAY));
    assert!(!days.is_open(DAY - 1));
    days.open(DAY - 1);
    assert!(days.is_open(DAY - 1));
    assert!(days.is_open(DAY));
    // Four days are held for known.
    assert!(days.is_open(DAY + 2));
    assert!(days.is_open(DAY + 3));
    assert!(!days.is_open(DAY));
}

#[test]
fn a_clock_set_forward_onto_days_with_rows_needs_reading() {
    let days = OpenDays::new(Some(DAY));
    days.open(0);
    assert!(!days.is_open(DAY));
    // A day after the last row, in a month that has rows.
    assert!(!days.is_open(DAY + 1));
    // 2026-12-01: neither.
    assert!(days.is_open(DAY + 3));
}
