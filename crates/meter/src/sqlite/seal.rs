//! Sealed rows in SQLite: written, read, and held against their seals.
//!
//! Rows and their indexes are held against each other besides, when all are read.

use rusqlite::{Connection, Row, Transaction, params};

use super::error::is_damage;
use super::rows::{ACCOUNT, KEY, account, all, key};
use crate::seal::Sealed;
use crate::store::{Account, Key, StoreError};

/// Findings of one table that are told.
const MOST_FINDINGS: u32 = 3;

/// Sealed rows of SQLite.
pub(super) trait SealedRow: Sealed {
    /// Its columns but the seal.
    const COLUMNS: &'static str;

    /// Reads `COLUMNS`, whatever their seal.
    fn read(row: &Row<'_>) -> rusqlite::Result<Self>;
}

impl SealedRow for Account {
    const COLUMNS: &'static str = ACCOUNT;

    fn read(row: &Row<'_>) -> rusqlite::Result<Account> {
        account(row)
    }
}

impl SealedRow for Key {
    const COLUMNS: &'static str = KEY;

    fn read(row: &Row<'_>) -> rusqlite::Result<Key> {
        key(row)
    }
}

/// Adds the column of seals and seals every row (schema 2).
pub(super) fn begin(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    transaction.execute_batch(
        "ALTER TABLE accounts ADD COLUMN seal INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE keys ADD COLUMN seal INTEGER NOT NULL DEFAULT 0;",
    )?;
    seal_all::<Account>(transaction)?;
    seal_all::<Key>(transaction)
}

fn seal_all<T: SealedRow>(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    let select = format!("SELECT {} FROM {}", T::COLUMNS, T::TABLE);
    let rows: Vec<T> = all(transaction, &select, [], T::read)?;
    rows.iter().try_for_each(|row| seal(transaction, row))
}

/// Seals a row that was just written.
pub(super) fn seal<T: SealedRow>(transaction: &Transaction<'_>, row: &T) -> Result<(), StoreError> {
    let update = format!("UPDATE {} SET seal = ?2 WHERE id = ?1", T::TABLE);
    transaction.prepare_cached(&update)?.execute(params![row.id().cast_signed(), row.seal()])?;
    Ok(())
}

/// Seals a row that was changed, if there is one.
pub(super) fn again<T: SealedRow>(
    transaction: &Transaction<'_>,
    changed: Option<T>,
) -> Result<Option<T>, StoreError> {
    if let Some(row) = &changed {
        seal(transaction, row)?;
    }
    Ok(changed)
}

/// Refuses to change a row that is damaged.
pub(super) fn check<T: SealedRow>(
    transaction: &Transaction<'_>,
    id: u64,
) -> Result<(), StoreError> {
    let select = format!("SELECT {}, seal FROM {} WHERE id = ?1", T::COLUMNS, T::TABLE);
    let rows = all(transaction, &select, [id.cast_signed()], |row| whole::<T>(row))?;
    match rows.iter().all(Result::is_ok) {
        true => Ok(()),
        false => Err(StoreError::Damaged(format!("row {id} of {}", T::TABLE))),
    }
}

/// Reads `COLUMNS` and the seal after them; a row whose seal is another is told instead.
fn whole<T: SealedRow>(row: &Row<'_>) -> rusqlite::Result<Result<T, String>> {
    let id: i64 = row.get(0)?;
    let seal: i64 = row.get(T::COLUMNS.split(',').count())?;
    Ok(match T::read(row) {
        Ok(read) if read.seal() == seal => Ok(read),
        _ => Err(format!("row {id} of {}", T::TABLE)),
    })
}

/// The whole rows that changed after a version, and into `damaged` what is not whole. When all are
/// read, after version 0, the table and its indexes are held against each other.
pub(super) fn changed<T: SealedRow>(
    connection: &Connection,
    after: i64,
    damaged: &mut Vec<String>,
) -> Result<Vec<T>, StoreError> {
    let indexed = if after == 0 { "NOT INDEXED" } else { "" };
    if after == 0 {
        damaged.extend(findings(connection, T::TABLE)?);
    }
    let select = format!(
        "SELECT {}, seal FROM {} {indexed} WHERE version > ?1 ORDER BY id",
        T::COLUMNS,
        T::TABLE
    );
    let mut select = connection.prepare_cached(&select)?;
    let mut rows = select.query([after])?;
    let mut whole_rows = Vec::new();
    loop {
        match rows.next() {
            Ok(Some(row)) => match whole(row)? {
                Ok(row) => whole_rows.push(row),
                Err(row) => damaged.push(row),
            },
            Ok(None) => return Ok(whole_rows),
            // What was read up to here is whole all the same.
            Err(error) if after == 0 && is_damage(&error) => {
                damaged.push(format!("{}: {error}", T::TABLE));
                return Ok(whole_rows);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// What SQLite finds wrong with a table.
fn findings(connection: &Connection, table: &str) -> Result<Vec<String>, StoreError> {
    let select = "SELECT integrity_check FROM pragma_integrity_check(?1) LIMIT ?2";
    let found =
        all(connection, select, params![table, MOST_FINDINGS], |row| row.get::<_, String>(0));
    match found {
        Ok(found) => Ok(found.into_iter().filter(|finding| finding != "ok").collect()),
        Err(StoreError::Damaged(what)) => Ok(vec![format!("{table}: {what}")]),
        Err(error) => Err(error),
    }
}
