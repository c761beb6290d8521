//! Rows of PostgreSQL and what they say: accounts, keys, numbers.
//!
//! Leaves rows of usage to `usage`, and whether a row is whole to `seal`.

use tokio_postgres::Row;

use crate::store::{Account, Key, StoreError};
use crate::{Scopes, Utc};

/// Columns of an account, in the order in which they are read.
pub(super) const ACCOUNT: &str = "id, name, gateway_plan, explorer_plan, suspended, created_at";
/// Columns of a key, in the order in which they are read.
pub(super) const KEY: &str =
    "id, account, digest, prefix, label, daily_cap, expires_at, revoked, scopes, created_at";

/// Reads the columns of [`ACCOUNT`].
pub(super) fn account(row: &Row) -> Result<Account, StoreError> {
    Ok(Account {
        id: unsigned(row, 0)?,
        name: row.try_get(1)?,
        gateway_plan: row.try_get(2)?,
        explorer_plan: row.try_get(3)?,
        suspended: row.try_get(4)?,
        created_at: time(row.try_get(5)?),
    })
}

/// Reads the columns of [`KEY`].
pub(super) fn key(row: &Row) -> Result<Key, StoreError> {
    let digest: &[u8] = row.try_get(2)?;
    let odd = || StoreError::Damaged("a digest that is none".to_owned());
    Ok(Key {
        id: unsigned(row, 0)?,
        account: unsigned(row, 1)?,
        digest: digest.try_into().map_err(|_| odd())?,
        prefix: row.try_get(3)?,
        label: row.try_get(4)?,
        daily_cap: row.try_get::<_, Option<i64>>(5)?.map(i64::cast_unsigned),
        expires_at: row.try_get::<_, Option<i64>>(6)?.map(time),
        revoked: row.try_get(7)?,
        scopes: Scopes::from_text(row.try_get(8)?),
        created_at: time(row.try_get(9)?),
    })
}

/// Reads a number, whose highest bit stands in the sign of its column.
pub(super) fn unsigned(row: &Row, place: usize) -> Result<u64, StoreError> {
    Ok(row.try_get::<_, i64>(place)?.cast_unsigned())
}

fn time(secs: i64) -> Utc {
    Utc::from_secs(u64::try_from(secs).unwrap_or(0))
}
