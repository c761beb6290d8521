//! The rows of accounts.
//!
//! Invariant: a row that is changed was whole before, and is sealed again.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::rows::{ACCOUNT, account, all};
use super::seal;
use crate::store::{Account, AccountChange, AccountRef, NewAccount, StoreError};

pub(super) fn add(
    transaction: &Transaction<'_>,
    version: i64,
    new: &NewAccount,
) -> Result<Account, StoreError> {
    let sql = format!(
        "INSERT INTO accounts (name, gateway_plan, explorer_plan, created_at, version)
         VALUES (?1, ?2, ?3, ?4, ?5) RETURNING {ACCOUNT}"
    );
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
}

pub(super) fn list(reader: &Connection) -> Result<Vec<Account>, StoreError> {
    all(reader, &format!("SELECT {ACCOUNT} FROM accounts ORDER BY id"), [], account)
}

pub(super) fn find(reader: &Connection, which: &AccountRef) -> Result<Option<Account>, StoreError> {
    let by_id = format!("SELECT {ACCOUNT} FROM accounts WHERE id = ?1");
    let by_name = format!("SELECT {ACCOUNT} FROM accounts WHERE name = ?1");
    let found = match which {
        AccountRef::Id(id) => reader.query_row(&by_id, [id.cast_signed()], account),
        AccountRef::Name(name) => reader.query_row(&by_name, [name], account),
    };
    Ok(found.optional()?)
}

pub(super) fn change(
    transaction: &Transaction<'_>,
    version: i64,
    id: u64,
    change: &AccountChange,
) -> Result<Option<Account>, StoreError> {
    let sql = format!(
        "UPDATE accounts SET gateway_plan = coalesce(?2, gateway_plan),
             explorer_plan = coalesce(?3, explorer_plan),
             suspended = coalesce(?4, suspended), version = ?5
         WHERE id = ?1 RETURNING {ACCOUNT}"
    );
    seal::check::<Account>(transaction, id)?;
    let AccountChange { gateway_plan, explorer_plan, suspended } = change;
    let row = params![id.cast_signed(), gateway_plan, explorer_plan, suspended, version];
    seal::again(transaction, transaction.query_row(&sql, row, account).optional()?)
}
