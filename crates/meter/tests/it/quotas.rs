//! B3, B5, B6, B7, B8, B11, B13, B14: what is charged, when, and what is left.

use std::thread;
use std::time::Duration;

use meter::{KeyOptions, PlanConfig, Reason};

use crate::rig::*;

const NOON: &str = "2026-11-28T12:00:00Z";

#[test]
fn eight_threads_at_a_cap_of_a_thousand_let_exactly_a_thousand_through() {
    for capped in ["daily", "monthly", "key"] {
        let mut lab = wide();
        let mut options = KeyOptions::default();
        let expected = match capped {
            "daily" => {
                lab.daily = Some(1000);
                Reason::DailyQuota
            }
            "monthly" => {
                lab.monthly = Some(1000);
                Reason::MonthlyQuota
            }
            _ => {
                options.daily_cap = Some(1000);
                Reason::KeyDailyQuota
            }
        };
        let rig = Rig::with(lab, NOON, options);
        let caller = rig.caller();
        let through: usize = thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        let admit =
                            |_: &usize| match at_once(rig.meter().admit(&caller, btc(), 1, 1)) {
                                Ok(_) => true,
                                Err(denial) => {
                                    assert_eq!(denial.reason, expected);
                                    false
                                }
                            };
                        (0..400).filter(admit).count()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(through, 1000, "{capped}");
        assert_eq!(rig.used(), (1000, 1000, 1000));
    }
}

#[test]
fn across_midnight_remaining_and_retry_after_agree() {
    let rig = Rig::new(PlanConfig { daily: Some(3), ..wide() }, "2026-11-27T23:59:58Z");
    for left in [2, 1, 0] {
        assert_eq!(rig.admit(1, 1).unwrap().remains().daily_remaining, Some(left));
    }
    assert_eq!(reason(rig.admit(1, 1)), (Reason::DailyQuota, Some(2)));
    rig.hands.advance(Duration::from_millis(1500));
    assert_eq!(reason(rig.admit(1, 1)), (Reason::DailyQuota, Some(1)));
    rig.hands.advance(Duration::from_millis(500));
    assert_eq!(rig.admit(1, 1).unwrap().remains().daily_remaining, Some(2));
    assert_eq!(rig.used(), (1, 4, 1));
}

#[test]
fn across_the_month_the_longest_wait_comes_first() {
    let lab = PlanConfig { daily: Some(2), monthly: Some(2), ..wide() };
    let rig = Rig::new(lab, "2028-02-28T23:59:00Z");
    let permit = rig.admit(2, 2).unwrap();
    assert_eq!(permit.remains().monthly_remaining, Some(0));
    assert_eq!(permit.remains().daily_remaining, Some(0));
    // 2028 has a 29 February.
    assert_eq!(reason(rig.admit(1, 1)), (Reason::MonthlyQuota, Some(60 + 86_400)));
    rig.hands.set_utc(utc("2028-02-29T23:59:59Z"));
    assert_eq!(reason(rig.admit(1, 1)), (Reason::MonthlyQuota, Some(1)));
    rig.hands.set_utc(utc("2028-03-01T00:00:00Z"));
    assert_eq!(rig.admit(1, 1).unwrap().remains().monthly_remaining, Some(1));
    assert_eq!(rig.used(), (1, 1, 1));
}

#[test]
fn a_refund_after_midnight_never_touches_the_new_day() {
    let lab = PlanConfig { daily: Some(5), monthly: Some(100), ..wide() };
    let options = KeyOptions { daily_cap: Some(5), ..KeyOptions::default() };
    let rig = Rig::with(lab, "2026-11-29T23:59:59Z", options);
    let mut permit = rig.admit(3, 3).unwrap();
    rig.hands.advance(Duration::from_secs(1));
    let second = rig.admit(2, 2).unwrap();
    permit.refund(3);
    permit.refund(3);
    let third = rig.admit(1, 1).unwrap();
    assert_eq!(third.remains().daily_remaining, Some(2));
    assert_eq!(third.remains().key_daily_remaining, Some(2));
    // The month is the same: the refund counts there.
    assert_eq!(second.remains().monthly_remaining, Some(95));
    assert_eq!(third.remains().monthly_remaining, Some(97));
    assert_eq!(rig.used(), (3, 3, 3));
    // Over the end of the month the refund stays in the month of the charge.
    let mut permit = rig.admit(2, 2).unwrap();
    rig.hands.set_utc(utc("2026-12-01T00:00:00Z"));
    permit.refund(2);
    assert_eq!(rig.admit(1, 1).unwrap().remains().monthly_remaining, Some(99));
    rig.hands.set_utc(utc("2026-11-30T23:59:59Z"));
    assert_eq!(rig.used(), (3, 3, 3));
}

#[test]
fn a_refund_is_booked_in_the_hour_of_its_charge() {
    let rig = Rig::new(wide(), "2026-11-28T12:59:59Z");
    let mut permit = rig.admit(5, 5).unwrap();
    rig.hands.advance(Duration::from_secs(1));
    rig.admit(1, 1).unwrap();
    permit.refund(2);
    drop(permit);
    let hours = rig.admin.usage("acme", None).unwrap().hours;
    let rows: Vec<_> = hours.iter().map(|row| (row.hour.to_string(), row.units)).collect();
    let row = |hour: &str, units| (format!("2026-11-28T{hour}:00:00Z"), units);
    assert_eq!(rows, [row("12", 3), row("13", 1)]);
    assert_eq!((hours[0].chain.as_str(), hours[0].key.as_str()), ("btc", "key_1"));
}

#[test]
fn a_refund_in_its_own_day_shows_in_what_remains() {
    let rig = Rig::new(PlanConfig { daily: Some(10), ..wide() }, NOON);
    let mut permit = rig.admit(4, 4).unwrap();
    permit.refund(1);
    assert_eq!(permit.remains().daily_remaining, Some(7));
    assert_eq!(permit.remains().monthly_remaining, None);
    assert_eq!(rig.admit(1, 1).unwrap().remains().daily_remaining, Some(6));
}

#[test]
fn refused_requests_consume_nothing() {
    let lab = PlanConfig {
        requests_per_second: 10,
        concurrency: Some(2),
        daily: Some(6),
        monthly: Some(100),
        ..PlanConfig::default()
    };
    let options = KeyOptions { daily_cap: Some(5), ..KeyOptions::default() };
    let rig = Rig::with(lab, NOON, options);
    let first = rig.admit(2, 2).unwrap();
    assert_eq!(first.remains().remaining, 8);
    // Daily and key-daily: nothing of a batch that does not fit whole is taken.
    assert_eq!(reason(rig.admit(7, 7)), (Reason::DailyQuota, Some(43_200)));
    assert_eq!(reason(rig.admit(4, 4)), (Reason::KeyDailyQuota, Some(43_200)));
    let second = rig.admit(1, 1).unwrap();
    assert_eq!(reason(rig.admit(1, 1)), (Reason::TooManyConcurrent, Some(1)));
    drop(second);
    assert_eq!(reason(rig.admit(8, 1)), (Reason::RateLimited, Some(1)));
    // All of it is as if only the two had come.
    let third = rig.admit(2, 2).unwrap();
    let remains = third.remains();
    assert_eq!(remains.remaining, 5);
    assert_eq!(remains.daily_remaining, Some(1));
    assert_eq!(remains.key_daily_remaining, Some(0));
    assert_eq!(remains.monthly_remaining, Some(95));
    assert_eq!(rig.used(), (5, 5, 5));
}

#[test]
fn a_refused_call_takes_a_token_and_no_unit() {
    let lab = PlanConfig { daily: Some(1), ..wide() };
    let rig = Rig::new(lab, NOON);
    rig.admit(1, 1).unwrap();
    // The quota is used up, but nothing is charged against it.
    let remains = *rig.admit(1, 0).unwrap().remains();
    assert_eq!(remains.daily_remaining, Some(0));
    assert_eq!(remains.remaining, 99_998);
    assert_eq!(rig.used(), (1, 1, 1));
    let mut permit = rig.admit(1, 0).unwrap();
    permit.refund(1);
    assert_eq!(reason(rig.admit(1, 1)).0, Reason::DailyQuota);
}

#[test]
fn a_full_batch_above_the_burst_is_a_debt() {
    let starter = PlanConfig { requests_per_second: 15, ..PlanConfig::default() };
    let rig = Rig::new(starter, NOON);
    let remains = *rig.admit(20, 20).unwrap().remains();
    assert_eq!((remains.limit, remains.remaining, remains.reset_secs), (15, 0, 2));
    assert_eq!(reason(rig.admit(1, 1)), (Reason::RateLimited, Some(1)));
    rig.hands.advance(Duration::from_secs(1));
    assert_eq!(rig.admit(1, 1).unwrap().remains().remaining, 9);
}

#[test]
fn the_permit_holds_its_place_until_it_is_dropped() {
    let lab = PlanConfig { requests_per_second: 40, ..PlanConfig::default() };
    let rig = Rig::new(lab, NOON);
    for _ in 0..3 {
        let permits: Vec<_> = (0..40).map(|_| rig.admit(1, 1).unwrap()).collect();
        rig.hands.advance(Duration::from_secs(1));
        let more: Vec<_> = (0..40).map(|_| rig.admit(1, 1).unwrap()).collect();
        rig.hands.advance(Duration::from_secs(1));
        assert_eq!(reason(rig.admit(1, 1)), (Reason::TooManyConcurrent, Some(1)));
        drop((permits, more));
    }
    // The other service has its own.
    let explorer = rig.caller_of(&rig.key, EXPLORER).unwrap();
    at_once(rig.meter().admit(&explorer, btc(), 40, 40)).unwrap();
}

#[test]
fn the_allowance_is_the_accounts_and_per_service() {
    let lab = PlanConfig { daily: Some(10), ..wide() };
    let options = KeyOptions { daily_cap: Some(4), ..KeyOptions::default() };
    let rig = Rig::with(lab, NOON, options);
    let other = rig.admin.add_key("acme", KeyOptions::default()).unwrap();
    rig.admit(4, 4).unwrap();
    assert_eq!(reason(rig.admit(1, 1)).0, Reason::KeyDailyQuota);
    // Another key of the account shares the day, not the cap.
    let caller = rig.caller_of(other.key.reveal(), GATEWAY).unwrap();
    let permit = at_once(rig.meter().admit(&caller, btc(), 6, 6)).unwrap();
    assert_eq!(permit.remains().daily_remaining, Some(0));
    assert_eq!(permit.remains().key_daily_remaining, None);
    // The explorer knows neither the cap nor what the gateway used.
    let explorer = rig.caller_of(&rig.key, EXPLORER).unwrap();
    let permit = at_once(rig.meter().admit(&explorer, btc(), 9, 9)).unwrap();
    assert_eq!(permit.remains().daily_remaining, Some(1));
    assert_eq!(permit.remains().key_daily_remaining, None);
    let usage = rig.admin.usage("acme", None).unwrap();
    assert_eq!((usage.gateway.today, usage.explorer.today), (10, 9));
}

#[test]
fn a_cap_set_later_counts_what_the_key_used_before() {
    let rig = Rig::new(wide(), NOON);
    rig.admit(7, 7).unwrap();
    rig.admin.set_cap("key_1", Some(8)).unwrap();
    assert_eq!(rig.admit(1, 1).unwrap().remains().key_daily_remaining, Some(0));
    assert_eq!(reason(rig.admit(1, 1)).0, Reason::KeyDailyQuota);
    rig.admin.set_cap("key_1", Some(2)).unwrap();
    assert_eq!(rig.admit(1, 0).unwrap().remains().key_daily_remaining, Some(0));
}

#[test]
fn counters_come_back_after_a_restart() {
    let lab = PlanConfig { daily: Some(10), monthly: Some(20), ..wide() };
    let options = KeyOptions { daily_cap: Some(10), ..KeyOptions::default() };
    let mut rig = Rig::with(lab, "2026-11-27T23:00:00Z", options);
    rig.admit(4, 4).unwrap();
    rig.hands.set_utc(utc("2026-11-28T08:00:00Z"));
    rig.admit(3, 3).unwrap();
    for _ in 0..3 {
        rig.restart();
        let permit = rig.admit(1, 0).unwrap();
        let remains = permit.remains();
        assert_eq!(remains.daily_remaining, Some(7));
        assert_eq!(remains.key_daily_remaining, Some(7));
        assert_eq!(remains.monthly_remaining, Some(13));
    }
    assert_eq!(rig.used(), (3, 7, 3));
}

#[test]
fn a_clock_set_back_or_forward_finds_the_day_as_it_was() {
    let lab = PlanConfig { daily: Some(10), monthly: Some(100), ..wide() };
    let mut rig = Rig::new(lab, "2026-11-27T12:00:00Z");
    rig.admit(4, 4).unwrap();
    rig.hands.set_utc(utc("2026-11-28T12:00:00Z"));
    rig.admit(3, 3).unwrap();
    rig.hands.set_utc(utc("2026-11-27T12:00:00Z"));
    assert_eq!(rig.admit(1, 1).unwrap().remains().daily_remaining, Some(5));
    // Opened with a clock that was never set, then set right.
    rig.hands.set_utc(0);
    rig.restart();
    assert_eq!(rig.admit(1, 1).unwrap().remains().daily_remaining, Some(9));
    rig.hands.set_utc(utc("2026-11-28T13:00:00Z"));
    let permit = rig.admit(1, 1).unwrap();
    assert_eq!(permit.remains().daily_remaining, Some(6));
    assert_eq!(permit.remains().monthly_remaining, Some(91));
    drop(permit);
    assert_eq!(rig.used(), (4, 9, 4));
    // And back to a day that only the store knows by now.
    rig.restart();
    rig.hands.set_utc(utc("2026-11-27T23:59:59Z"));
    assert_eq!(rig.admit(1, 1).unwrap().remains().daily_remaining, Some(4));
    assert_eq!(rig.used(), (6, 10, 6));
}
