//! The seam between the meter and the database that keeps accounts, keys and usage.
//!
//! Written in the language of accounts, keys and usage rows, so that another database can fill
//! it. Every verb blocks and is atomic: when it returns, the change is on disk. Invariant: every
//! change of an account or key raises the store's version, and [`Store::changes_after`] tells
//! them all, so a reader that follows the version misses nothing.

use std::fmt;
use std::ops::Range;

use crate::{Replica, Scopes, Service, Utc};

mod whole;

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

    /// Is it a store of several machines? They go on with what they know while it is away.
    fn is_shared(&self) -> bool {
        false
    }

    /// Takes a service for this process for as long as the store is open, where others than those
    /// with the same folder may count it too. [`StoreError::Counted`] if another process does.
    fn hold(&self, _service: Service) -> Result<(), StoreError> {
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

/// What a store rings when something has changed.
pub struct Bell(Box<dyn Fn() + Send + Sync>);

impl Bell {
    /// A bell that does this whenever it is rung, from any thread; it must not block.
    pub fn new(on_ring: impl Fn() + Send + Sync + 'static) -> Bell {
        Bell(Box::new(on_ring))
    }

    /// Rings it.
    pub fn ring(&self) {
        (self.0)();
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bell")
    }
}

/// An account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Number, never used again.
    pub id: u64,
    /// Unique name.
    pub name: String,
    /// Name of its plan on the gateway, or `none`.
    pub gateway_plan: String,
    /// Name of its plan on the explorer, or `none`.
    pub explorer_plan: String,
    /// Refused until resumed.
    pub suspended: bool,
    /// When it was added.
    pub created_at: Utc,
}

/// An account that is to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAccount {
    /// Unique name.
    pub name: String,
    /// Name of its plan on the gateway, or `none`.
    pub gateway_plan: String,
    /// Name of its plan on the explorer, or `none`.
    pub explorer_plan: String,
    /// Now.
    pub created_at: Utc,
}

/// How an account is named in a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountRef {
    /// By number.
    Id(u64),
    /// By name.
    Name(String),
}

/// What changes in an account; absent fields stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountChange {
    /// Another plan on the gateway.
    pub gateway_plan: Option<String>,
    /// Another plan on the explorer.
    pub explorer_plan: Option<String>,
    /// Suspended or resumed.
    pub suspended: Option<bool>,
}

/// A key, without its characters, which the store never sees.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// Number, never used again.
    pub id: u64,
    /// Number of its account.
    pub account: u64,
    /// SHA-256 of the whole key.
    pub digest: [u8; 32],
    /// First 12 characters, for display.
    pub prefix: String,
    /// The owner's words.
    pub label: Option<String>,
    /// Units a UTC day on the gateway through this key.
    pub daily_cap: Option<u64>,
    /// Refused from then on.
    pub expires_at: Option<Utc>,
    /// Refused for good.
    pub revoked: bool,
    /// What it may be used for.
    pub scopes: Scopes,
    /// When it was added.
    pub created_at: Utc,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("id", &self.id)
            .field("account", &self.account)
            .field("digest", &"<secret>")
            .field("daily_cap", &self.daily_cap)
            .field("expires_at", &self.expires_at)
            .field("revoked", &self.revoked)
            .finish_non_exhaustive()
    }
}

/// A key that is to be added.
#[derive(Clone)]
pub struct NewKey {
    /// Number of its account.
    pub account: u64,
    /// SHA-256 of the whole key.
    pub digest: [u8; 32],
    /// First 12 characters, for display.
    pub prefix: String,
    /// The owner's words.
    pub label: Option<String>,
    /// Units a UTC day on the gateway through this key.
    pub daily_cap: Option<u64>,
    /// Refused from then on.
    pub expires_at: Option<Utc>,
    /// What it may be used for.
    pub scopes: Scopes,
    /// Now.
    pub created_at: Utc,
}

impl fmt::Debug for NewKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewKey").field("account", &self.account).finish_non_exhaustive()
    }
}

/// What changes in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyChange {
    /// Another daily cap, or none.
    Cap(Option<u64>),
    /// Refused from now on.
    Revoke,
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

/// The slug of a chain as usage rows keep it: at most 8 characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainName([u8; 8]);

impl ChainName {
    /// The name of a slug; `None` if it is empty, longer than 8 or no printable ASCII.
    pub fn new(slug: &str) -> Option<ChainName> {
        let mut name = [0; 8];
        name.get_mut(..slug.len())?.copy_from_slice(slug.as_bytes());
        ChainName::from_bytes(name)
    }

    /// The name in 8 bytes, padded with zeros.
    pub(crate) fn from_bytes(name: [u8; 8]) -> Option<ChainName> {
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(8);
        let (slug, padding) = name.split_at(end);
        let good = end > 0
            && slug.iter().all(u8::is_ascii_graphic)
            && padding.iter().all(|byte| *byte == 0);
        good.then_some(ChainName(name))
    }

    pub(crate) fn bytes(self) -> [u8; 8] {
        self.0
    }

    /// The slug.
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(8);
        // Checked to be ASCII when it was made.
        std::str::from_utf8(&self.0[..end]).unwrap_or_default()
    }
}

impl fmt::Debug for ChainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a usage row counts: one key on one chain in one UTC hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowName {
    /// Hours since 1970.
    pub hour: u32,
    /// Number of the account.
    pub account: u64,
    /// Number of the key.
    pub key: u64,
    /// The chain.
    pub chain: ChainName,
}

/// Units that were used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsageRow {
    /// By whom, where and when.
    pub name: RowName,
    /// How many.
    pub units: u64,
}

/// Units that a replica counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CountedRow {
    /// On which service.
    pub service: Service,
    /// Whose row it is.
    pub replica: Replica,
    /// What it counts.
    pub row: UsageRow,
}

/// Units that a key used in a range of hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// Number of the account.
    pub account: u64,
    /// Number of the key.
    pub key: u64,
    /// How many.
    pub units: u64,
}

/// Why the store does not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// An account of that name is there.
    #[error("an account named {0:?} is there already")]
    NameTaken(String),
    /// A newer program made this store.
    #[error("the store has schema {found}, this program knows {known}: use a newer Portolan")]
    Newer {
        /// Schema of the store.
        found: i64,
        /// Schema that this program writes.
        known: i64,
    },
    /// The file belongs to something else.
    #[error("the database is not a store of Portolan: {0}")]
    Foreign(String),
    /// Its file is damaged, and how it shows.
    #[error("the store's database is damaged ({0}): stop, and restore it from a backup")]
    Damaged(String),
    /// Another process counts the service.
    #[error(
        "{service} is counted for this store by {by}; one process at a time counts a service: stop \
         that one first"
    )]
    Counted {
        /// The service.
        service: Service,
        /// Who, as far as it is known.
        by: String,
    },
    /// A copy is to go where something is.
    #[error("the store that is to become the copy is not empty")]
    NotEmpty,
    /// The database says no.
    #[error("the store cannot be used: {0}")]
    Failed(String),
}

#[cfg(test)]
pub(crate) mod exercises;
#[cfg(test)]
mod tests;
