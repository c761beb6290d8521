//! When an answer was asked for, and what is asked now: may the one be given to the other?

use std::time::{Duration, Instant};

use super::key::Key;
use super::kind::Kind;

/// How long an answer that changes with the tip is given again, from when it was asked for.
pub(super) const TIP_LIFE: Duration = Duration::from_secs(1);
/// How long one that cannot change is: a node that was replaced or mended shows within it.
const FINAL_LIFE: Duration = Duration::from_secs(3600);

/// When and how an answer was asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamp {
    pub(super) kind: Kind,
    pub(super) begun: Instant,
    /// The count of tip changes then.
    pub(super) tip: u64,
    pub(super) era: u64,
}

/// A call that may be answered from memory.
pub(crate) struct Question {
    pub(crate) key: Key,
    pub(crate) kind: Kind,
    pub(crate) account: u64,
    /// The count of tip changes that is known.
    pub(crate) tip: u64,
    /// When the account last sent something on the chain.
    pub(crate) sent: Option<Instant>,
}

impl Stamp {
    /// May an answer that was asked for then be given to `question` now?
    pub(super) fn fits(&self, question: &Question, era: u64, now: Instant) -> bool {
        let age = now.saturating_duration_since(self.begun);
        let fresh = match self.kind {
            Kind::Final => age <= FINAL_LIFE,
            Kind::Tip => {
                age <= TIP_LIFE
                    && self.tip == question.tip
                    && question.sent.is_none_or(|sent| self.begun > sent)
            }
        };
        fresh && self.era == era
    }
}
