//! Our own indexes of the chains: rows, connect and disconnect of a block, reads, the mempool.
//!
//! One module a family. Asks nodes for blocks and never for what a row can answer; leaves HTTP and
//! the shape of answers to the explorer. Invariant: once the first load is done, what is on disk
//! is always exactly the chain up to some block.

#![warn(unreachable_pub)]

pub mod account;
mod at_rest;
mod audit;
mod chain_index;
mod db;
mod error;
mod faults;
mod folder;
mod heights;
mod identity;
mod progress;
pub mod ring;
mod room;
mod row;
mod row_difference;
mod standing;
mod stopped;
mod store;
mod sums;
mod sync;
pub mod utxo;

pub use at_rest::AtRest;
pub use audit::{Again, Progress};
pub use chain_index::ChainIndex;
pub use db::Memory;
pub use error::{IndexError, ReadError, Tier};
pub use identity::Identity;
pub use row_difference::RowDifference;
pub use standing::{FirstLoad, Standing};
pub use stopped::Stopped;
pub use store::Store;
pub use sync::SyncOptions;
