//! The store in one SQLite file.
//!
//! With its folder the only place that knows SQL. One connection writes, one reads, so that a reader never waits
//! for a disk; other processes may use the file at the same time. Where the disk is full a copy in
//! memory is read until there is room (`full`). Invariant: a change and the raised version are one
//! transaction, synced to disk before it returns, and the epoch is raised after that.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::epoch::Epoch;
use crate::folder::{Folder, open_shared};
use crate::store::{
    Account, AccountChange, AccountRef, Changes, CountedRow, Head, Key, KeyChange, NewAccount,
    NewKey, Pages, RowName, Store, StoreError, StoredRow, Total, UsageRow,
};
use crate::{OpenError, Replica, Service, Utc};

mod accounts;
mod error;
mod fill;
mod full;
mod keys;
mod look;
mod rows;
mod schema;
mod seal;
mod usage;

/// How long a connection waits for another process's write.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The version of the engine under the store, such as `3.50.4`.
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}

/// Accounts, keys and usage in a SQLite file.
#[derive(Debug)]
pub(crate) struct Sqlite {
    path: PathBuf,
    /// None while there is no room to write: the reader has a copy in memory then.
    writer: Mutex<Option<Connection>>,
    reader: Mutex<Connection>,
    epoch: Epoch,
}

impl Sqlite {
    /// Opens the database of a folder, making it if it is not there.
    pub(crate) fn open(folder: &Folder) -> Result<Sqlite, OpenError> {
        // SQLite would make it readable to all; its side files take its mode.
        let path = folder.database();
        open_shared(&path)?;
        let (writer, reader) = match Sqlite::connections(&path) {
            Ok((writer, reader)) => (Some(writer), reader),
            Err(StoreError::Full(why)) => {
                let known = full::copy(&path).map_err(|_| StoreError::Full(why))?;
                let store = path.display();
                tracing::error!(
                    %store,
                    "the store's disk is full: what it holds is served from memory, and nothing is \
                     written until there is room"
                );
                (None, known)
            }
            Err(error) => return Err(error.into()),
        };
        let epoch = Epoch::open(&folder.epoch())?;
        Ok(Sqlite { path, writer: Mutex::new(writer), reader: Mutex::new(reader), epoch })
    }

    fn connections(path: &Path) -> Result<(Connection, Connection), StoreError> {
        let told = |error| told(error, path);
        let mut writer = connect(path).map_err(told)?;
        schema::prepare(&mut writer, path)?;
        Ok((writer, connect(path).map_err(told)?))
    }

    /// Opens the file for writing where that was not possible before.
    fn try_again(&self) -> Result<(), StoreError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.is_some() {
            return Ok(());
        }
        let (opened, reader) = Sqlite::connections(&self.path)?;
        *self.reader() = reader;
        *writer = Some(opened);
        tracing::info!(store = %self.path.display(), "there is room: the store is written again");
        Ok(())
    }

    fn reader(&self) -> MutexGuard<'_, Connection> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes, where there is room.
    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.try_again()?;
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        match writer.as_mut() {
            Some(writer) => work(writer),
            None => Err(StoreError::Full("nothing can be written".to_owned())),
        }
    }

    /// Runs a change of accounts or keys under a raised version.
    fn change<T>(
        &self,
        change: impl FnOnce(&Transaction<'_>, i64) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let told = |error| told(error, &self.path);
        let changed = self.write(|writer| {
            let transaction =
                writer.transaction_with_behavior(TransactionBehavior::Immediate).map_err(told)?;
            let raise = "UPDATE meta SET value = value + 1 WHERE name = 'version' RETURNING value";
            let version = transaction.query_row(raise, [], |row| row.get(0)).map_err(told)?;
            let changed = change(&transaction, version)?;
            transaction.commit().map_err(told)?;
            Ok(changed)
        })?;
        self.epoch.raise();
        Ok(changed)
    }
}

/// An error of SQLite in the words of a store, which tell a full disk.
fn told(error: rusqlite::Error, path: &Path) -> StoreError {
    match full::is_full(&error, path) {
        true => StoreError::Full(error.to_string()),
        false => error.into(),
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

impl Store for Sqlite {
    fn identity(&self) -> Result<u64, StoreError> {
        meta(&self.reader(), "identity")
    }

    fn version(&self) -> Result<u64, StoreError> {
        // It is looked at twice a second; that there is no room yet was said.
        let _ = self.try_again();
        let _ = self.epoch.try_again();
        meta(&self.reader(), "version")
    }

    #[inline]
    fn changed(&self) -> u64 {
        self.epoch.read()
    }

    fn changes_after(&self, version: u64) -> Result<Changes, StoreError> {
        let mut reader = self.reader();
        // One snapshot, so that every key's account is among the accounts told so far.
        let snapshot = reader.transaction()?;
        let after = version.cast_signed();
        let mut damaged = Vec::new();
        Ok(Changes {
            version: meta(&snapshot, "version")?,
            accounts: seal::changed(&snapshot, after, &mut damaged)?,
            keys: seal::changed(&snapshot, after, &mut damaged)?,
            damaged,
        })
    }

    fn add_account(&self, new: &NewAccount) -> Result<Account, StoreError> {
        self.change(|transaction, version| accounts::add(transaction, version, new))
    }

    fn accounts(&self) -> Result<Vec<Account>, StoreError> {
        accounts::list(&self.reader())
    }

    fn account(&self, which: &AccountRef) -> Result<Option<Account>, StoreError> {
        accounts::find(&self.reader(), which)
    }

    fn change_account(
        &self,
        id: u64,
        change: &AccountChange,
    ) -> Result<Option<Account>, StoreError> {
        self.change(|transaction, version| accounts::change(transaction, version, id, change))
    }

    fn add_key(&self, new: &NewKey) -> Result<Key, StoreError> {
        self.change(|transaction, version| keys::add(transaction, version, new))
    }

    fn keys(&self, account: u64) -> Result<Vec<Key>, StoreError> {
        keys::of_account(&self.reader(), account)
    }

    fn key(&self, id: u64) -> Result<Option<Key>, StoreError> {
        keys::find(&self.reader(), id)
    }

    fn change_key(&self, id: u64, change: &KeyChange) -> Result<Option<Key>, StoreError> {
        self.change(|transaction, version| keys::change(transaction, version, id, change))
    }

    fn replace_key(&self, old: u64, ends_at: Utc, new: &NewKey) -> Result<Key, StoreError> {
        self.change(|transaction, version| keys::replace(transaction, version, old, ends_at, new))
    }

    fn record(
        &self,
        service: Service,
        replica: Replica,
        rows: &[UsageRow],
    ) -> Result<(), StoreError> {
        let record = |writer: &mut Connection| usage::record(writer, service, replica, rows);
        self.write(|writer| record(writer).map_err(|error| told(error, &self.path)))
    }

    fn recorded(
        &self,
        service: Service,
        replica: Replica,
        row: RowName,
    ) -> Result<u64, StoreError> {
        usage::recorded(&self.reader(), service, replica, row)
    }

    fn usage(&self, account: u64, from_hour: u32) -> Result<Vec<CountedRow>, StoreError> {
        usage::of_account(&self.reader(), account, from_hour)
    }

    fn totals(&self, service: Service, hours: Range<u32>) -> Result<Vec<Total>, StoreError> {
        usage::totals(&self.reader(), service, hours)
    }

    fn last_hour(&self, service: Service) -> Result<Option<u32>, StoreError> {
        usage::last_hour(&self.reader(), service)
    }

    fn stored(&self, after: Option<&StoredRow>, most: u32) -> Result<Vec<StoredRow>, StoreError> {
        fill::stored(&self.reader(), after, most)
    }

    fn fill(&self, head: &Head, pages: Pages<'_>) -> Result<(), StoreError> {
        self.write(|writer| {
            let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
            fill::fill(transaction, head, pages)
        })?;
        self.epoch.raise();
        Ok(())
    }
}

fn meta(connection: &Connection, name: &str) -> Result<u64, StoreError> {
    let mut select = connection.prepare_cached("SELECT value FROM meta WHERE name = ?1")?;
    Ok(select.query_row([name], |row| row.get::<_, i64>(0))?.cast_unsigned())
}

#[cfg(test)]
mod tests;
