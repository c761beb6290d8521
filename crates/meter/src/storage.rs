//! Where a meter keeps what it keeps: the folder of this machine and the store of accounts, keys
//! and recorded usage.
//!
//! The folder has the usage files of the services that are counted here, whatever the store is.
//! Leaves opening the ledgers to the meter. Invariant: the store of a `Storage` is of the schema that
//! this program writes.

use std::path::Path;

use crate::OpenError;
use crate::buckets::BucketsAddress;
use crate::folder::Folder;
use crate::postgres::{Postgres, PostgresAddress};
use crate::sqlite::Sqlite;
use crate::store::Store;

/// An open store and the folder beside it.
#[derive(Debug)]
pub struct Storage {
    pub(crate) folder: Folder,
    pub(crate) store: Box<dyn Store>,
    pub(crate) buckets: Option<BucketsAddress>,
}

impl Storage {
    /// Everything in one folder, the store being a SQLite file in it; made where it is not there.
    pub fn embedded(dir: &Path) -> Result<Storage, OpenError> {
        let folder = Folder::open(dir)?;
        let store = Box::new(Sqlite::open(&folder)?);
        Ok(Storage { folder, store, buckets: None })
    }

    /// Accounts, keys and recorded usage in a PostgreSQL; the folder has the usage files of what is
    /// counted on this machine.
    pub fn postgres(dir: &Path, address: PostgresAddress) -> Result<Storage, OpenError> {
        let folder = Folder::open(dir)?;
        let store = Box::new(Postgres::open(address)?);
        Ok(Storage { folder, store, buckets: None })
    }

    /// The same with buckets that several processes have in common, in a Valkey or Redis; of use where
    /// they have the store in common too.
    #[must_use]
    pub fn with_buckets(self, address: BucketsAddress) -> Storage {
        Storage { buckets: Some(address), ..self }
    }
}
