//! What is pure of the chains whose inputs hide in rings: blocks, transactions, what miners and
//! wallets write into `extra`, addresses, and which outputs belong to one ([`check`]).
//!
//! Leaves the places of outputs on the chain, rows and nodes to the crates above. Invariant:
//! nothing here panics on any bytes, or allocates more than a small multiple of its input.

mod address;
mod base58;
mod block;
mod bytes32;
pub mod check;
mod extra;
mod keccak;
mod point;
mod proofs;
mod rct;
mod transaction;
mod tree_hash;
mod varint;

pub use crate::utxo::{DecodeError, Problem};
pub use address::{Address, AddressKind, BadAddress};
pub use block::{Block, BlockHeader, LAST_VERSION};
pub use bytes32::{Hash, Key};
pub use extra::{Extra, PaymentId};
pub use rct::{EncryptedAmount, Rct, RctKind};
pub use transaction::{Input, Output, RingCt, Transaction};
