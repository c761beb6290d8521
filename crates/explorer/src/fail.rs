//! Why a handler gave no answer.
//!
//! Leaves what is said of it to `refusal`. Invariant: a read that failed is told apart from what is
//! wrong with the question, so that the log has it.

use index::ReadError;

use crate::refusal::{Reason, Refusal};

/// Why a handler gave no answer.
#[derive(Debug)]
pub(crate) enum Fail {
    Read(ReadError),
    Refused(Refusal),
}

impl From<ReadError> for Fail {
    fn from(error: ReadError) -> Fail {
        Fail::Read(error)
    }
}

impl From<Refusal> for Fail {
    fn from(refusal: Refusal) -> Fail {
        Fail::Refused(refusal)
    }
}

impl From<Reason> for Fail {
    fn from(reason: Reason) -> Fail {
        Fail::Refused(reason.into())
    }
}
