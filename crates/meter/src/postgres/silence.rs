//! For how long the server has owed an answer.
//!
//! A question to a server that hangs is given up after seconds, and others wait for it to be; who wants
//! to know whether the store answers must not. Invariant: what is given up counts as unanswered until
//! another question is answered.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A server that owes an answer for so long is taken to be away.
const LONG: Duration = Duration::from_secs(2);

/// When the first question was asked that nothing was answered since.
#[derive(Debug, Default)]
pub(super) struct Silence(Mutex<Option<Instant>>);

impl Silence {
    /// A question is on its way.
    pub(super) fn asked(&self) {
        self.since().get_or_insert_with(Instant::now);
    }

    /// A question was answered.
    pub(super) fn answered(&self) {
        *self.since() = None;
    }

    /// Has it lasted too long?
    pub(super) fn is_long(&self) -> bool {
        self.since().is_some_and(|since| since.elapsed() >= LONG)
    }

    fn since(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
