//! Why a round of the sync ended before it was through.
//!
//! Leaves to the round what is done about it. Invariant: no text holds a credential.

use node::CallError;

use crate::{IndexError, ReadError};

/// What went wrong with a node.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// No answer, or an error of the node.
    #[error(transparent)]
    Call(#[from] CallError),
    /// An answer of another shape than the call gives.
    #[error("{method} gave something else than it should")]
    Shape {
        /// The call.
        method: &'static str,
    },
    /// The node has no such call.
    #[error("the node has no {method}")]
    Missing {
        /// The call.
        method: &'static str,
    },
    /// Parts of a block that do not fit together.
    #[error("block {height} was not put together: {problem}")]
    Misfit {
        /// Its height.
        height: u64,
        /// What does not fit.
        problem: &'static str,
    },
    /// The node does not know the block, or not yet.
    #[error("the node does not know the block")]
    NotThere,
    /// The node had it and threw it away.
    #[error("the node has pruned it")]
    Pruned,
}

impl UpstreamError {
    /// Whether what a node gave makes no sense, so that another one may do better.
    pub(crate) fn is_of_the_node(&self) -> bool {
        matches!(self, UpstreamError::Shape { .. } | UpstreamError::Misfit { .. })
    }
}

/// Why a round ended before it was through.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// None is there, or no probe knows its chain yet.
    #[error("no node can be asked")]
    NoNode,
    /// A node gave no answer, or one that makes no sense.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// Rows cannot be changed, or a block is none.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// Rows cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The node is behind us, and is waited for.
    #[error("the node is at height {0}, behind our tip; it is waited for")]
    Behind(u32),
    /// The node's chain changed while it was read; the next round sees the new one.
    #[error("the node's chain changed")]
    Changed,
    /// The chains have no block in common.
    #[error("the node's chain has nothing in common with ours")]
    Stranger,
    /// The node left our chain below what it had called final.
    #[error("the node left our chain below block {0}, which was final")]
    BelowFinal(u32),
    /// The end was asked for.
    #[error("asked to end")]
    Ended,
}

impl Trouble {
    /// Whether another node may be well: this one gave no block, or bytes that are none.
    pub(crate) fn is_of_one_node(&self) -> bool {
        matches!(self, Trouble::Upstream(_) | Trouble::Index(IndexError::Block { .. }))
    }

    /// Whether it stands in the way of every block until somebody does something.
    pub(crate) fn stops(&self) -> bool {
        matches!(
            self,
            Trouble::Index(_) | Trouble::Read(_) | Trouble::Stranger | Trouble::BelowFinal(_)
        )
    }
}
