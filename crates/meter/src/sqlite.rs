//! The store in one SQLite file.
//!
//! The only place that knows SQL. One connection writes, one reads, so that a reader never waits
//! for a disk; other processes may use the file at the same time. Where the disk is full a copy in
//! memory is read until there is room (`full`). Invariant: a change and the raised version are one
//! transaction, synced to disk before it returns, and the epoch is raised after that.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::epoch::Epoch;
use crate::folder::{Folder, open_shared};
use crate::store::{
    Account, AccountChange, AccountRef, Changes, CountedRow, Head, Key, KeyChange, NewAccount,
    NewKey, Pages, RowName, Store, StoreError, StoredRow, Total, UsageRow,
};
use crate::{OpenError, Replica, Service, Utc};

mod error;
mod fill;
mod full;
mod look;
mod rows;
mod schema;
mod seal;
mod usage;

use rows::{ACCOUNT, KEY, account, all, key};

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
        let sql = format!(
            "INSERT INTO accounts (name, gateway_plan, explorer_plan, created_at, version)
             VALUES (?1, ?2, ?3, ?4, ?5) RETURNING {ACCOUNT}"
        );
        self.change(|transaction, version| {
            let created_at = new.created_at.secs().cast_signed();
            let row = params![new.name, new.gateway_plan, new.explorer_plan, created_at, version];
            let added = transaction.query_row(&sql, row, account).map_err(|error| {
                match error.sqlite_error_code() {
                    Some(rusqlite::ErrorCode::ConstraintViolation) => {
                        StoreError::NameTaken(new.name.clone())
                    }
                    _ => error.into(),
                }
            })?;
            seal::seal(transaction, &added)?;
            Ok(added)
        })
    }

    fn accounts(&self) -> Result<Vec<Account>, StoreError> {
        all(&self.reader(), &format!("SELECT {ACCOUNT} FROM accounts ORDER BY id"), [], account)
    }

    fn account(&self, which: &AccountRef) -> Result<Option<Account>, StoreError> {
        let reader = self.reader();
        let by_id = format!("SELECT {ACCOUNT} FROM accounts WHERE id = ?1");
        let by_name = format!("SELECT {ACCOUNT} FROM accounts WHERE name = ?1");
        let found = match which {
            AccountRef::Id(id) => reader.query_row(&by_id, [id.cast_signed()], account),
            AccountRef::Name(name) => reader.query_row(&by_name, [name], account),
        };
        Ok(found.optional()?)
    }

    fn change_account(
        &self,
        id: u64,
        change: &AccountChange,
    ) -> Result<Option<Account>, StoreError> {
        let sql = format!(
            "UPDATE accounts SET gateway_plan = coalesce(?2, gateway_plan),
                 explorer_plan = coalesce(?3, explorer_plan),
                 suspended = coalesce(?4, suspended), version = ?5
             WHERE id = ?1 RETURNING {ACCOUNT}"
        );
        self.change(|transaction, version| {
            seal::check::<Account>(transaction, id)?;
            let AccountChange { gateway_plan, explorer_plan, suspended } = change;
            let row = params![id.cast_signed(), gateway_plan, explorer_plan, suspended, version];
            sealed(transaction, transaction.query_row(&sql, row, account).optional()?)
        })
    }

    fn add_key(&self, new: &NewKey) -> Result<Key, StoreError> {
        self.change(|transaction, version| insert_key(transaction, version, new))
    }

    fn keys(&self, account: u64) -> Result<Vec<Key>, StoreError> {
        let sql = format!("SELECT {KEY} FROM keys WHERE account = ?1 ORDER BY id");
        all(&self.reader(), &sql, [account.cast_signed()], key)
    }

    fn key(&self, id: u64) -> Result<Option<Key>, StoreError> {
        let sql = format!("SELECT {KEY} FROM keys WHERE id = ?1");
        Ok(self.reader().query_row(&sql, [id.cast_signed()], key).optional()?)
    }

    fn change_key(&self, id: u64, change: &KeyChange) -> Result<Option<Key>, StoreError> {
        let set = match change {
            KeyChange::Cap(_) => "daily_cap = ?3",
            KeyChange::Revoke => "revoked = 1 + 0 * coalesce(?3, 0)",
        };
        let cap = match change {
            KeyChange::Cap(cap) => cap.map(u64::cast_signed),
            KeyChange::Revoke => None,
        };
        let sql = format!("UPDATE keys SET {set}, version = ?2 WHERE id = ?1 RETURNING {KEY}");
        self.change(|transaction, version| {
            seal::check::<Key>(transaction, id)?;
            let row = params![id.cast_signed(), version, cap];
            sealed(transaction, transaction.query_row(&sql, row, key).optional()?)
        })
    }

    fn replace_key(&self, old: u64, ends_at: Utc, new: &NewKey) -> Result<Key, StoreError> {
        let sql = format!(
            "UPDATE keys SET expires_at = min(coalesce(expires_at, ?2), ?2), version = ?3
             WHERE id = ?1 RETURNING {KEY}"
        );
        self.change(|transaction, version| {
            seal::check::<Key>(transaction, old)?;
            let row = params![old.cast_signed(), ends_at.secs().cast_signed(), version];
            sealed(transaction, transaction.query_row(&sql, row, key).optional()?)?;
            insert_key(transaction, version, new)
        })
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

fn insert_key(
    transaction: &Transaction<'_>,
    version: i64,
    new: &NewKey,
) -> Result<Key, StoreError> {
    let sql = format!(
        "INSERT INTO keys (account, digest, prefix, label, daily_cap, expires_at, scopes,
                           created_at, version)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) RETURNING {KEY}"
    );
    let row = params![
        new.account.cast_signed(),
        new.digest,
        new.prefix,
        new.label,
        new.daily_cap.map(u64::cast_signed),
        new.expires_at.map(|at| at.secs().cast_signed()),
        new.scopes.to_text(),
        new.created_at.secs().cast_signed(),
        version,
    ];
    let added = transaction.query_row(&sql, row, key)?;
    seal::seal(transaction, &added)?;
    Ok(added)
}

/// Seals a row that was changed, if there is one.
fn sealed<T: seal::SealedRow>(
    transaction: &Transaction<'_>,
    changed: Option<T>,
) -> Result<Option<T>, StoreError> {
    if let Some(row) = &changed {
        seal::seal(transaction, row)?;
    }
    Ok(changed)
}

#[cfg(test)]
mod tests;
