//! Changes of a node's state, as lines of the log.
//!
//! Leaves what the state is to `state`. Invariants: what is told differs from what was told before; no
//! word is told twice within a minute, however often the state goes to and fro; nothing that lasts
//! stays untold.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Between two lines with the same word.
const BETWEEN: Duration = Duration::from_secs(60);
/// The word of a node that nobody has asked yet.
const FIRST: &str = "unprobed";

/// What was told of a node's state.
#[derive(Debug)]
pub(crate) struct StateLines(Mutex<State>);

#[derive(Debug)]
struct State {
    seen: &'static str,
    /// Changes since the last line.
    changes: u64,
    told: Vec<(&'static str, Instant)>,
    last: &'static str,
}

impl Default for StateLines {
    fn default() -> StateLines {
        StateLines(Mutex::new(State { seen: FIRST, changes: 0, told: Vec::new(), last: FIRST }))
    }
}

impl StateLines {
    /// Notes what the state is now. The changes to be told, if it is time for a line.
    pub(crate) fn due(&self, word: &'static str, now: Instant) -> Option<u64> {
        let mut state = self.lock();
        if state.seen != word {
            state.seen = word;
            state.changes += 1;
        }
        state.told.retain(|(_, at)| now.saturating_duration_since(*at) < BETWEEN);
        if state.last == word || state.told.iter().any(|(told, _)| *told == word) {
            return None;
        }
        state.told.push((word, now));
        state.last = word;
        Some(std::mem::take(&mut state.changes))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_at_once_and_a_state_that_lasts_only_then() {
        let (lines, start) = (StateLines::default(), Instant::now());
        assert_eq!(lines.due("unprobed", start), None);
        assert_eq!(lines.due("ready", start), Some(1));
        assert_eq!(lines.due("ready", start + Duration::from_secs(2)), None);
        assert_eq!(lines.due("ready", start + Duration::from_secs(200)), None);
        assert_eq!(lines.due("unreachable", start + Duration::from_secs(201)), Some(1));
        assert_eq!(lines.due("refused", start + Duration::from_secs(202)), Some(1));
    }

    #[test]
    fn going_to_and_fro_is_told_once_a_minute() {
        let (lines, start) = (StateLines::default(), Instant::now());
        let mut told = Vec::new();
        // A node that answers every call with 500 comes back with each probe.
        for second in (0..120).step_by(2) {
            for word in ["ejected", "unprobed"] {
                let now = start + Duration::from_secs(second);
                told.extend(lines.due(word, now).map(|changes| (second, word, changes)));
            }
        }
        let minute = [(0, "ejected", 1), (0, "unprobed", 1)];
        let next = [(60, "ejected", 59), (60, "unprobed", 1)];
        assert_eq!(told, [minute, next].concat());
    }

    #[test]
    fn what_a_state_came_to_is_told_when_its_minute_is_over() {
        let (lines, start) = (StateLines::default(), Instant::now());
        let at = |second| start + Duration::from_secs(second);
        assert_eq!(lines.due("ejected", at(0)), Some(1));
        assert_eq!(lines.due("ready", at(2)), Some(1));
        for second in 4..60 {
            assert_eq!(lines.due("ejected", at(second)), None);
        }
        assert_eq!(lines.due("ejected", at(60)), Some(1));
    }
}
