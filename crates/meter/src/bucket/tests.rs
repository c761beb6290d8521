//! B4, B5, B8: tokens, debt, waits.

use std::thread;

use proptest::prelude::*;

use super::*;

const MS: Duration = Duration::from_millis(1);

fn level(remaining: u32, reset_secs: u64) -> Result<Level, u64> {
    Ok(Level { remaining, reset_secs })
}

#[test]
fn a_full_bucket_gives_its_burst_and_refills_at_its_rate() {
    for burst in [1, 2, 3, 5, 7, 15, 40, 99, 1000, 33_333, 100_000] {
        let bucket = Bucket::default();
        for left in (0..burst).rev() {
            assert_eq!(bucket.take(MS, 1, burst), level(left, 1), "burst {burst}");
        }
        assert_eq!(bucket.take(MS, 1, burst), Err(1), "burst {burst}");
        let one = Duration::from_secs(1).div_ceil(burst);
        assert_eq!(bucket.take(MS + one, 1, burst), level(0, 1), "burst {burst}");
        assert_eq!(bucket.take(MS + one, 1, burst), Err(1), "burst {burst}");
        assert_eq!(bucket.take(MS + one + Duration::from_secs(1), 0, burst), level(burst, 0));
    }
}

trait DivCeil {
    fn div_ceil(self, by: u32) -> Duration;
}

impl DivCeil for Duration {
    fn div_ceil(self, by: u32) -> Duration {
        Duration::from_nanos((self.as_nanos() as u64).div_ceil(u64::from(by)))
    }
}

#[test]
fn a_batch_above_the_burst_makes_a_debt_that_is_paid_back() {
    let bucket = Bucket::default();
    assert_eq!(bucket.take(MS, 50, 40), level(0, 2));
    assert_eq!(bucket.take(MS, 1, 40), Err(1));
    // The debt of 10 is paid after a quarter of a second; the first token comes 25 ms later.
    assert_eq!(bucket.take(MS + 274 * MS, 1, 40), Err(1));
    assert_eq!(bucket.take(MS + 275 * MS, 1, 40), level(0, 1));
    // A full burst is needed for the next one: 1.25 s after the first plus the token since.
    assert_eq!(bucket.take(MS + 1274 * MS, 50, 40), Err(1));
    assert_eq!(bucket.take(MS + 1275 * MS, 50, 40), level(0, 2));
}

#[test]
fn the_wait_counts_a_long_debt() {
    let bucket = Bucket::default();
    assert_eq!(bucket.take(MS, 50, 5), level(0, 10));
    assert_eq!(bucket.take(MS, 5, 5), Err(10));
    assert_eq!(bucket.take(MS, 1, 5), Err(10));
    assert_eq!(bucket.take(MS + 9000 * MS, 1, 5), Err(1));
    assert_eq!(bucket.take(MS + 9200 * MS, 1, 5), level(0, 1));
}

#[test]
fn after_the_wait_it_is_admitted() {
    let bucket = Bucket::default();
    for step in 0..2000_u32 {
        let now = 37 * MS * step;
        if let Err(wait) = bucket.take(now, step % 60, 15) {
            assert!(wait >= 1);
            let probe = Bucket { full_at: bucket.full_at.load(Ordering::Relaxed).into() };
            assert!(probe.take(now + Duration::from_secs(wait), step % 60, 15).is_ok());
        }
    }
}

#[test]
fn a_changed_plan_keeps_how_full_the_bucket_is() {
    let bucket = Bucket::default();
    assert_eq!(bucket.take(MS, 5, 5), level(0, 1));
    assert_eq!(bucket.take(MS, 1, 40), Err(1));
    assert_eq!(bucket.take(501 * MS, 1, 40), level(19, 1));
}

#[test]
fn threads_share_a_burst_exactly() {
    let bucket = Bucket::default();
    let through: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| (0..500).filter(|_| bucket.take(MS, 1, 1000).is_ok()).count()))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(through, 1000);
}

#[test]
fn no_number_panics() {
    let bucket = Bucket::default();
    for burst in [0, 1, u32::MAX] {
        for tokens in [0, 1, u32::MAX] {
            for mono in [Duration::ZERO, Duration::MAX] {
                let _ = bucket.take(mono, tokens, burst);
            }
        }
    }
}

proptest! {
    #[test]
    fn the_long_run_rate_is_never_exceeded(
        burst in prop_oneof![Just(5_u32), Just(15), Just(40), 1..2000_u32],
        calls in proptest::collection::vec((0..400_u64, 1..60_u32), 1..300),
    ) {
        let bucket = Bucket::default();
        let (mut now, mut admitted) = (Duration::ZERO, 0_u64);
        let largest = calls.iter().map(|(_, tokens)| *tokens).max().unwrap_or(0);
        for (pause_ms, tokens) in calls {
            now += Duration::from_millis(pause_ms);
            if bucket.take(now, tokens, burst).is_ok() {
                admitted += u64::from(tokens);
            }
        }
        let allowed = f64::from(burst) * (1.0 + now.as_secs_f64()) + f64::from(largest);
        prop_assert!(admitted as f64 <= allowed + 0.001);
    }
}

#[test]
fn what_was_paid_elsewhere_is_missing_here_but_no_debt() {
    let (bucket, at) = (Bucket::default(), Duration::from_secs(1));
    bucket.note(at, 3, 10);
    assert_eq!(bucket.missing(at, 10), 3);
    bucket.note(at, 100, 10);
    assert_eq!(bucket.missing(at, 10), 10);
    assert!(bucket.take(at, 1, 10).is_err());
    assert!(bucket.take(at + Duration::from_millis(100), 1, 10).is_ok());
    // What is in debt stays so.
    let bucket = Bucket::default();
    bucket.take(at, 50, 10).unwrap();
    bucket.note(at, 1, 10);
    assert_eq!(bucket.missing(at, 10), 50);
    assert_eq!(bucket.missing(at + Duration::from_secs(9), 10), 0);
}
