//! Keeps an index at the tip of its chain, of whichever family.
//!
//! A round looks at the node's best block, takes back what is not in its chain, connects what is,
//! lets the family bring its mempool up to the node's, and publishes. What a block is, and what it
//! does to the rows, a [`Family`] fills in. Invariants: a block is connected only if it follows our
//! tip; blocks that only extend the published tip are published one by one; from the first
//! disconnect on nothing is published until our tip has the height published before, or is the
//! node's best (decision E7).

mod connect;
mod family;
mod follow;
mod half_done;
mod held;
mod index;
mod keeper;
mod nodes;
mod options;
mod round;
mod tidings;
mod trouble;
mod waits;

pub(crate) use family::{Best, Family, HashOf, Pass, Passes, TipView, Waiting};
pub(crate) use index::Index;
pub(crate) use keeper::{Keeper, away, locked};
pub use options::SyncOptions;
pub(crate) use tidings::Tidings;
pub(crate) use trouble::{Trouble, UpstreamError};
pub(crate) use waits::Waits;
