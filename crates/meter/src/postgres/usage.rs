//! Rows of usage in PostgreSQL.
//!
//! Leaves their copying, as they stand, to `fill`.

use std::ops::Range;

use tokio_postgres::Row;

use super::rows::unsigned;
use super::session::{SHORT, Session};
use crate::store::{ChainName, CountedRow, RowName, StoreError, Total, UsageRow};
use crate::{Replica, Service};

/// Writes rows of a replica with their whole amount.
pub(super) fn record(
    session: &Session,
    service: Service,
    replica: Replica,
    rows: &[UsageRow],
) -> Result<(), StoreError> {
    let sql = "INSERT INTO usage (account, key, service, chain, hour, replica, units)
               SELECT account, key, $5, chain, hour, $6, units
               FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $7::bigint[])
                   AS given (account, key, chain, hour, units)
               ON CONFLICT (account, key, service, chain, hour, replica)
               DO UPDATE SET units = excluded.units";
    let column = |of: fn(&UsageRow) -> u64| -> Vec<i64> {
        rows.iter().map(|row| of(row).cast_signed()).collect()
    };
    let accounts = column(|row| row.name.account);
    let keys = column(|row| row.name.key);
    let chains: Vec<&str> = rows.iter().map(|row| row.name.chain.as_str()).collect();
    let hours = column(|row| row.name.hour.into());
    let units = column(|row| row.units);
    let (service, replica) = (service.as_str(), replica.number().cast_signed());
    session.ask(SHORT, async |client| {
        client
            .execute(sql, &[&accounts, &keys, &chains, &hours, &service, &replica, &units])
            .await?;
        Ok(())
    })
}

/// Units of one row, 0 if it is not there.
pub(super) fn recorded(
    session: &Session,
    service: Service,
    replica: Replica,
    row: RowName,
) -> Result<u64, StoreError> {
    let sql = "SELECT units FROM usage
               WHERE account = $1 AND key = $2 AND service = $3 AND chain = $4 AND hour = $5
                   AND replica = $6";
    let [account, key] = [row.account, row.key].map(u64::cast_signed);
    let (chain, hour) = (row.chain.as_str(), i64::from(row.hour));
    let (service, replica) = (service.as_str(), replica.number().cast_signed());
    let units = session
        .all(sql, &[&account, &key, &service, &chain, &hour, &replica], |row| unsigned(row, 0))?;
    Ok(units.first().copied().unwrap_or(0))
}

/// Rows of an account from an hour on, oldest first.
pub(super) fn of_account(
    session: &Session,
    account: u64,
    from_hour: u32,
) -> Result<Vec<CountedRow>, StoreError> {
    let sql = "SELECT account, key, service, chain, hour, units, replica FROM usage
               WHERE account = $1 AND hour >= $2 ORDER BY hour, key, service, chain, replica";
    let of = (account.cast_signed(), i64::from(from_hour));
    let rows = session.all(sql, &[&of.0, &of.1], usage_row)?;
    // A service or chain that this program does not know is left out, not an error.
    Ok(rows.into_iter().flatten().collect())
}

/// Sums of a range of hours for each account and key.
pub(super) fn totals(
    session: &Session,
    service: Service,
    hours: Range<u32>,
) -> Result<Vec<Total>, StoreError> {
    let sql = "SELECT account, key, sum(units)::bigint FROM usage
               WHERE service = $1 AND hour >= $2 AND hour < $3 GROUP BY account, key";
    let (from, to) = (i64::from(hours.start), i64::from(hours.end));
    session.all(sql, &[&service.as_str(), &from, &to], |row| {
        let (account, key) = (unsigned(row, 0)?, unsigned(row, 1)?);
        Ok(Total { account, key, units: unsigned(row, 2)? })
    })
}

/// The latest hour that has a row.
pub(super) fn last_hour(session: &Session, service: Service) -> Result<Option<u32>, StoreError> {
    let sql = "SELECT max(hour) FROM usage WHERE service = $1";
    let last = session.all(sql, &[&service.as_str()], |row| Ok(row.try_get(0)?))?;
    let hour: Option<i64> = last.into_iter().next().flatten();
    Ok(hour.and_then(|hour| u32::try_from(hour).ok()))
}

fn usage_row(row: &Row) -> Result<Option<CountedRow>, StoreError> {
    let service = Service::from_name(row.try_get(2)?);
    let chain = ChainName::new(row.try_get(3)?);
    let hour = u32::try_from(row.try_get::<_, i64>(4)?);
    let (Some(service), Some(chain), Ok(hour)) = (service, chain, hour) else { return Ok(None) };
    let name = RowName { hour, account: unsigned(row, 0)?, key: unsigned(row, 1)?, chain };
    Ok(Some(CountedRow {
        service,
        replica: Replica::from_number(unsigned(row, 6)?),
        row: UsageRow { name, units: unsigned(row, 5)? },
    }))
}
