//! `[store]`: where accounts, keys, counters and indexes live.

use std::path::PathBuf;

use meter::{
    AddressError, BucketsAddress, BucketsAddressError, OpenError, PostgresAddress, Storage,
};
use serde::Deserialize;

/// The folder of everything embedded, and the database of accounts where that is another.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreConfig {
    /// The folder; made when it is missing. One process serves each service from it.
    pub dir: PathBuf,
    /// The PostgreSQL that keeps accounts, keys and usage; they are in the folder unless given.
    pub accounts: Option<String>,
    /// A file with its password.
    pub accounts_password_file: Option<PathBuf>,
    /// A file with the authorities that its certificate may come from, PEM.
    pub accounts_ca: Option<PathBuf>,
    /// The Valkey or Redis with the buckets that all processes have in common; each has a share of
    /// every rate unless given.
    pub buckets: Option<String>,
    /// A file with its password.
    pub buckets_password_file: Option<PathBuf>,
    /// A file with the authorities that its certificate may come from, PEM.
    pub buckets_ca: Option<PathBuf>,
}

impl Default for StoreConfig {
    fn default() -> Self {
        StoreConfig {
            dir: PathBuf::from("data"),
            accounts: None,
            accounts_password_file: None,
            accounts_ca: None,
            buckets: None,
            buckets_password_file: None,
            buckets_ca: None,
        }
    }
}

impl StoreConfig {
    /// The address of the PostgreSQL, where one is given.
    pub(super) fn address(&self) -> Result<Option<PostgresAddress>, AddressError> {
        let file = self.accounts_password_file.as_deref();
        let address = |url: &String| PostgresAddress::new(url, file, self.accounts_ca.as_deref());
        self.accounts.as_ref().map(address).transpose()
    }

    /// The address of the Valkey or Redis, where one is given.
    pub(crate) fn buckets(&self) -> Result<Option<BucketsAddress>, BucketsAddressError> {
        let (file, ca) = (self.buckets_password_file.as_deref(), self.buckets_ca.as_deref());
        self.buckets.as_ref().map(|url| BucketsAddress::new(url, file, ca)).transpose()
    }

    /// Opens the store for a process that serves: with the buckets, where they are elsewhere. Blocks.
    ///
    /// # Errors
    /// It cannot be opened. That the buckets cannot be reached is none.
    pub fn open_to_serve(&self) -> Result<Storage, OpenError> {
        let storage = self.open()?;
        Ok(match self.buckets().expect("checked when the configuration was read") {
            Some(address) => storage.with_buckets(address),
            None => storage,
        })
    }

    /// Opens the store of accounts, keys and usage. Blocks.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(&self) -> Result<Storage, OpenError> {
        match self.address().expect("checked when the configuration was read") {
            Some(address) => Storage::postgres(&self.dir, address),
            None => Storage::embedded(&self.dir),
        }
    }

    /// Opens the store where there is one; makes none. Blocks.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open_found(&self) -> Result<Option<Storage>, OpenError> {
        match self.address().expect("checked when the configuration was read") {
            Some(address) => Storage::found_postgres(&self.dir, address),
            None => Storage::found_embedded(&self.dir),
        }
    }

    /// Looks whether [`StoreConfig::open`] would succeed. Makes and changes nothing. Blocks.
    ///
    /// # Errors
    /// It would not.
    pub fn look(&self) -> Result<(), OpenError> {
        match self.address().expect("checked when the configuration was read") {
            Some(address) => Storage::look_postgres(&self.dir, address),
            None => Storage::look_embedded(&self.dir),
        }
    }

    /// Where accounts and keys are, in words.
    pub fn place(&self) -> String {
        self.accounts.clone().unwrap_or_else(|| self.dir.display().to_string())
    }
}
