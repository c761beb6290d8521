//! How long a line that was lost is left alone.
//!
//! The first loss in a while may be a hiccup and is looked into at once; the more follow, the longer it
//! takes. Invariant: never longer than [`LONGEST`].

use std::time::{Duration, Instant};

/// The second pause.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(2);
/// Without a loss for so long, all was well.
const GOOD: Duration = Duration::from_secs(10);

/// The pauses of one line after the other.
#[derive(Debug, Default)]
pub(super) struct Pause {
    last: Option<Instant>,
    next: Duration,
}

impl Pause {
    /// How long to wait after a loss, or a try that failed, at this moment.
    pub(super) fn next(&mut self, now: Instant) -> Duration {
        let is_good = self.last.is_none_or(|last| now.saturating_duration_since(last) >= GOOD);
        self.last = Some(now);
        let pause = if is_good { Duration::ZERO } else { self.next };
        self.next = (pause * 2).clamp(SHORTEST, LONGEST);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_are_forgotten() {
        let (mut pause, start) = (Pause::default(), Instant::now());
        let mut at = |ms| pause.next(start + Duration::from_millis(ms)).as_millis();
        let grown: Vec<u128> = [0, 10, 200, 500, 1000, 2000, 4000, 7000].map(&mut at).to_vec();
        assert_eq!(grown, [0, 100, 200, 400, 800, 1600, 2000, 2000]);
        assert_eq!(at(16_000), 2000);
        assert_eq!([at(26_000), at(26_001)], [0, 100]);
    }
}
