//! The store in one SQLite file.
//!
//! The only place that knows SQL. One connection writes, one reads, so that a reader never waits
//! for a disk; other processes may use the file at the same time. Invariant: a change and the
//! raised version are one transaction, synced to disk before it returns, and the epoch is raised
//! after that.

use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::epoch::Epoch;
use crate::folder::{Folder, open_shared};
use crate::store::{
    Account, AccountChange, AccountRef, ChainName, Changes, CountedRow, Head, Key, KeyChange,
    NewAccount, NewKey, Pages, RowName, Store, StoreError, StoredRow, Total, UsageRow,
};
use crate::{OpenError, Replica, Scopes, Service, Utc};

mod fill;
mod schema;
mod seal;

/// How long a connection waits for another process's write.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const ACCOUNT: &str = "id, name, gateway_plan, explorer_plan, suspended, created_at";
const KEY: &str = "id, account, digest, prefix, label, daily_cap, expires_at, revoked, scopes, \
                   created_at";

/// The version of the engine under the store, such as `3.50.4`.
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}

/// Accounts, keys and usage in a SQLite file.
#[derive(Debug)]
pub(crate) struct Sqlite {
    writer: Mutex<Connection>,
    reader: Mutex<Connection>,
    epoch: Epoch,
}

impl Sqlite {
    /// Opens the database of a folder, making it if it is not there.
    pub(crate) fn open(folder: &Folder) -> Result<Sqlite, OpenError> {
        // SQLite would make it readable to all; its side files take its mode.
        let path = folder.database();
        open_shared(&path)?;
        let (writer, reader) = Sqlite::connections(&path)?;
        let epoch = Epoch::open(&folder.epoch())?;
        Ok(Sqlite { writer: Mutex::new(writer), reader: Mutex::new(reader), epoch })
    }

    fn connections(path: &Path) -> Result<(Connection, Connection), StoreError> {
        let mut writer = connect(path)?;
        schema::prepare(&mut writer)?;
        Ok((writer, connect(path)?))
    }

    fn reader(&self) -> MutexGuard<'_, Connection> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer(&self) -> MutexGuard<'_, Connection> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a change of accounts or keys under a raised version.
    fn change<T>(
        &self,
        change: impl FnOnce(&Transaction<'_>, i64) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut writer = self.writer();
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let version = transaction.query_row(
            "UPDATE meta SET value = value + 1 WHERE name = 'version' RETURNING value",
            [],
            |row| row.get(0),
        )?;
        let changed = change(&transaction, version)?;
        transaction.commit()?;
        self.epoch.raise();
        Ok(changed)
    }
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
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
        let mut writer = self.writer();
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut upsert = transaction.prepare_cached(
                "INSERT INTO usage (account, key, service, chain, hour, replica, units)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                 ON CONFLICT DO UPDATE SET units = excluded.units",
            )?;
            for UsageRow { name, units } in rows {
                upsert.execute(params![
                    name.account.cast_signed(),
                    name.key.cast_signed(),
                    service.as_str(),
                    name.chain.as_str(),
                    name.hour,
                    replica.number().cast_signed(),
                    units.cast_signed(),
                ])?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn recorded(
        &self,
        service: Service,
        replica: Replica,
        row: RowName,
    ) -> Result<u64, StoreError> {
        let reader = self.reader();
        let mut select = reader.prepare_cached(
            "SELECT units FROM usage
             WHERE account = ?1 AND key = ?2 AND service = ?3 AND chain = ?4 AND hour = ?5
                 AND replica = ?6",
        )?;
        let name = params![
            row.account.cast_signed(),
            row.key.cast_signed(),
            service.as_str(),
            row.chain.as_str(),
            row.hour,
            replica.number().cast_signed(),
        ];
        let units: Option<i64> = select.query_row(name, |row| row.get(0)).optional()?;
        Ok(units.unwrap_or(0).cast_unsigned())
    }

    fn usage(&self, account: u64, from_hour: u32) -> Result<Vec<CountedRow>, StoreError> {
        let sql = "SELECT account, key, service, chain, hour, units, replica FROM usage
                   WHERE account = ?1 AND hour >= ?2 ORDER BY hour, key, service, chain, replica";
        let rows = all(&self.reader(), sql, params![account.cast_signed(), from_hour], usage_row)?;
        // A service or chain that this program does not know is left out, not an error.
        Ok(rows.into_iter().flatten().collect())
    }

    fn totals(&self, service: Service, hours: Range<u32>) -> Result<Vec<Total>, StoreError> {
        let sql = "SELECT account, key, sum(units) FROM usage
                   WHERE service = ?1 AND hour >= ?2 AND hour < ?3 GROUP BY account, key";
        let of = params![service.as_str(), hours.start, hours.end];
        all(&self.reader(), sql, of, |row| {
            Ok(Total {
                account: row.get::<_, i64>(0)?.cast_unsigned(),
                key: row.get::<_, i64>(1)?.cast_unsigned(),
                units: row.get::<_, i64>(2)?.cast_unsigned(),
            })
        })
    }

    fn last_hour(&self, service: Service) -> Result<Option<u32>, StoreError> {
        let sql = "SELECT max(hour) FROM usage WHERE service = ?1";
        Ok(self.reader().query_row(sql, [service.as_str()], |row| row.get(0))?)
    }

    fn stored(&self, after: Option<&StoredRow>, most: u32) -> Result<Vec<StoredRow>, StoreError> {
        fill::stored(&self.reader(), after, most)
    }

    fn fill(&self, head: &Head, pages: Pages<'_>) -> Result<(), StoreError> {
        let mut writer = self.writer();
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        fill::fill(transaction, head, pages)?;
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

fn all<T>(
    connection: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
    read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, StoreError> {
    let mut select = connection.prepare_cached(sql)?;
    let rows = select.query_map(params, read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn account(row: &rusqlite::Row<'_>) -> rusqlite::Result<Account> {
    Ok(Account {
        id: row.get::<_, i64>(0)?.cast_unsigned(),
        name: row.get(1)?,
        gateway_plan: row.get(2)?,
        explorer_plan: row.get(3)?,
        suspended: row.get(4)?,
        created_at: time(row.get(5)?),
    })
}

fn key(row: &rusqlite::Row<'_>) -> rusqlite::Result<Key> {
    Ok(Key {
        id: row.get::<_, i64>(0)?.cast_unsigned(),
        account: row.get::<_, i64>(1)?.cast_unsigned(),
        digest: row.get(2)?,
        prefix: row.get(3)?,
        label: row.get(4)?,
        daily_cap: row.get::<_, Option<i64>>(5)?.map(i64::cast_unsigned),
        expires_at: row.get::<_, Option<i64>>(6)?.map(time),
        revoked: row.get(7)?,
        scopes: Scopes::from_text(&row.get::<_, String>(8)?),
        created_at: time(row.get(9)?),
    })
}

fn usage_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<CountedRow>> {
    let service = Service::from_name(&row.get::<_, String>(2)?);
    let chain = ChainName::new(&row.get::<_, String>(3)?);
    let (Some(service), Some(chain)) = (service, chain) else { return Ok(None) };
    let name = RowName {
        hour: row.get(4)?,
        account: row.get::<_, i64>(0)?.cast_unsigned(),
        key: row.get::<_, i64>(1)?.cast_unsigned(),
        chain,
    };
    Ok(Some(CountedRow {
        service,
        replica: Replica::from_number(row.get::<_, i64>(6)?.cast_unsigned()),
        row: UsageRow { name, units: row.get::<_, i64>(5)?.cast_unsigned() },
    }))
}

fn time(secs: i64) -> Utc {
    Utc::from_secs(u64::try_from(secs).unwrap_or(0))
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => {
                StoreError::Foreign("it is no SQLite file".to_owned())
            }
            _ if is_damage(&error) => StoreError::Damaged(error.to_string()),
            _ => StoreError::Failed(error.to_string()),
        }
    }
}

/// Does SQLite say that the file is damaged?
fn is_damage(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseCorrupt)
}

#[cfg(test)]
mod tests;
