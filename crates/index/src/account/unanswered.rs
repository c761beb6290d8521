//! Why no answer came to what only a node can tell.

use node::CallError;

use crate::sync::UpstreamError;

/// Why a node told nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// No node could be asked, or none answered.
    #[error("no node answers")]
    Silent,
    /// A node answered something else than what was asked.
    #[error("the node answered something else than what was asked")]
    Odd,
    /// No node has such a call.
    #[error("no node can tell")]
    Unable,
}

impl Unanswered {
    pub(super) fn of(error: &UpstreamError) -> Unanswered {
        match error {
            UpstreamError::Call(CallError::Node(_) | CallError::Busy(_)) => Unanswered::Silent,
            UpstreamError::Missing { .. } => Unanswered::Unable,
            _ => Unanswered::Odd,
        }
    }
}
