//! What the words of a slot say.
//!
//! Its 8 words: check, account, key, chain (8 bytes ASCII), hour, units, two spare. The check word is
//! a hash of what the row counts, never 0.
//!
//! Units are one word, a multiple of [`CODE`]: twice the units, and one more while what the store
//! recorded for this row is not added yet, so that making a slot never asks the database. Sums of
//! multiples are multiples, so one atomic addition keeps the word whole, and a flipped bit, which
//! adds or takes a power of two, never leaves a multiple.

use super::layout::hash;
use crate::store::RowName;

/// What every word of units is a multiple of: the largest prime below 2^16.
const CODE: u64 = 65_521;
/// The recorded amount of this row is still to be added.
pub(super) const UNSETTLED: u64 = CODE;
/// More units than a row can have; a slot that says so is damaged. A word holds twice as many.
pub(super) const ABSURD_UNITS: u64 = 1 << 46;

pub(super) const CHECK: usize = 0;
pub(super) const ACCOUNT: usize = 1;
pub(super) const KEY: usize = 2;
pub(super) const CHAIN: usize = 3;
pub(super) const HOUR: usize = 4;
pub(super) const UNITS: usize = 5;

/// A row as it stands in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LiveRow {
    pub(crate) name: RowName,
    /// Units counted in this slot.
    pub(crate) units: u64,
    /// Is the recorded amount still to be added?
    pub(crate) unsettled: bool,
}

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    Free,
    Row(LiveRow),
    /// Words that no row has: torn by a power loss, or damaged.
    Damaged,
}

/// The word of settled units.
pub(super) fn coded(units: u64) -> u64 {
    // Wraps only where units are absurd, which is seen when they are read.
    units.wrapping_mul(2 * CODE)
}

/// Units of a word, and whether they are unsettled; None for a word that no sum gives.
pub(super) fn decoded(word: u64) -> Option<(u64, bool)> {
    let twice = word / CODE;
    word.is_multiple_of(CODE).then_some((twice / 2, twice % 2 == 1))
}

/// Hash of what a row counts; never 0, which is a free slot.
pub(super) fn check(name: RowName) -> u64 {
    let chain = u64::from_le_bytes(name.chain.bytes());
    hash(&[name.account, name.key, chain, u64::from(name.hour)]).max(1)
}
