//! The index of the chains whose inputs hide in rings.
//!
//! A block walks straight: `sync` fetches it, `connect` turns it into one batch, `Store` commits
//! the batch, `Index` publishes a [`View`]; `disconnect` is the mirror of `connect`. Readers ask a
//! [`View`], which is one tip with its mempool; rings are resolved from its rows. Invariants: rows
//! grow with the chain and a reorganisation cuts them, since the places of outputs are given anew;
//! every row of a block can be taken back from rows alone, to any depth, without the node.

mod admission;
mod block_row;
mod connect;
mod decoded;
mod facts;
mod family;
mod first_load;
mod hashes;
mod kept;
mod mempool;
mod outputs;
mod pool_pass;
mod record;
mod schema;
mod store;
mod tip;
mod upstream;
mod verify;
mod view;

pub use crate::identity::Identity;
pub use crate::sync::SyncOptions;
pub use block_row::BlockRow;
pub use decoded::{RawBlock, Told};
pub use facts::NodeFacts;
pub use kept::Index;
pub use mempool::Mempool;
pub use record::TransactionRecord;
pub(crate) use schema::FORMAT;
pub use store::Store;
pub use tip::Tip;
pub use verify::{Agreement, Verdict};
pub use view::{CACHED_MEMBERS, Inclusion, RingMember, TransactionView, View};
