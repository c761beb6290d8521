//! A read under way that others wait for.
//!
//! Invariant: whoever waits is always told: with the answer, that there is none to share, or that who
//! asked is gone.

use std::sync::Arc;

use tokio::sync::watch;

use super::said::Said;
use super::stamp::Stamp;

/// What came of a read.
#[derive(Debug, Clone)]
pub(super) enum Outcome {
    UnderWay,
    Said(Arc<Said>),
    Nothing,
    Gone,
}

/// A read under way.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) stamp: Stamp,
    outcome: watch::Sender<Outcome>,
}

/// One who waits.
#[derive(Debug)]
pub(crate) struct Waiting(watch::Receiver<Outcome>);

/// What one who waited is told.
pub(crate) enum End {
    /// The answer.
    Said(Arc<Said>),
    /// There is none that may be shared.
    Nothing,
    /// Who asked is gone; somebody else has to ask.
    Gone,
}

impl Flight {
    pub(super) fn begin(stamp: Stamp) -> Arc<Flight> {
        Arc::new(Flight { stamp, outcome: watch::Sender::new(Outcome::UnderWay) })
    }

    pub(super) fn join(&self) -> Waiting {
        Waiting(self.outcome.subscribe())
    }

    /// Tells everybody; only the first word counts.
    pub(super) fn end(&self, outcome: Outcome) {
        self.outcome.send_if_modified(|now| {
            let first = matches!(now, Outcome::UnderWay);
            if first {
                *now = outcome;
            }
            first
        });
    }
}

impl Waiting {
    /// Waits for the end.
    pub(crate) async fn end(mut self) -> End {
        let over = self.0.wait_for(|outcome| !matches!(outcome, Outcome::UnderWay)).await;
        match over.as_deref() {
            Ok(Outcome::Said(said)) => End::Said(Arc::clone(said)),
            Ok(Outcome::Nothing) => End::Nothing,
            Ok(Outcome::Gone | Outcome::UnderWay) | Err(_) => End::Gone,
        }
    }
}
