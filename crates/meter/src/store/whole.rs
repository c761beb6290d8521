//! All that a store holds, as a copy carries it.
//!
//! Usage rows are as they stand, also those of services and chains that this program does not know.

use super::account::Account;
use super::error::StoreError;
use super::key::Key;

/// Everything but usage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The random number of the store.
    pub identity: u64,
    /// How many changes accounts and keys have seen.
    pub version: u64,
    /// Every account, by number.
    pub accounts: Vec<Account>,
    /// Every key, by number.
    pub keys: Vec<Key>,
}

/// A row of usage, sorted by its columns in this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredRow {
    /// Number of the account.
    pub account: i64,
    /// Number of the key.
    pub key: i64,
    /// Name of the service.
    pub service: String,
    /// Slug of the chain.
    pub chain: String,
    /// Hours since 1970.
    pub hour: i64,
    /// Number of the replica.
    pub replica: i64,
    /// How many units.
    pub units: i64,
}

/// Gives the rows of usage part by part, in their order; an empty part is the end.
pub type Pages<'a> = &'a mut (dyn FnMut() -> Result<Vec<StoredRow>, StoreError> + Send);
