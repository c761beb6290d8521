//! What is kept of an index of outputs beside its rows: the mempool of its nodes, and a first load.
//!
//! Leaves how it is kept at the tip to `family`.

use super::pool_pass::PoolPasses;
use super::under_way::Load;
use crate::sync;

/// The index of one chain whose transactions spend earlier outputs.
pub type Index = sync::Index<Utxo>;

/// The family of chains whose transactions spend earlier outputs.
pub struct Utxo {
    pub(super) passes: PoolPasses,
    /// The first load, while something is waited for.
    pub(super) load: Option<Load>,
}
