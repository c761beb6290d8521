//! Rows of usage in SQLite.
//!
//! Leaves their copying, as they stand, to `fill`.

use std::ops::Range;

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use super::rows::all;
use crate::store::{ChainName, CountedRow, RowName, StoreError, Total, UsageRow};
use crate::{Replica, Service};

/// Writes rows of a replica with their whole amount.
pub(super) fn record(
    connection: &mut Connection,
    service: Service,
    replica: Replica,
    rows: &[UsageRow],
) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let mut upsert = transaction.prepare_cached(
            "INSERT INTO usage (account, key, service, chain, hour, replica, units)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT DO UPDATE SET units = excluded.units",
        )?;
        for UsageRow { name, units } in rows {
            upsert.execute(params![
                name.account.cast_signed(),
                name.key.cast_signed(),
                service.as_str(),
                name.chain.as_str(),
                name.hour,
                replica.number().cast_signed(),
                units.cast_signed(),
            ])?;
        }
    }
    transaction.commit()
}

/// Units of one row, 0 if it is not there.
pub(super) fn recorded(
    connection: &Connection,
    service: Service,
    replica: Replica,
    row: RowName,
) -> Result<u64, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT units FROM usage
         WHERE account = ?1 AND key = ?2 AND service = ?3 AND chain = ?4 AND hour = ?5
             AND replica = ?6",
    )?;
    let name = params![
        row.account.cast_signed(),
        row.key.cast_signed(),
        service.as_str(),
        row.chain.as_str(),
        row.hour,
        replica.number().cast_signed(),
    ];
    let units: Option<i64> = select.query_row(name, |row| row.get(0)).optional()?;
    Ok(units.unwrap_or(0).cast_unsigned())
}

/// Rows of an account from an hour on, oldest first.
pub(super) fn of_account(
    connection: &Connection,
    account: u64,
    from_hour: u32,
) -> Result<Vec<CountedRow>, StoreError> {
    let sql = "SELECT account, key, service, chain, hour, units, replica FROM usage
               WHERE account = ?1 AND hour >= ?2 ORDER BY hour, key, service, chain, replica";
    let rows = all(connection, sql, params![account.cast_signed(), from_hour], usage_row)?;
    // A service or chain that this program does not know is left out, not an error.
    Ok(rows.into_iter().flatten().collect())
}

/// Sums of a range of hours for each account and key.
pub(super) fn totals(
    connection: &Connection,
    service: Service,
    hours: Range<u32>,
) -> Result<Vec<Total>, StoreError> {
    let sql = "SELECT account, key, sum(units) FROM usage
               WHERE service = ?1 AND hour >= ?2 AND hour < ?3 GROUP BY account, key";
    let of = params![service.as_str(), hours.start, hours.end];
    all(connection, sql, of, |row| {
        Ok(Total {
            account: row.get::<_, i64>(0)?.cast_unsigned(),
            key: row.get::<_, i64>(1)?.cast_unsigned(),
            units: row.get::<_, i64>(2)?.cast_unsigned(),
        })
    })
}

/// The latest hour that has a row.
pub(super) fn last_hour(
    connection: &Connection,
    service: Service,
) -> Result<Option<u32>, StoreError> {
    let sql = "SELECT max(hour) FROM usage WHERE service = ?1";
    Ok(connection.query_row(sql, [service.as_str()], |row| row.get(0))?)
}

fn usage_row(row: &Row<'_>) -> rusqlite::Result<Option<CountedRow>> {
    let service = Service::from_name(&row.get::<_, String>(2)?);
    let chain = ChainName::new(&row.get::<_, String>(3)?);
    let (Some(service), Some(chain)) = (service, chain) else { return Ok(None) };
    let name = RowName {
        hour: row.get(4)?,
        account: row.get::<_, i64>(0)?.cast_unsigned(),
        key: row.get::<_, i64>(1)?.cast_unsigned(),
        chain,
    };
    Ok(Some(CountedRow {
        service,
        replica: Replica::from_number(row.get::<_, i64>(6)?.cast_unsigned()),
        row: UsageRow { name, units: row.get::<_, i64>(5)?.cast_unsigned() },
    }))
}
