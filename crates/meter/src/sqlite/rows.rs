//! Rows of SQLite and what they say: accounts, keys, times.
//!
//! Leaves rows of usage to `usage`, and whether a row is whole to `seal`.

use rusqlite::{Connection, Row};

use crate::store::{Account, Key, StoreError};
use crate::{Scopes, Utc};

/// Columns of an account, in the order in which they are read.
pub(super) const ACCOUNT: &str = "id, name, gateway_plan, explorer_plan, suspended, created_at";
/// Columns of a key, in the order in which they are read.
pub(super) const KEY: &str =
    "id, account, digest, prefix, label, daily_cap, expires_at, revoked, scopes, created_at";

/// Every row that a question finds.
pub(super) fn all<T>(
    connection: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, StoreError> {
    let mut select = connection.prepare_cached(sql)?;
    let rows = select.query_map(params, read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Reads the columns of [`ACCOUNT`].
pub(super) fn account(row: &Row<'_>) -> rusqlite::Result<Account> {
    Ok(Account {
        id: row.get::<_, i64>(0)?.cast_unsigned(),
        name: row.get(1)?,
        gateway_plan: row.get(2)?,
        explorer_plan: row.get(3)?,
        suspended: row.get(4)?,
        created_at: time(row.get(5)?),
    })
}

/// Reads the columns of [`KEY`].
pub(super) fn key(row: &Row<'_>) -> rusqlite::Result<Key> {
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

fn time(secs: i64) -> Utc {
    Utc::from_secs(u64::try_from(secs).unwrap_or(0))
}
