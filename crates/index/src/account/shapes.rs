//! Blocks, transactions and receipts as nodes write them.
//!
//! Leaves whether they fit together to `assembly`. Invariant: a member that is missing and one that
//! is null are the same; members that are not needed are not looked at; what every node tells is
//! never filled in where one does not.

use chain::account::{Address, Hash, U256};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::quantity::{FromHex, Hex};

/// A block with its transactions whole.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BlockShape {
    pub(super) hash: Hex<Hash>,
    pub(super) parent_hash: Hex<Hash>,
    pub(super) state_root: Hex<Hash>,
    pub(super) number: Hex<u64>,
    pub(super) timestamp: Hex<u64>,
    pub(super) miner: Hex<Address>,
    pub(super) difficulty: Hex<U256>,
    pub(super) gas_limit: Hex<u64>,
    pub(super) gas_used: Hex<u64>,
    pub(super) base_fee_per_gas: Option<Hex<U256>>,
    pub(super) excess_blob_gas: Option<Hex<u64>>,
    pub(super) size: Hex<u64>,
    pub(super) extra_data: Hex<Vec<u8>>,
    pub(super) withdrawals: Option<Vec<IgnoredAny>>,
    #[serde(default)]
    pub(super) uncles: Option<Vec<IgnoredAny>>,
    pub(super) transactions: Vec<TransactionShape>,
}

/// What follows a chain: a block without its transactions.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HeaderShape {
    pub(super) hash: Hex<Hash>,
    pub(super) parent_hash: Hex<Hash>,
    pub(super) number: Hex<u64>,
}

/// A transaction in a block, or in the pool, where what names the block is missing.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TransactionShape {
    pub(super) hash: Hex<Hash>,
    pub(super) from: Hex<Address>,
    pub(super) to: Option<Hex<Address>>,
    #[serde(rename = "type")]
    pub(super) kind: Option<Hex<u64>>,
    pub(super) nonce: Hex<u64>,
    pub(super) value: Hex<U256>,
    pub(super) gas: Hex<u64>,
    pub(super) gas_price: Option<Hex<U256>>,
    pub(super) max_fee_per_gas: Option<Hex<U256>>,
    pub(super) max_priority_fee_per_gas: Option<Hex<U256>>,
    pub(super) input: Hex<Vec<u8>>,
    pub(super) block_hash: Option<Hex<Hash>>,
    pub(super) transaction_index: Option<Hex<u64>>,
}

/// A receipt.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReceiptShape {
    pub(super) transaction_hash: Hex<Hash>,
    pub(super) block_hash: Hex<Hash>,
    pub(super) transaction_index: Option<Hex<u64>>,
    pub(super) status: Option<Hex<u64>>,
    pub(super) gas_used: Hex<u64>,
    pub(super) effective_gas_price: Option<Hex<U256>>,
    pub(super) blob_gas_used: Option<Hex<u64>>,
    pub(super) blob_gas_price: Option<Hex<U256>>,
    pub(super) contract_address: Option<Hex<Address>>,
    pub(super) logs_bloom: Option<Hex<Bloom>>,
    pub(super) logs: Vec<LogShape>,
}

/// A bloom of logs, as far as it is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bloom {
    /// It has no bit, as that of no log.
    pub(super) is_empty: bool,
}

impl FromHex for Bloom {
    const WHAT: &'static str = "a bloom of logs";

    fn from_digits(digits: &str) -> Option<Bloom> {
        Some(Bloom { is_empty: digits.bytes().all(|digit| digit == b'0') })
    }
}

/// A log.
#[derive(Debug, Deserialize)]
pub(super) struct LogShape {
    pub(super) address: Hex<Address>,
    pub(super) topics: Vec<Hex<[u8; 32]>>,
    pub(super) data: Hex<Vec<u8>>,
}
