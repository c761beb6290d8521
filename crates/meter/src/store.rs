//! The seam between the meter and the database that keeps accounts, keys and usage.
//!
//! Written in the language of accounts, keys and usage rows, so that another database can fill
//! it. Every verb blocks and is atomic: when it returns, the change is on disk. Invariant: every
//! change of an account or key raises the store's version, and [`Store::changes_after`] tells
//! them all, so a reader that follows the version misses nothing.

use std::fmt;
use std::ops::Range;

use crate::{Replica, Service, Utc};

mod account;
mod bell;
mod error;
mod key;
pub(crate) mod lender;
mod usage;
mod whole;

pub use account::{Account, AccountChange, AccountRef, NewAccount};
pub use bell::Bell;
pub use error::StoreError;
pub use key::{Key, KeyChange, NewKey};
use lender::Lender;
pub use usage::{ChainName, CountedRow, RowName, Total, UsageRow};
pub use whole::{Head, Pages, StoredRow};

/// A database of accounts, keys and usage.
pub trait Store: Send + Sync + fmt::Debug {
    /// A random number of this store, given when it was made; usage files carry it.
    fn identity(&self) -> Result<u64, StoreError>;

    /// How many changes accounts and keys have seen.
    fn version(&self) -> Result<u64, StoreError>;

    /// A word that is another once accounts or keys may have changed. It is looked at for each
    /// request, so it costs no more than that; only that it differs means anything.
    fn changed(&self) -> u64;

    /// Has a bell rung when accounts or keys have changed, where the store hears of it; they are
    /// looked for from time to time besides.
    fn on_change(&self, _bell: Bell) {}

    /// The process ends: what is still asked is given up after some seconds, whatever the store does,
    /// and so is what is under way.
    fn end_soon(&self) {}

    /// Is it a store of several machines? They go on with what they know while it is away.
    fn is_shared(&self) -> bool {
        false
    }

    /// Has it owed an answer for longer than one takes, so that it is away for all that is known? Asks
    /// nothing, and waits for nothing.
    fn is_silent(&self) -> bool {
        false
    }

    /// What it lends units by, where several processes count for it.
    #[expect(private_interfaces, reason = "stores are of this crate")]
    fn lender(&self) -> Option<&dyn Lender> {
        None
    }

    /// Takes a replica's part of a service for this process for as long as the store is open.
    /// [`StoreError::Counted`] if another process counts with the same replica, or holds the service
    /// alone.
    fn hold(&self, _service: Service, _replica: Replica) -> Result<(), StoreError> {
        Ok(())
    }

    /// Takes a service for this process alone, beside no other one, for as long as the store is open.
    /// [`StoreError::Counted`] if another process counts it.
    fn hold_alone(&self, _service: Service) -> Result<(), StoreError> {
        Ok(())
    }

    /// Accounts and keys as they are now, those that changed after that version; 0 asks for all.
    fn changes_after(&self, version: u64) -> Result<Changes, StoreError>;

    /// Adds an account. [`StoreError::NameTaken`] if the name is in use.
    fn add_account(&self, account: &NewAccount) -> Result<Account, StoreError>;

    /// Every account, oldest first.
    fn accounts(&self) -> Result<Vec<Account>, StoreError>;

    /// One account, by number or by name.
    fn account(&self, which: &AccountRef) -> Result<Option<Account>, StoreError>;

    /// Changes an account and returns it as it is then; `None` if there is no such account.
    fn change_account(
        &self,
        id: u64,
        change: &AccountChange,
    ) -> Result<Option<Account>, StoreError>;

    /// Adds a key to an existing account.
    fn add_key(&self, key: &NewKey) -> Result<Key, StoreError>;

    /// Every key of an account, oldest first, revoked ones included.
    fn keys(&self, account: u64) -> Result<Vec<Key>, StoreError>;

    /// One key.
    fn key(&self, id: u64) -> Result<Option<Key>, StoreError>;

    /// Changes a key and returns it as it is then; `None` if there is no such key.
    fn change_key(&self, id: u64, change: &KeyChange) -> Result<Option<Key>, StoreError>;

    /// Adds a key and ends another at a time, in one step.
    fn replace_key(&self, old: u64, ends_at: Utc, new: &NewKey) -> Result<Key, StoreError>;

    /// Writes usage rows of a replica with their whole amount; a row that is there is overwritten.
    fn record(
        &self,
        service: Service,
        replica: Replica,
        rows: &[UsageRow],
    ) -> Result<(), StoreError>;

    /// Units recorded in one row of a replica, 0 if there is none.
    fn recorded(&self, service: Service, replica: Replica, row: RowName)
    -> Result<u64, StoreError>;

    /// Rows of an account from that hour on (hours since 1970), oldest first, of all replicas.
    fn usage(&self, account: u64, from_hour: u32) -> Result<Vec<CountedRow>, StoreError>;

    /// Sums of the rows of a range of hours over all replicas, one for each account and key.
    fn totals(&self, service: Service, hours: Range<u32>) -> Result<Vec<Total>, StoreError>;

    /// The latest hour that has a row.
    fn last_hour(&self, service: Service) -> Result<Option<u32>, StoreError>;

    /// Rows of usage as they stand, sorted by name, those after one of them.
    fn stored(&self, after: Option<&StoredRow>, most: u32) -> Result<Vec<StoredRow>, StoreError>;

    /// Makes an empty store a copy of another one. [`StoreError::NotEmpty`] if it is not empty.
    fn fill(&self, head: &Head, pages: Pages<'_>) -> Result<(), StoreError>;
}

/// What changed in a store.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// The version that these changes lead to.
    pub version: u64,
    /// Accounts as they are now.
    pub accounts: Vec<Account>,
    /// Keys as they are now.
    pub keys: Vec<Key>,
    /// What could not be told because it is damaged, in words for the log; mostly empty.
    pub damaged: Vec<String>,
}

#[cfg(test)]
pub(crate) mod exercises;
