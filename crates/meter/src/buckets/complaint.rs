//! That shared buckets are away, told once a minute.
//!
//! A server may be lost and found again many times a second. Invariants: it warns once a minute at most,
//! and as long as the server is away not much less often; that it is back is told if its loss was.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two warnings.
const BETWEEN: Duration = Duration::from_secs(60);

/// What the log knows of the server.
#[derive(Debug, Default)]
pub(super) struct Complaint(Mutex<Said>);

#[derive(Debug, Default)]
struct Said {
    warned: Option<Instant>,
    /// Was it last said to be there?
    there: bool,
}

impl Complaint {
    /// Tells that the server is away, if it is time to.
    pub(super) fn make(&self, now: Instant, why: &str) -> bool {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = |warned| now.saturating_duration_since(warned);
        let is_due = said.warned.is_none_or(|warned| since(warned) >= BETWEEN);
        if is_due {
            *said = Said { warned: Some(now), there: false };
            tracing::warn!(why, "shared buckets are away; each replica serves its share of rates");
        }
        is_due
    }

    /// The server is there: is that to be told?
    pub(super) fn end(&self) -> bool {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        !std::mem::replace(&mut said.there, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_comes_and_goes_is_told_once_a_minute() {
        let (complaint, start) = (Complaint::default(), Instant::now());
        assert_eq!([complaint.end(), complaint.end()], [true, false]);
        let warned: Vec<u64> = (0..150)
            .filter(|&secs| {
                let warned = complaint.make(start + Duration::from_secs(secs), "why");
                assert_eq!(complaint.end(), warned);
                warned
            })
            .collect();
        assert_eq!(warned, [0, 60, 120]);
    }
}
