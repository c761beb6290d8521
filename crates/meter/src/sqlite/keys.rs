//! The rows of keys.
//!
//! Invariant: a row that is changed was whole before, and is sealed again.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::rows::{KEY, all, key};
use super::seal;
use crate::Utc;
use crate::store::{Key, KeyChange, NewKey, StoreError};

pub(super) fn add(
    transaction: &Transaction<'_>,
    version: i64,
    new: &NewKey,
) -> Result<Key, StoreError> {
    let sql = format!(
        "INSERT INTO keys (account, digest, prefix, label, daily_cap, expires_at, scopes,
                           created_at, version)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) RETURNING {KEY}"
    );
    let row = params![
        new.account.cast_signed(),
        new.digest,
        new.prefix,
        new.label,
        new.daily_cap.map(u64::cast_signed),
        new.expires_at.map(|at| at.secs().cast_signed()),
        new.scopes.to_text(),
        new.created_at.secs().cast_signed(),
        version,
    ];
    let added = transaction.query_row(&sql, row, key)?;
    seal::seal(transaction, &added)?;
    Ok(added)
}

pub(super) fn of_account(reader: &Connection, account: u64) -> Result<Vec<Key>, StoreError> {
    let sql = format!("SELECT {KEY} FROM keys WHERE account = ?1 ORDER BY id");
    all(reader, &sql, [account.cast_signed()], key)
}

pub(super) fn find(reader: &Connection, id: u64) -> Result<Option<Key>, StoreError> {
    let sql = format!("SELECT {KEY} FROM keys WHERE id = ?1");
    Ok(reader.query_row(&sql, [id.cast_signed()], key).optional()?)
}

pub(super) fn change(
    transaction: &Transaction<'_>,
    version: i64,
    id: u64,
    change: &KeyChange,
) -> Result<Option<Key>, StoreError> {
    let (set, cap) = match change {
        KeyChange::Cap(cap) => ("daily_cap = ?3", cap.map(u64::cast_signed)),
        KeyChange::Revoke => ("revoked = 1 + 0 * coalesce(?3, 0)", None),
    };
    let sql = format!("UPDATE keys SET {set}, version = ?2 WHERE id = ?1 RETURNING {KEY}");
    seal::check::<Key>(transaction, id)?;
    let row = params![id.cast_signed(), version, cap];
    seal::again(transaction, transaction.query_row(&sql, row, key).optional()?)
}

/// Ends a key, and adds the one that takes its place.
pub(super) fn replace(
    transaction: &Transaction<'_>,
    version: i64,
    old: u64,
    ends_at: Utc,
    new: &NewKey,
) -> Result<Key, StoreError> {
    let sql = format!(
        "UPDATE keys SET expires_at = min(coalesce(expires_at, ?2), ?2), version = ?3
         WHERE id = ?1 RETURNING {KEY}"
    );
    seal::check::<Key>(transaction, old)?;
    let row = params![old.cast_signed(), ends_at.secs().cast_signed(), version];
    seal::again(transaction, transaction.query_row(&sql, row, key).optional()?)?;
    add(transaction, version, new)
}
