//! Making the tables in PostgreSQL, bringing those of an older version up to date, and refusing
//! what is not ours.
//!
//! Everything is in a schema of its own, `portolan`. Invariants: of several programs that start at
//! once one takes the steps and the others wait for it; a schema that another program or a newer
//! version made is left as it is; all steps are one transaction.

use tokio_postgres::{Client, Transaction};

use super::locks::{LOCKS, STEPPING};
use crate::store::StoreError;

/// The schema's steps, from an empty one on; a new one is added at the end.
pub(super) const STEPS: [&str; 2] =
    [include_str!("0001-tables.sql"), include_str!("0002-leases.sql")];

/// Makes the tables, or takes the steps that are missing.
pub(super) async fn prepare(client: &mut Client, steps: &[&str]) -> Result<(), StoreError> {
    let transaction = client.transaction().await?;
    let lock = "SELECT pg_advisory_xact_lock($1, $2)";
    transaction.execute(lock, &[&LOCKS, &STEPPING]).await?;
    let known = steps.len() as i64;
    let found = match found(&transaction).await? {
        Some(found) if found > known => return Err(StoreError::Newer { found, known }),
        Some(found) => found,
        None => {
            begin(&transaction).await?;
            0
        }
    };
    for step in steps.iter().skip(usize::try_from(found).unwrap_or(0)) {
        transaction.batch_execute(step).await?;
    }
    if found < known {
        let raise = "UPDATE meta SET value = $1 WHERE name = 'schema'";
        transaction.execute(raise, &[&known]).await?;
    }
    Ok(transaction.commit().await?)
}

/// The identity of the store, where the tables are there; nothing is made.
pub(super) async fn look(client: &mut Client) -> Result<Option<u64>, StoreError> {
    let transaction = client.transaction().await?;
    let known = STEPS.len() as i64;
    match found(&transaction).await? {
        None => Ok(None),
        Some(found) if found > known => Err(StoreError::Newer { found, known }),
        Some(_) => {
            let read = "SELECT value FROM meta WHERE name = 'identity'";
            let row = transaction.query_one(read, &[]).await?;
            Ok(Some(row.get::<_, i64>(0).cast_unsigned()))
        }
    }
}

/// The number of the last step that was taken; None where nothing is there.
async fn found(transaction: &Transaction<'_>) -> Result<Option<i64>, StoreError> {
    let count = "SELECT count(*) FROM pg_catalog.pg_class c
                 JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                 WHERE n.nspname = 'portolan'";
    let relations: i64 = transaction.query_one(count, &[]).await?.get(0);
    if relations == 0 {
        return Ok(None);
    }
    let ours = "SELECT to_regclass('portolan.meta') IS NOT NULL";
    if !transaction.query_one(ours, &[]).await?.get::<_, bool>(0) {
        return Err(foreign());
    }
    let read = "SELECT value FROM meta WHERE name = 'schema'";
    let row = transaction.query_opt(read, &[]).await?.ok_or_else(foreign)?;
    Ok(Some(row.get(0)))
}

fn foreign() -> StoreError {
    StoreError::Foreign("its schema \"portolan\" holds another program's tables".to_owned())
}

/// Makes the schema with the table that says which steps were taken.
async fn begin(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    // Where it is there, making it would ask for a right that is not needed.
    let there = "SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = 'portolan'";
    if transaction.query_one(there, &[]).await?.get::<_, i64>(0) == 0 {
        transaction.batch_execute("CREATE SCHEMA portolan").await?;
    }
    let make = "CREATE TABLE meta (name TEXT PRIMARY KEY, value BIGINT NOT NULL)";
    transaction.batch_execute(make).await?;
    let identity = getrandom::u64().map_err(|error| StoreError::Failed(error.to_string()))?;
    let fill = "INSERT INTO meta VALUES ('schema', 0), ('version', 1), ('identity', $1)";
    transaction.execute(fill, &[&identity.cast_signed()]).await?;
    Ok(())
}
