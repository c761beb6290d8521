//! What calls inside of transactions did, out of traces of a block.
//!
//! Two dialects: the call tracer's trees, which are read without recursion however deep they are,
//! and flat lists of paths. Invariants: nothing under a frame that failed is told (decision A4);
//! the order is that of execution; a tree that was cut off or failed is an error of its transaction
//! alone.

mod cursor;
mod flat;
mod tree;

use chain::account::Hash;

use super::facts::Traced;

pub(super) use flat::read_flat;
pub(super) use tree::{read_tree, read_trees};

/// Traces that make no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a trace makes no sense")]
pub(crate) struct BadTrace;

/// The trace of one transaction; none where the node could not make it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OneTrace {
    /// The transaction, where the node says it.
    pub(super) hash: Option<Hash>,
    pub(super) traced: Option<Traced>,
    /// The node made something else of it than was asked for.
    pub(super) is_foreign: bool,
}

#[cfg(test)]
mod tests;
