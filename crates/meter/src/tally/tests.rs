//! B13, B14: exact under threads, across stamps, with refunds.

use std::thread;

use super::*;

#[test]
fn eight_threads_get_exactly_the_cap() {
    let tally = Tally::default();
    let through: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| (0..500).filter(|_| tally.take(7, 1, 1000).is_some()).count()))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(through, 1000);
    assert_eq!(tally.take(7, 1, 1000), None);
    assert_eq!(tally.take(8, 1, 1000), Some(1));
}

#[test]
fn threads_that_roll_over_together_lose_nothing() {
    for round in 0..200 {
        let tally = Tally::default();
        tally.take(round, 9, 10);
        let through: usize = thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        (0..10).filter(|_| tally.take(round + 1, 1, 10).is_some()).count()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(through, 10);
        assert_eq!(tally.take(round, 2, 10), None);
        assert_eq!(tally.take(round, 1, 10), Some(10));
    }
}

#[test]
fn a_refund_touches_its_own_stamp_only() {
    let tally = Tally::default();
    tally.take(1, 5, 10);
    assert!(tally.give_back(1, 2));
    tally.take(2, 4, 10);
    assert!(!tally.give_back(1, 1));
    assert_eq!(tally.take(2, 1, 10), Some(5));
    assert_eq!(tally.take(1, 1, 10), Some(3));
    assert_eq!(tally.take(2, 0, 10), Some(5));
}

#[test]
fn a_refund_of_more_than_was_used_stops_at_nothing() {
    let tally = Tally::default();
    tally.take(1, 1, 10);
    assert!(tally.give_back(1, 9));
    assert!(!tally.give_back(3, 9));
    assert_eq!(tally.take(1, 10, 10), Some(10));
}

#[test]
fn what_the_rows_say_counts_unless_the_word_knows_better() {
    let tally = Tally::default();
    tally.restore(5, 8);
    assert_eq!(tally.take(5, 1, 9), Some(9));
    tally.restore(5, 0);
    assert_eq!(tally.take(5, 1, 9), None);
    tally.take(6, 1, 9);
    tally.restore(5, 0);
    assert_eq!(tally.take(5, 1, 9), None);
}

#[test]
fn the_last_eight_stamps_are_remembered() {
    let tally = Tally::default();
    for stamp in 0..9 {
        tally.take(stamp, 3, 10);
    }
    for stamp in (0..9).rev() {
        assert_eq!(tally.take(stamp, 1, 10), Some(4), "stamp {stamp}");
    }
}
