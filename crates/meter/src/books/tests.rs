//! B14: days that need no reading, and days that do.

use super::*;

/// 2026-11-28.
const DAY: u32 = 20_785;

#[test]
fn midnight_and_month_end_need_no_reading() {
    let books = Books::new(Some(DAY));
    assert!(!books.is_open(DAY));
    books.open(DAY);
    for day in DAY..DAY + 400 {
        assert!(books.is_open(day), "day {day}");
    }
}

#[test]
fn a_store_without_rows_is_open_everywhere() {
    assert!(Books::new(None).is_open(0));
    assert!(Books::new(None).is_open(DAY));
}

#[test]
fn a_clock_set_back_needs_reading_unless_the_day_was_known() {
    let books = Books::new(Some(DAY));
    books.open(DAY);
    assert!(books.is_open(DAY + 1));
    assert!(books.is_open(DAY));
    assert!(!books.is_open(DAY - 1));
    books.open(DAY - 1);
    assert!(books.is_open(DAY - 1));
    assert!(books.is_open(DAY));
    // Four days are held for known.
    assert!(books.is_open(DAY + 2));
    assert!(books.is_open(DAY + 3));
    assert!(!books.is_open(DAY));
}

#[test]
fn a_clock_set_forward_onto_days_with_rows_needs_reading() {
    let books = Books::new(Some(DAY));
    books.open(0);
    assert!(!books.is_open(DAY));
    // A day after the last row, in a month that has rows.
    assert!(!books.is_open(DAY + 1));
    // 2026-12-01: neither.
    assert!(books.is_open(DAY + 3));
}
