//! Failed calls of a node, told in one line a minute.
//!
//! Leaves what counts as failed to whoever calls. Invariants: however many calls fail, the log grows
//! by one line a node and minute, and every failure is in a count; that line warns unless another
//! one about the node did so within the minute.

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
    warned: Option<Instant>,
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
    /// Nothing else warned of the node lately.
    pub(crate) is_warning: bool,
}

impl State {
    fn warned_lately(&self, now: Instant) -> bool {
        self.warned.is_some_and(|warned| now.saturating_duration_since(warned) < BETWEEN)
    }
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
        let is_warning = !state.warned_lately(now);
        if is_warning {
            state.warned = Some(now);
        }
        Some(Summary {
            is_warning,
            calls: std::mem::take(&mut state.calls),
            last: std::mem::take(&mut state.last),
        })
    }

    /// Whether the log was warned of the node within the last minute.
    pub(crate) fn warned_lately(&self, now: Instant) -> bool {
        self.lock().warned_lately(now)
    }

    /// Notes that the log was warned of the node.
    pub(crate) fn note_warning(&self, now: Instant) {
        self.lock().warned = Some(now);
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
        let line = |calls, last: &str| Some(Summary { calls, last: last.into(), is_warning: true });
        assert_eq!(complaints.due(start), line(1, "first"));
        (0..1000).for_each(|call| complaints.add(&call));
        assert_eq!(complaints.due(start + Duration::from_secs(59)), None);
        assert_eq!(complaints.due(start + Duration::from_secs(60)), line(1000, "999"));
        assert_eq!(complaints.due(start + Duration::from_secs(300)), None);
    }

    #[test]
    fn one_line_in_a_minute_warns() {
        let (complaints, start) = (Complaints::default(), Instant::now());
        assert!(!complaints.warned_lately(start));
        complaints.add(&"first");
        assert!(complaints.due(start).unwrap().is_warning);
        assert!(complaints.warned_lately(start + Duration::from_secs(59)));
        assert!(!complaints.warned_lately(start + Duration::from_secs(60)));
        complaints.note_warning(start + Duration::from_secs(61));
        complaints.add(&"second");
        assert!(!complaints.due(start + Duration::from_secs(62)).unwrap().is_warning);
    }
}
