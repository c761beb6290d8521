//! Failed calls of a node, told in one line a minute.
//!
//! Leaves what counts as failed to whoever calls. Invariant: however many calls fail, the log grows
//! by one line a node and minute, and every failure is in a count.

use std::fmt::Display;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Between two lines about a node.
const BETWEEN: Duration = Duration::from_secs(60);

/// What is to be told of a node.
#[derive(Debug, Default)]
pub(crate) struct Complaints(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    told: Option<Instant>,
    calls: u64,
    last: String,
}

/// The calls of a node that failed, in one line of the log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Calls that failed since the line before.
    pub(crate) calls: u64,
    /// What the last of them met.
    pub(crate) last: String,
}

impl Complaints {
    /// Counts a call that failed.
    pub(crate) fn add(&self, what: &dyn Display) {
        let mut state = self.lock();
        state.calls += 1;
        state.last = what.to_string();
    }

    /// The line to be written now, if it is time for one.
    pub(crate) fn due(&self, now: Instant) -> Option<Summary> {
        let mut state = self.lock();
        let quiet = state.told.is_none_or(|told| now.saturating_duration_since(told) >= BETWEEN);
        if state.calls == 0 || !quiet {
            return None;
        }
        state.told = Some(now);
        Some(Summary {
            calls: std::mem::take(&mut state.calls),
            last: std::mem::take(&mut state.last),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_at_once_and_then_once_a_minute_with_their_count() {
        let (complaints, start) = (Complaints::default(), Instant::now());
        assert_eq!(complaints.due(start), None);
        complaints.add(&"first");
        let line = |calls, last: &str| Some(Summary { calls, last: last.into() });
        assert_eq!(complaints.due(start), line(1, "first"));
        (0..1000).for_each(|call| complaints.add(&call));
        assert_eq!(complaints.due(start + Duration::from_secs(59)), None);
        assert_eq!(complaints.due(start + Duration::from_secs(60)), line(1000, "999"));
        assert_eq!(complaints.due(start + Duration::from_secs(300)), None);
    }
}
