//! The index of the chains whose transactions change balances of accounts.
//!
//! A block walks straight: `sync` or `backfill` has `upstream` fetch it, `assembly` puts it
//! together, `Store` commits it, `Index` publishes a [`View`]; `tracing` adds what calls inside of
//! transactions did. Readers ask a [`View`]; what only a node knows (balances, fees, tokens, the
//! pool) they ask the [`Index`]. Invariants: what is held is one run of blocks, whole; every row of
//! a block can be taken back from rows alone.

mod aside;
mod assembly;
mod backfill;
mod changes;
#[cfg(test)]
mod conversations;
mod facts;
mod fees;
mod follow;
mod gone;
mod index;
mod nodes;
mod options;
mod pending;
mod quantity;
mod questions;
mod rewards;
mod rows;
mod schema;
mod shapes;
mod state;
mod store;
mod sync;
mod tokens;
mod trace;
mod tracing_pass;
mod txpool;
mod unanswered;
mod upstream;
mod verify;
mod view;

pub use facts::{
    BlobCost, BlockFacts, Creation, Log, Operation, OperationKind, Status, Transaction,
};
pub use fees::{FeeTier, Fees};
pub use index::Index;
pub use options::{AccountOptions, SyncOptions};
pub use pending::Pending;
pub use rows::End;
pub(crate) use schema::FORMAT;
pub use schema::TxPlace;
pub use state::AccountState;
pub use store::Store;
pub use tokens::TokenFacts;
pub use txpool::Txpool;
pub use unanswered::Unanswered;
pub use verify::{Comparison, Incomparable, Verdict};
pub use view::{Coverage, HistoryPage, Placed, View};
