//! Why a round of the sync ended before it was through.
//!
//! Leaves to the sync what is done about it. Invariant: no text holds a credential.

use crate::utxo::pool_pass::PassError;
use crate::utxo::upstream::UpstreamError;
use crate::{IndexError, ReadError};

/// Why a round ended before it was through.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error("no node can be asked")]
    NoNode,
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The node is behind us, and is waited for.
    #[error("the node is at height {0}, behind our tip; it is waited for")]
    Behind(u32),
    /// The node's chain changed while it was read; the next round sees the new one.
    #[error("the node's chain changed")]
    Changed,
    #[error("the genesis block is another one than ours")]
    Stranger,
    #[error("asked to end")]
    Ended,
}

impl Trouble {
    /// Whether another node may be well: this one gave no block, or bytes that are none.
    pub(super) fn is_of_one_node(&self) -> bool {
        matches!(self, Trouble::Upstream(_) | Trouble::Index(IndexError::Block { .. }))
    }

    /// Whether it stands in the way of every block until somebody does something.
    pub(super) fn stops(&self) -> bool {
        matches!(self, Trouble::Index(_) | Trouble::Read(_) | Trouble::Stranger)
    }
}

impl From<PassError> for Trouble {
    fn from(error: PassError) -> Trouble {
        match error {
            PassError::Upstream(error) => error.into(),
            PassError::Read(error) => error.into(),
        }
    }
}
