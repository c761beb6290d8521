//! Sealed rows in PostgreSQL: written, read, and held against their seals.

use tokio_postgres::{Row, Transaction};

use super::rows::{ACCOUNT, KEY, account, key, unsigned};
use crate::seal::Sealed;
use crate::store::{Account, Key, StoreError};

/// Sealed rows of PostgreSQL.
pub(super) trait SealedRow: Sealed {
    /// Its columns but the seal.
    const COLUMNS: &'static str;

    /// Reads `COLUMNS`, whatever their seal.
    fn read(row: &Row) -> Result<Self, StoreError>;
}

impl SealedRow for Account {
    const COLUMNS: &'static str = ACCOUNT;

    fn read(row: &Row) -> Result<Account, StoreError> {
        account(row)
    }
}

impl SealedRow for Key {
    const COLUMNS: &'static str = KEY;

    fn read(row: &Row) -> Result<Key, StoreError> {
        key(row)
    }
}

/// Seals a row that was just written.
pub(super) async fn seal<T: Sealed>(
    transaction: &Transaction<'_>,
    row: &T,
) -> Result<(), StoreError> {
    let update = format!("UPDATE {} SET seal = $2 WHERE id = $1", T::TABLE);
    transaction.execute(&update, &[&row.id().cast_signed(), &row.seal()]).await?;
    Ok(())
}

/// Refuses to change a row that is damaged.
pub(super) async fn check<T: SealedRow>(
    transaction: &Transaction<'_>,
    id: u64,
) -> Result<(), StoreError> {
    let select = format!("SELECT {}, seal FROM {} WHERE id = $1 FOR UPDATE", T::COLUMNS, T::TABLE);
    let row = transaction.query_opt(&select, &[&id.cast_signed()]).await?;
    match row.as_ref().map(whole::<T>).transpose()? {
        None | Some(Ok(_)) => Ok(()),
        Some(Err(row)) => Err(StoreError::Damaged(row)),
    }
}

/// Reads `COLUMNS` and the seal after them; a row whose seal is another is told instead.
fn whole<T: SealedRow>(row: &Row) -> Result<Result<T, String>, StoreError> {
    let seal: i64 = row.try_get(T::COLUMNS.split(',').count())?;
    Ok(match T::read(row) {
        Ok(read) if read.seal() == seal => Ok(read),
        _ => Err(format!("row {} of {}", unsigned(row, 0)?, T::TABLE)),
    })
}

/// The whole rows that changed after a version, and into `damaged` what is not whole.
pub(super) async fn changed<T: SealedRow>(
    transaction: &Transaction<'_>,
    after: i64,
    damaged: &mut Vec<String>,
) -> Result<Vec<T>, StoreError> {
    let (columns, table) = (T::COLUMNS, T::TABLE);
    let select = format!("SELECT {columns}, seal FROM {table} WHERE version > $1 ORDER BY id");
    let mut whole_rows = Vec::new();
    for row in transaction.query(&select, &[&after]).await? {
        match whole(&row)? {
            Ok(row) => whole_rows.push(row),
            Err(row) => damaged.push(row),
        }
    }
    Ok(whole_rows)
}
