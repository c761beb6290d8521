//! How far an audit is, and what reading every block again found.
//!
//! Leaves what has to hold to each family's `verify`, what is wrong to `faults`.

/// How far an audit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being walked, such as `blocks`; with ` again` where faults are looked for.
    pub step: &'static str,
    /// What of it is done.
    pub done: u64,
    /// How much there is, where it is known.
    pub total: Option<u64>,
}

/// What reading every block of a node again found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Again {
    /// Blocks that were read.
    pub blocks: u64,
    /// Their transactions.
    pub transactions: u64,
    /// Blocks that the node did not give.
    pub not_compared: u64,
    /// The first 100 differences.
    pub faults: Vec<String>,
    /// All differences.
    pub fault_count: u64,
}
