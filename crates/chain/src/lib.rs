//! What a chain is: nine rows of constants, their networks, address parameters and method sets,
//! and the decoding of raw blocks, transactions and addresses.
//!
//! Pure: no I/O, no async, no clock, no JSON. Talking to nodes, limits and answers are left to
//! the crates above. Invariant: a chain's name is written only in `chains/`, in the method files,
//! in examples and in tests; everything else travels as `&'static Chain`.

#![warn(unreachable_pub)]

pub mod account;
mod address;
mod address_params;
mod blake256;
mod by_chain;
mod cacheable;
mod chain;
mod chains;
mod difficulty;
mod hash;
mod method;
mod method_file;
mod method_set;
mod network;
mod offered;
pub mod ring;
pub mod utxo;

pub use address::AddressError;
pub use address_params::{
    AddressParams, BitcoinAddresses, CashAddr, DecredAddresses, MoneroAddresses, ZcashAddresses,
};
pub use by_chain::ByChain;
pub use cacheable::Cacheable;
pub use chain::{Chain, Dialect, Family};
pub use chains::{ALL, find};
pub use difficulty::{DifficultyScale, Rounding};
pub use hash::{Hash32, NotAHash};
pub use method::{Guard, Heavy, Method};
pub use method_file::MethodFileError;
pub use method_set::MethodSet;
pub use network::{ForkBlock, Network, NetworkKind};
pub use offered::{Offered, UnknownMethod};
