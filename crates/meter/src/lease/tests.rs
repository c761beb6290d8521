//! What is lent is spent to the unit and no further, also while it is taken back.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use super::*;

fn lent(stamp: u32, units: u64) -> Lease {
    let lease = Lease::default();
    lease.term(stamp).begin(stamp);
    lease.term(stamp).show(1000, 0, 0);
    assert!(lease.term(stamp).put(stamp, units));
    lease
}

#[test]
fn a_lease_that_is_spent_and_returned_at_once_adds_up() {
    let lease = lent(7, 0);
    let term = lease.term(7);
    let (spent, done) = (AtomicU64::new(0), AtomicBool::new(false));
    let (mut put, mut back) = (0, 0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    if term.take(7, 2, 1000).is_some() {
                        spent.fetch_add(2, Ordering::AcqRel);
                        if term.left(7).is_some_and(|left| left % 3 == 0) && term.put(7, 1) {
                            spent.fetch_sub(1, Ordering::AcqRel);
                        }
                    }
                }
            });
        }
        for round in 0..20_000 {
            assert!(term.put(7, 5));
            put += 5;
            back += term.withdraw(7, round % 4);
        }
        done.store(true, Ordering::Release);
    });
    assert_eq!(term.left(7), Some(put - back - spent.load(Ordering::Acquire)));
}

#[test]
fn stamps_do_not_mix_and_those_before_and_after_stand_beside_each_other() {
    let lease = lent(7, 5);
    assert_eq!(lease.term(8).take(8, 1, 1000), None);
    lease.term(8).begin(8);
    assert!(lease.term(8).put(8, 3));
    assert_eq!(lease.term(7).take(7, 5, 1000).map(|taken| taken.remaining), Some(0));
    assert_eq!(lease.term(8).take(8, 4, 1000), None);
    assert!(lease.term(8).take(8, 3, 1000).is_some());
    lease.term(9).begin(9);
    assert!(!lease.term(7).put(7, 1));
    assert_eq!(lease.term(7).withdraw(7, 9), 0);
    assert_eq!(lease.term(9).left(9), Some(0));
}

#[test]
fn what_was_lent_under_a_higher_cap_is_not_spent_under_a_lower_one() {
    let lease = lent(7, 5);
    assert_eq!(lease.term(7).take(7, 1, 999), None);
    assert!(lease.term(7).take(7, 1, 1001).is_some());
}

#[test]
fn remaining_is_what_is_here_and_what_nobody_has() {
    let lease = lent(7, 5);
    lease.term(7).show(1000, 100, 3);
    let taken = |units| lease.term(7).take(7, units, 1000);
    assert_eq!(taken(2), Some(Taken { remaining: 103, is_low: false }));
    assert_eq!(taken(1), Some(Taken { remaining: 102, is_low: true }));
}
