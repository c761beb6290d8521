//! Where a meter keeps what it keeps: the folder of this machine and the store of accounts, keys
//! and recorded usage.
//!
//! The folder has the usage files of the services that are counted here, whatever the store is.
//! Leaves opening the ledgers to the meter. Invariant: the store of a `Storage` is of the schema that
//! this program writes.

use std::path::Path;

use crate::buckets::BucketsAddress;
use crate::folder::Folder;
use crate::postgres::{Postgres, PostgresAddress};
use crate::sqlite::Sqlite;
use crate::store::Store;
use crate::usage_file::UsageFile;
use crate::{OpenError, Service};

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

    /// As [`Storage::embedded`], where there is a store; makes none.
    pub fn found_embedded(dir: &Path) -> Result<Option<Storage>, OpenError> {
        match Folder::database_in(dir).exists() {
            true => Storage::embedded(dir).map(Some),
            false => Ok(None),
        }
    }

    /// As [`Storage::postgres`], where there is a store; makes none, nor the folder.
    pub fn found_postgres(
        dir: &Path,
        address: PostgresAddress,
    ) -> Result<Option<Storage>, OpenError> {
        if Postgres::look(address.clone())?.is_none() {
            return Ok(None);
        }
        let store = Box::new(Postgres::open(address)?);
        Ok(Some(Storage { folder: Folder::at(dir), store, buckets: None }))
    }

    /// Looks whether [`Storage::embedded`] and counting in the folder can be had. Makes and changes
    /// nothing, and may be asked beside a running server.
    ///
    /// # Errors
    /// What stands in the way.
    pub fn look_embedded(dir: &Path) -> Result<(), OpenError> {
        usage_files(dir, Sqlite::look(&Folder::database_in(dir))?)
    }

    /// As [`Storage::look_embedded`], for [`Storage::postgres`].
    ///
    /// # Errors
    /// What stands in the way.
    pub fn look_postgres(dir: &Path, address: PostgresAddress) -> Result<(), OpenError> {
        usage_files(dir, Postgres::look(address)?)
    }
}

/// Are the usage files of a folder those of a store, as far as it is known?
fn usage_files(dir: &Path, identity: Option<u64>) -> Result<(), OpenError> {
    let folder = Folder::at(dir);
    Service::ALL
        .into_iter()
        .try_for_each(|service| UsageFile::may_be(&folder.usage(service), service, identity))
}
