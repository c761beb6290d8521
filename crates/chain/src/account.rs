//! What is pure of the chains whose transactions change balances of accounts: hashes, addresses,
//! fees, block rewards, tokens in logs and what token contracts say of themselves.
//!
//! Leaves JSON, rows and nodes to the crates above. Invariant: amounts are whole numbers of 256
//! bits; what does not fit a shape is nothing, never a guess.

mod abi;
mod address;
mod base_fee;
mod hash;
mod keccak;
mod reward;
mod token;

/// A whole number of 256 bits.
pub use ruint::aliases::U256;

pub use abi::{read_decimals, read_symbol};
pub use address::{Address, BadAddress};
pub use base_fee::next_base_fee;
pub use hash::Hash;
pub use keccak::keccak256;
pub use reward::{RewardForks, issuance};
pub use token::{Standard, TokenTransfer, is_malformed_transfer, token_transfers};
