//! The index of the chains whose transactions spend earlier outputs.
//!
//! A block walks straight: `sync` fetches it, `connect` turns it into one batch, `Store` commits
//! the batch, `Index` publishes a [`View`]; `disconnect` is the mirror of `connect`. Readers ask
//! a [`View`], which is one tip with its mempool. Invariant: every row of a block can be taken
//! back from rows alone, to any depth, without the node.

mod admission;
mod block_row;
mod changes;
mod connect;
mod decoded;
mod disconnect;
mod effects;
mod family;
mod first_load;
mod history;
mod input_view;
mod kept;
mod load;
mod mempool;
mod orphans;
mod outputs;
mod pool_pass;
mod previous;
mod record;
mod schema;
mod script_id;
mod secret;
mod steps;
mod store;
mod tip;
mod totals;
mod txids;
mod txnums;
mod under_way;
mod upstream;
mod verify;
mod view;
mod voided;

pub use crate::identity::Identity;
pub use crate::progress::LoadProgress;
pub use crate::sync::SyncOptions;
pub use block_row::BlockRow;
pub use input_view::InputView;
pub use kept::Index;
pub use load::{LoadOptions, Loader};
pub use mempool::Mempool;
pub use record::{BaseInput, NftRecord, OutputRecord, TokenRecord, TransactionRecord};
pub(crate) use schema::FORMAT;
pub use script_id::HashKey;
pub use store::Store;
pub use tip::Tip;
pub use upstream::ValuePool;
pub use verify::{Agreement, Verdict};
pub use view::{
    AddressTotals, History, Inclusion, LIST_OUTPUTS, TransactionView, Unconfirmed, UnspentList,
    UnspentOutput, View,
};
