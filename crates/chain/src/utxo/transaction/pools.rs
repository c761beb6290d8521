//! What a transaction moves into and out of shielded pools.

/// What a transaction takes out of each shielded pool, in the smallest unit; what it puts in is
/// negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pools {
    /// The first pool: what joinsplits make public less what they hide.
    pub sprout: i128,
    /// The second pool.
    pub sapling: i64,
    /// The third pool.
    pub orchard: i64,
    /// The fourth pool.
    pub ironwood: i64,
}

impl Pools {
    /// What it takes out of all pools together: inputs less outputs plus this is the fee.
    pub fn sum(&self) -> i128 {
        self.sprout
            + [self.sapling, self.orchard, self.ironwood].map(i128::from).iter().sum::<i128>()
    }

    /// Each pool by the name that the node has for it.
    pub fn by_name(&self) -> [(&'static str, i128); 4] {
        [
            ("sprout", self.sprout),
            ("sapling", self.sapling.into()),
            ("orchard", self.orchard.into()),
            ("ironwood", self.ironwood.into()),
        ]
    }
}
