//! Copying into SQLite, and the rows of usage as they stand, for copying out of it.
//!
//! Invariant: a copy is one transaction: it is there as a whole or not at all.

use rusqlite::{Connection, Row, Transaction, params};

use super::rows::all;
use super::seal;
use crate::store::{Head, Pages, StoreError, StoredRow};

/// Rows of usage in the order of their names, after one of them.
pub(super) fn stored(
    connection: &Connection,
    after: Option<&StoredRow>,
    most: u32,
) -> Result<Vec<StoredRow>, StoreError> {
    let columns = "SELECT account, key, service, chain, hour, replica, units FROM usage";
    let order = "ORDER BY account, key, service, chain, hour, replica LIMIT";
    match after {
        None => all(connection, &format!("{columns} {order} ?1"), [most], stored_row),
        Some(row) => {
            let sql = format!(
                "{columns} WHERE (account, key, service, chain, hour, replica)
                     > (?1, ?2, ?3, ?4, ?5, ?6) {order} ?7"
            );
            let StoredRow { account, key, service, chain, hour, replica, .. } = row;
            let name = params![account, key, service, chain, hour, replica, most];
            all(connection, &sql, name, stored_row)
        }
    }
}

fn stored_row(row: &Row<'_>) -> rusqlite::Result<StoredRow> {
    Ok(StoredRow {
        account: row.get(0)?,
        key: row.get(1)?,
        service: row.get(2)?,
        chain: row.get(3)?,
        hour: row.get(4)?,
        replica: row.get(5)?,
        units: row.get(6)?,
    })
}

/// Fills an empty store.
pub(super) fn fill(
    transaction: Transaction<'_>,
    head: &Head,
    pages: Pages<'_>,
) -> Result<(), StoreError> {
    let count = "SELECT (SELECT count(*) FROM accounts) + (SELECT count(*) FROM keys)
                     + (SELECT count(*) FROM (SELECT 1 FROM usage LIMIT 1))";
    if transaction.query_row(count, [], |row| row.get::<_, i64>(0))? != 0 {
        return Err(StoreError::NotEmpty);
    }
    fill_head(&transaction, head)?;
    loop {
        let page = pages()?;
        if page.is_empty() {
            return Ok(transaction.commit()?);
        }
        let mut insert = transaction.prepare_cached(
            "INSERT INTO usage (account, key, service, chain, hour, replica, units)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        for StoredRow { account, key, service, chain, hour, replica, units } in &page {
            insert.execute(params![account, key, service, chain, hour, replica, units])?;
        }
    }
}

fn fill_head(transaction: &Transaction<'_>, head: &Head) -> Result<(), StoreError> {
    let version = head.version.cast_signed();
    let update = "UPDATE meta SET value = ?2 WHERE name = ?1";
    transaction.execute(update, params!["identity", head.identity.cast_signed()])?;
    transaction.execute(update, params!["version", version])?;
    for row in &head.accounts {
        transaction.execute(
            "INSERT INTO accounts (id, name, gateway_plan, explorer_plan, suspended, created_at,
                                   version)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                row.id.cast_signed(),
                row.name,
                row.gateway_plan,
                row.explorer_plan,
                row.suspended,
                row.created_at.secs().cast_signed(),
                version,
            ],
        )?;
        seal::seal(transaction, row)?;
    }
    for row in &head.keys {
        transaction.execute(
            "INSERT INTO keys (id, account, digest, prefix, label, daily_cap, expires_at, revoked,
                               scopes, created_at, version)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            params![
                row.id.cast_signed(),
                row.account.cast_signed(),
                row.digest,
                row.prefix,
                row.label,
                row.daily_cap.map(u64::cast_signed),
                row.expires_at.map(|at| at.secs().cast_signed()),
                row.revoked,
                row.scopes.to_text(),
                row.created_at.secs().cast_signed(),
                version,
            ],
        )?;
        seal::seal(transaction, row)?;
    }
    Ok(())
}
