//! What only a node says of its chain: difficulty, limits of blocks, fees.
//!
//! Leaves asking to `upstream`. Invariant: what a node said last stays until it says otherwise, so
//! that a fee which cannot be had for a moment takes nothing away.

/// What a node said of its chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// Difficulty of the next block.
    pub difficulty: u128,
    /// Seconds that a block is to take.
    pub target_secs: u64,
    /// Largest weight of a block.
    pub block_size_limit: u64,
    /// Median weight of the last blocks.
    pub median_block_size: u64,
    /// Fee of a byte in the smallest unit, at the lowest priority; none before the node gave one.
    pub fee_per_byte: Option<u64>,
}

impl NodeFacts {
    /// Hashes a second that the difficulty asks for.
    pub fn hash_rate(&self) -> u64 {
        let rate = self.difficulty / u128::from(self.target_secs.max(1));
        u64::try_from(rate).unwrap_or(u64::MAX)
    }
}
