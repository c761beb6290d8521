//! Copying into PostgreSQL, and the rows of usage as they stand, for copying out of it.
//!
//! Invariant: a copy is one transaction: it is there as a whole or not at all.

use tokio_postgres::{Row, Transaction};

use super::rows::unsigned;
use super::session::{LONG, READ, Session};
use crate::seal::Sealed;
use crate::store::{Head, Pages, StoreError, StoredRow};

/// Rows of usage in the order of their names, after one of them.
pub(super) fn stored(
    session: &Session,
    after: Option<&StoredRow>,
    most: u32,
) -> Result<Vec<StoredRow>, StoreError> {
    let columns = "SELECT account, key, service, chain, hour, replica, units FROM usage";
    let order = "ORDER BY account, key, service, chain, hour, replica LIMIT";
    let most = i64::from(most);
    session.ask(READ, async |client| {
        let rows = match after {
            None => client.query(&format!("{columns} {order} $1"), &[&most]).await?,
            Some(row) => {
                let sql = format!(
                    "{columns} WHERE (account, key, service, chain, hour, replica)
                         > ($1, $2, $3, $4, $5, $6) {order} $7"
                );
                let StoredRow { account, key, service, chain, hour, replica, .. } = row;
                client.query(&sql, &[account, key, service, chain, hour, replica, &most]).await?
            }
        };
        rows.iter().map(stored_row).collect()
    })
}

fn stored_row(row: &Row) -> Result<StoredRow, StoreError> {
    Ok(StoredRow {
        account: row.try_get(0)?,
        key: row.try_get(1)?,
        service: row.try_get(2)?,
        chain: row.try_get(3)?,
        hour: row.try_get(4)?,
        replica: row.try_get(5)?,
        units: row.try_get(6)?,
    })
}

/// Fills an empty store.
pub(super) fn fill(session: &Session, head: &Head, pages: Pages<'_>) -> Result<(), StoreError> {
    session.ask(LONG, async move |client| {
        let transaction = client.transaction().await?;
        refuse_unless_empty(&transaction).await?;
        // Of accounts that are there no more.
        transaction.batch_execute("DELETE FROM leases; DELETE FROM pots").await?;
        fill_head(&transaction, head).await?;
        let insert = transaction
            .prepare(
                "INSERT INTO usage (account, key, service, chain, hour, replica, units)
                      SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[],
                                           $5::bigint[], $6::bigint[], $7::bigint[])",
            )
            .await?;
        loop {
            let page = pages()?;
            if page.is_empty() {
                break;
            }
            let column = |of: fn(&StoredRow) -> i64| page.iter().map(of).collect::<Vec<i64>>();
            let services: Vec<&str> = page.iter().map(|row| row.service.as_str()).collect();
            let chains: Vec<&str> = page.iter().map(|row| row.chain.as_str()).collect();
            let (accounts, keys) = (column(|row| row.account), column(|row| row.key));
            let (hours, replicas) = (column(|row| row.hour), column(|row| row.replica));
            let units = column(|row| row.units);
            transaction
                .execute(
                    &insert,
                    &[&accounts, &keys, &services, &chains, &hours, &replicas, &units],
                )
                .await?;
        }
        transaction.batch_execute("NOTIFY portolan").await?;
        Ok(transaction.commit().await?)
    })
}

async fn refuse_unless_empty(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    // Nobody adds to it meanwhile.
    transaction.batch_execute("LOCK TABLE meta, accounts, keys, usage IN EXCLUSIVE MODE").await?;
    let count = "SELECT (SELECT count(*) FROM accounts) + (SELECT count(*) FROM keys)
                     + (SELECT count(*) FROM (SELECT 1 FROM usage LIMIT 1) AS one)";
    match unsigned(&transaction.query_one(count, &[]).await?, 0)? {
        0 => Ok(()),
        _ => Err(StoreError::NotEmpty),
    }
}

async fn fill_head(transaction: &Transaction<'_>, head: &Head) -> Result<(), StoreError> {
    let version = head.version.cast_signed();
    let update = "UPDATE meta SET value = $2 WHERE name = $1";
    transaction.execute(update, &[&"identity", &head.identity.cast_signed()]).await?;
    transaction.execute(update, &[&"version", &version]).await?;
    let account = transaction
        .prepare(
            "INSERT INTO accounts (id, name, gateway_plan, explorer_plan, suspended,
                                        created_at, version, seal)
                  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        )
        .await?;
    for row in &head.accounts {
        let (id, created_at) = (row.id.cast_signed(), row.created_at.secs().cast_signed());
        let (gateway, explorer) = (&row.gateway_plan, &row.explorer_plan);
        let seal = row.seal();
        transaction
            .execute(
                &account,
                &[&id, &row.name, gateway, explorer, &row.suspended, &created_at, &version, &seal],
            )
            .await?;
    }
    let key = transaction
        .prepare(
            "INSERT INTO keys (id, account, digest, prefix, label, daily_cap, expires_at,
                                    revoked, scopes, created_at, version, seal)
                  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        )
        .await?;
    for row in &head.keys {
        let [id, account] = [row.id, row.account].map(u64::cast_signed);
        let cap = row.daily_cap.map(u64::cast_signed);
        let ends = row.expires_at.map(|at| at.secs().cast_signed());
        let (scopes, created_at) = (row.scopes.to_text(), row.created_at.secs().cast_signed());
        let (digest, seal) = (row.digest.as_slice(), row.seal());
        transaction
            .execute(
                &key,
                &[
                    &id,
                    &account,
                    &digest,
                    &row.prefix,
                    &row.label,
                    &cap,
                    &ends,
                    &row.revoked,
                    &scopes,
                    &created_at,
                    &version,
                    &seal,
                ],
            )
            .await?;
    }
    // Numbers are never given twice.
    let go_on = "SELECT setval(pg_get_serial_sequence('accounts', 'id'), max(id)) FROM accounts
                     HAVING max(id) IS NOT NULL;
                 SELECT setval(pg_get_serial_sequence('keys', 'id'), max(id)) FROM keys
                     HAVING max(id) IS NOT NULL";
    Ok(transaction.batch_execute(go_on).await?)
}
