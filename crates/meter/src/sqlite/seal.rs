//! What tells a damaged row of an account or a key from a whole one.
//!
//! SQLite sees a page whose structure is broken, but not a flipped bit within a value: a digest that
//! changed by one would make a paying key an unknown one. So each row carries a hash of its values,
//! and rows and their indexes are held against each other when all are read. It finds damage, not
//! forgery. Invariant: a row that was damaged is never taken for a whole one, nor sealed anew.

use rusqlite::{Connection, Row, Transaction, params};
use sha2::{Digest, Sha256};

use super::{ACCOUNT, KEY, account, key};
use crate::store::{Account, Key, StoreError};

/// Findings of one table that are told.
const MOST_FINDINGS: u32 = 3;

/// Rows with a seal.
pub(super) trait Sealed: Sized {
    /// Table and name of a row, for messages.
    const TABLE: &'static str;
    const COLUMNS: &'static str;

    /// Number of the row.
    fn id(&self) -> u64;

    /// Hash of its values.
    fn seal(&self) -> i64;

    /// Reads `COLUMNS`, whatever their seal.
    fn read(row: &Row<'_>) -> rusqlite::Result<Self>;
}

impl Sealed for Account {
    const TABLE: &'static str = "accounts";
    const COLUMNS: &'static str = ACCOUNT;

    fn id(&self) -> u64 {
        self.id
    }

    fn seal(&self) -> i64 {
        hash(&[
            &self.id.to_be_bytes(),
            self.name.as_bytes(),
            self.gateway_plan.as_bytes(),
            self.explorer_plan.as_bytes(),
            &[self.suspended.into()],
            &self.created_at.secs().to_be_bytes(),
        ])
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Account> {
        account(row)
    }
}

impl Sealed for Key {
    const TABLE: &'static str = "keys";
    const COLUMNS: &'static str = KEY;

    fn id(&self) -> u64 {
        self.id
    }

    fn seal(&self) -> i64 {
        let number = |number: Option<u64>| match number {
            Some(number) => number.to_be_bytes().to_vec(),
            None => Vec::new(),
        };
        hash(&[
            &self.id.to_be_bytes(),
            &self.account.to_be_bytes(),
            &self.digest,
            self.prefix.as_bytes(),
            &[self.label.is_some().into()],
            self.label.as_deref().unwrap_or_default().as_bytes(),
            &number(self.daily_cap),
            &number(self.expires_at.map(|at| at.secs())),
            &[self.revoked.into()],
            self.scopes.to_text().as_bytes(),
            &self.created_at.secs().to_be_bytes(),
        ])
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Key> {
        key(row)
    }
}

/// The first 8 bytes of the SHA-256 of values, each after its length.
fn hash(values: &[&[u8]]) -> i64 {
    let mut hash = Sha256::new();
    for value in values {
        hash.update((value.len() as u64).to_be_bytes());
        hash.update(value);
    }
    let digest: [u8; 32] = hash.finalize().into();
    digest.first_chunk().map_or(0, |first| i64::from_be_bytes(*first))
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

fn seal_all<T: Sealed>(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    let select = format!("SELECT {} FROM {}", T::COLUMNS, T::TABLE);
    let rows: Vec<T> = super::all(transaction, &select, [], T::read)?;
    rows.iter().try_for_each(|row| seal(transaction, row))
}

/// Seals a row that was just written.
pub(super) fn seal<T: Sealed>(transaction: &Transaction<'_>, row: &T) -> Result<(), StoreError> {
    let update = format!("UPDATE {} SET seal = ?2 WHERE id = ?1", T::TABLE);
    transaction.prepare_cached(&update)?.execute(params![row.id().cast_signed(), row.seal()])?;
    Ok(())
}

/// Refuses to change a row that is damaged.
pub(super) fn check<T: Sealed>(transaction: &Transaction<'_>, id: u64) -> Result<(), StoreError> {
    let select = format!("SELECT {}, seal FROM {} WHERE id = ?1", T::COLUMNS, T::TABLE);
    let rows = super::all(transaction, &select, [id.cast_signed()], |row| whole::<T>(row))?;
    match rows.iter().all(Result::is_ok) {
        true => Ok(()),
        false => Err(StoreError::Damaged(format!("row {id} of {}", T::TABLE))),
    }
}

/// Reads `COLUMNS` and the seal after them; a row whose seal is another is told instead.
fn whole<T: Sealed>(row: &Row<'_>) -> rusqlite::Result<Result<T, String>> {
    let id: i64 = row.get(0)?;
    let seal: i64 = row.get(T::COLUMNS.split(',').count())?;
    Ok(match T::read(row) {
        Ok(read) if read.seal() == seal => Ok(read),
        _ => Err(format!("row {id} of {}", T::TABLE)),
    })
}

/// The whole rows that changed after a version, and into `damaged` what is not whole. When all are
/// read, after version 0, the table and its indexes are held against each other.
pub(super) fn changed<T: Sealed>(
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
            Err(error) if after == 0 && super::is_damage(&error) => {
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
    let found = super::all(connection, select, params![table, MOST_FINDINGS], |row| {
        row.get::<_, String>(0)
    });
    match found {
        Ok(found) => Ok(found.into_iter().filter(|finding| finding != "ok").collect()),
        Err(StoreError::Damaged(what)) => Ok(vec![format!("{table}: {what}")]),
        Err(error) => Err(error),
    }
}
