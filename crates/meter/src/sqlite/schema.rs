//! Making the tables, bringing those of an older version up to date, and refusing files that are
//! not ours.
//!
//! The number of the schema is SQLite's own `user_version`; files of schemas 1 and 2 have it in
//! `meta` alone, where programs of that time look, so it stands there too. Invariant: a file that
//! another program or a newer version made is left as it is, and one of an older version is brought
//! up step by step in one transaction.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::{seal, told};
use crate::store::StoreError;

/// What leads from one schema to the next.
type Step = fn(&Transaction<'_>) -> Result<(), StoreError>;
/// The steps, from the first schema on; a new one is added at the end.
const STEPS: [Step; 2] = [seal::begin, name_replicas];
/// The schema that this program reads and writes.
pub(super) const SCHEMA: i64 = 1 + STEPS.len() as i64;
/// "PTLN" in SQLite's file header, which tells our files from others.
pub(super) const APPLICATION: i64 = 0x5054_4c4e;

/// Makes the tables in an empty file, or checks that they are ours.
pub(super) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let told = |error| told(error, path);
    // Under the write lock: two processes may open a new store at once.
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(told)?;
    let application: i64 = transaction.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let tables: i64 =
        transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application, tables) {
        (0, 0) => {
            transaction.execute_batch(include_str!("schema.sql"))?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            let insert = "INSERT INTO meta VALUES ('schema', 1), ('version', 1), ('identity', ?1)";
            transaction.execute(insert, [identity()?])?;
            bring_up(&transaction, 1)?;
        }
        (APPLICATION, _) => bring_up(&transaction, found_schema(&transaction)?)?,
        _ => return Err(StoreError::Foreign("it holds another program's tables".to_owned())),
    }
    transaction.commit().map_err(told)?;
    // Outside a transaction, and kept in the file from then on.
    connection.pragma_update(None, "journal_mode", "WAL").map_err(told)?;
    Ok(())
}

/// Refuses a file whose tables cannot be used as they are.
pub(super) fn must_be_ours(connection: &Connection) -> Result<(), StoreError> {
    let application: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    match application == APPLICATION && found_schema(connection)? == SCHEMA {
        true => Ok(()),
        false => Err(StoreError::Foreign("its tables are still to be made".to_owned())),
    }
}

/// The schema of a file of ours.
fn found_schema(connection: &Connection) -> Result<i64, StoreError> {
    let numbered: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let told: Option<i64> = connection
        .query_row("SELECT value FROM meta WHERE name = 'schema'", [], |row| row.get(0))
        .optional()?;
    match told.map(|told| told.max(numbered)) {
        Some(found @ 1..=SCHEMA) => Ok(found),
        Some(found) if found > SCHEMA => Err(StoreError::Newer { found, known: SCHEMA }),
        _ => Err(StoreError::Foreign("it says no schema version".to_owned())),
    }
}

/// Takes the steps from schema `from` to ours.
fn bring_up(transaction: &Transaction<'_>, from: i64) -> Result<(), StoreError> {
    let taken = usize::try_from(from - 1).unwrap_or(0);
    STEPS.iter().skip(taken).try_for_each(|step| step(transaction))?;
    if from < SCHEMA {
        transaction.execute("UPDATE meta SET value = ?1 WHERE name = 'schema'", [SCHEMA])?;
        transaction.pragma_update(None, "user_version", SCHEMA)?;
    }
    Ok(())
}

/// Names usage rows by their replica (schema 3). A primary key cannot be changed in place.
fn name_replicas(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    transaction.execute_batch(include_str!("replicas.sql"))?;
    Ok(())
}

fn identity() -> Result<i64, StoreError> {
    let random = getrandom::u64().map_err(|error| StoreError::Failed(error.to_string()))?;
    Ok(random.cast_signed())
}
