//! The chain explorer: `GET /api/v1/{chain}/…`.
//!
//! One front (`front`) runs every check from top to bottom, one path table (`path`) knows the
//! endpoints of all families, a handler parses, asks one view of the index and shows it. Leaves
//! rows to `index`, keys and charges to `meter`, sockets to `listen`. Invariants: an answer is made
//! from one tip; what the index can answer is never asked of a node.

#![warn(unreachable_pub)]

pub mod account;
mod answer;
mod body;
mod content;
mod encoding;
mod explorer;
mod fail;
mod front;
mod gate;
mod handover;
mod head;
pub mod interface;
mod json;
mod metrics;
mod path;
mod posted;
mod reads;
mod refusal;
pub mod ring;
mod room;
mod serve;
mod settings;
mod stream;
pub mod utxo;

pub use body::Body;
pub use explorer::{ChainService, Explorer};
pub use metrics::Metrics;
pub use refusal::{Reason, Row};
pub use settings::Settings;
