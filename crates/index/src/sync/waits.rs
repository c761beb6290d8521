//! How long to wait before something that went wrong is tried again.
//!
//! Invariant: what goes wrong at the same height again and again is tried ever more rarely.

use std::time::Duration;

/// The longest wait.
const LONGEST: Duration = Duration::from_secs(30);

/// Waits that grow while nothing gets on.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// Where it went wrong last, and how often in a row.
    failed: Option<(u32, u32)>,
}

impl Waits {
    /// The wait after one more failure at a height; `first` after the first one.
    pub(crate) fn next(&mut self, first: Duration, height: u32) -> Duration {
        let times = match self.failed {
            Some((at, times)) if at == height => times + 1,
            _ => 0,
        };
        self.failed = Some((height, times));
        first.saturating_mul(1 << times.min(20)).min(LONGEST.max(first))
    }

    /// It got on.
    pub(crate) fn forget(&mut self) {
        self.failed = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_a_bound_until_something_gets_on() {
        let (mut waits, first) = (Waits::default(), Duration::from_millis(500));
        let mut last = Duration::ZERO;
        for n in 0..40 {
            let wait = waits.next(first, 7);
            assert!(wait > last || wait == LONGEST, "{n}: {wait:?}");
            last = wait;
        }
        assert_eq!(last, LONGEST);
        assert_eq!(waits.next(first, 8), first);
        assert!(waits.next(first, 8) > first);
        waits.forget();
        assert_eq!(waits.next(first, 8), first);
        let hour = Duration::from_secs(3600);
        assert_eq!((waits.next(hour, 9), waits.next(hour, 9)), (hour, hour));
    }
}
