//! Why a call has no answer, and what that means to the client.
//!
//! Leaves to `answer` what is one, and to `forward` whether another node is asked.

use node::{Cause, NodeError, Unusable};

use crate::refusal::Reason;

/// Why an answer is none.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// The node said that it was too busy to look.
    Busy,
    /// It is not what was asked for, and that speaks against the node; the text is for the log.
    Unusable(&'static str),
    /// It is not what was asked for, which the call itself may have brought about.
    Refused(&'static str),
    /// It did not arrive.
    Node(NodeError),
}

/// No answer, and what that means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) reason: Reason,
    /// The time limit passed: the unit stays charged (decision B7).
    pub(crate) charged: bool,
}

impl Failure {
    pub(crate) fn of(reason: Reason) -> Failure {
        Failure { reason, charged: false }
    }
}

impl From<Unusable> for Failure {
    fn from(unusable: Unusable) -> Failure {
        Failure::of(match unusable {
            Unusable::Syncing => Reason::NodeSyncing,
            Unusable::Unavailable | Unusable::NoneLeft => Reason::NodeUnavailable,
        })
    }
}

impl From<NoAnswer> for Failure {
    fn from(trouble: NoAnswer) -> Failure {
        match trouble {
            NoAnswer::Busy => Failure::of(Reason::NodeBusy),
            NoAnswer::Unusable(_) | NoAnswer::Refused(_) => Failure::of(Reason::NodeError),
            NoAnswer::Node(error) => {
                Failure { reason: reason_of(&error), charged: is_overtime(&error) }
            }
        }
    }
}

fn reason_of(error: &NodeError) -> Reason {
    match error.cause {
        Cause::Connect | Cause::Tls | Cause::TimedOutFirstByte | Cause::TimedOutWhole => {
            Reason::NodeUnavailable
        }
        Cause::Broken if error.got_bytes => Reason::NodeError,
        Cause::Broken => Reason::NodeUnavailable,
        Cause::TooLarge => Reason::ResponseTooLarge,
        Cause::Busy | Cause::SlowReader => Reason::NodeBusy,
        Cause::Unauthorized | Cause::Malformed | Cause::Stray => Reason::NodeError,
    }
}

/// Did the time limit pass?
pub(crate) fn is_overtime(error: &NodeError) -> bool {
    matches!(error.cause, Cause::TimedOutFirstByte | Cause::TimedOutWhole)
}
