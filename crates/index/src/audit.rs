//! How far an audit is.
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
