//! Lending units in PostgreSQL.
//!
//! Invariants: leases of a pot change only while its row is locked, in the order of pots' names, so
//! that nobody waits for each other; the first one who asks for a pot writes down what all replicas
//! have used of it until then.

use std::collections::HashSet;
use std::ops::Range;

use tokio_postgres::Transaction;
use tokio_postgres::types::ToSql;

use super::session::{LONG, SHORT};
use super::{Postgres, unsigned};
use crate::store::lender::{
    Ask, KEPT_STAMPS, Kind, Lender, Lent, LiveReplicas, PotName, SILENCE, lent,
};
use crate::store::{StoreError, Total};
use crate::{Replica, Service};

/// Names of pots as columns.
struct Names {
    kinds: Vec<&'static str>,
    subjects: Vec<i64>,
    stamps: Vec<i64>,
}

impl Names {
    fn of(asks: &[Ask]) -> Names {
        Names {
            kinds: asks.iter().map(|ask| ask.pot.kind.as_str()).collect(),
            subjects: asks.iter().map(|ask| ask.pot.subject.cast_signed()).collect(),
            stamps: asks.iter().map(|ask| ask.pot.stamp.into()).collect(),
        }
    }
}

impl Lender for Postgres {
    fn lend(
        &self,
        service: Service,
        replica: Replica,
        live: u32,
        asks: &[Ask],
    ) -> Result<Vec<Lent>, StoreError> {
        let (names, replica) = (Names::of(asks), replica.number().cast_signed());
        self.session.ask(SHORT, async |client| {
            let transaction = client.transaction().await?;
            let new = lock(&transaction, service, &names).await?;
            for ask in asks.iter().filter(|ask| new.contains(&key(ask.pot))) {
                begin(&transaction, service, ask.pot).await?;
            }
            let others = others(&transaction, service, replica, &names).await?;
            let lent: Vec<Lent> = asks
                .iter()
                .zip(others)
                .map(|(ask, others)| Lent { mine: lent(ask, others, live), others })
                .collect();
            write(&transaction, service, replica, &names, &lent).await?;
            transaction.commit().await?;
            Ok(lent)
        })
    }

    fn settle(&self, service: Service, replica: Replica) -> Result<(), StoreError> {
        let (service, replica) = (service.as_str(), replica.number().cast_signed());
        let stamps = "SELECT DISTINCT kind, stamp FROM leases WHERE service = $1 AND replica = $2";
        self.session.ask(LONG, async |client| {
            let transaction = client.transaction().await?;
            for row in transaction.query(stamps, &[&service, &replica]).await? {
                let (kind, stamp): (String, i64) = (row.try_get(0)?, row.try_get(1)?);
                settle(&transaction, service, replica, &kind, stamp).await?;
            }
            Ok(transaction.commit().await?)
        })
    }

    fn tidy(&self, service: Service, day: u32) -> Result<(), StoreError> {
        let service = service.as_str();
        self.session.ask(SHORT, async |client| {
            for kind in [Kind::Month, Kind::Day, Kind::KeyDay] {
                let first = i64::from(kind.stamp_of_day(day).saturating_sub(KEPT_STAMPS));
                for table in ["leases", "pots"] {
                    let delete = format!(
                        "DELETE FROM {table} WHERE service = $1 AND kind = $2 AND stamp < $3"
                    );
                    client.execute(&delete, &[&service, &kind.as_str(), &first]).await?;
                }
            }
            Ok(())
        })
    }

    fn beat(
        &self,
        service: Service,
        replica: Replica,
        live: bool,
    ) -> Result<LiveReplicas, StoreError> {
        let (service, replica) = (service.as_str(), replica.number().cast_signed());
        let beat = "UPDATE replicas SET live = $3, heard = clock_timestamp()
                    WHERE service = $1 AND replica = $2";
        let count = "SELECT count(*), count(*) FILTER (WHERE replica < $2) FROM replicas
                     WHERE service = $1 AND (replica = $2 OR live
                         AND heard > clock_timestamp() - $3::bigint * interval '1 second')";
        let silence = SILENCE.as_secs().cast_signed();
        self.session.ask(SHORT, async |client| {
            client.execute(beat, &[&service, &replica, &live]).await?;
            let row = client.query_one(count, &[&service, &replica, &silence]).await?;
            let number = |place| -> Result<u32, StoreError> {
                Ok(u32::try_from(unsigned(&row, place)?).unwrap_or(u32::MAX))
            };
            Ok(LiveReplicas { live: number(0)?.max(1), place: number(1)? })
        })
    }

    fn own_totals(
        &self,
        service: Service,
        replica: Replica,
        hours: Range<u32>,
    ) -> Result<Vec<Total>, StoreError> {
        let sql = "SELECT account, key, sum(units)::bigint FROM usage
                   WHERE service = $1 AND replica = $2 AND hour >= $3 AND hour < $4
                   GROUP BY account, key";
        let (from, to) = (i64::from(hours.start), i64::from(hours.end));
        let replica = replica.number().cast_signed();
        self.session.all(sql, &[&service.as_str(), &replica, &from, &to], |row| {
            let (account, key) = (unsigned(row, 0)?, unsigned(row, 1)?);
            Ok(Total { account, key, units: unsigned(row, 2)? })
        })
    }
}

/// A pot's kind, subject and stamp in rows.
type Key = (String, i64, i64);

fn key(pot: PotName) -> Key {
    (pot.kind.as_str().to_owned(), pot.subject.cast_signed(), pot.stamp.into())
}

/// Locks the rows of pots, in the order in which they are given; says which were not there.
async fn lock(
    transaction: &Transaction<'_>,
    service: Service,
    Names { kinds, subjects, stamps }: &Names,
) -> Result<HashSet<Key>, StoreError> {
    let sql = "INSERT INTO pots (service, kind, subject, stamp)
               SELECT $1, kind, subject, stamp
               FROM unnest($2::text[], $3::bigint[], $4::bigint[])
                   WITH ORDINALITY AS asked (kind, subject, stamp, place) ORDER BY place
               ON CONFLICT (service, kind, subject, stamp) DO UPDATE SET stamp = excluded.stamp
               RETURNING kind, subject, stamp, xmax = 0";
    let params: &[&(dyn ToSql + Sync)] = &[&service.as_str(), kinds, subjects, stamps];
    let mut new = HashSet::new();
    for row in transaction.query(sql, params).await? {
        if row.try_get(3)? {
            new.insert((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
        }
    }
    Ok(new)
}

/// Writes down what each replica has used of a pot that nobody had asked for.
async fn begin(
    transaction: &Transaction<'_>,
    service: Service,
    PotName { kind, subject, stamp }: PotName,
) -> Result<(), StoreError> {
    let column = column(kind.as_str());
    let sql = format!(
        "INSERT INTO leases (service, kind, subject, stamp, replica, units)
         SELECT $1, $2, $3, $4, replica, sum(units)::bigint FROM usage
         WHERE service = $1 AND {column} = $3 AND hour >= $5 AND hour < $6 GROUP BY replica
         ON CONFLICT DO NOTHING"
    );
    let hours = kind.hours(stamp);
    let (from, to) = (i64::from(hours.start), i64::from(hours.end));
    let (subject, stamp) = (subject.cast_signed(), i64::from(stamp));
    let (service, kind) = (service.as_str(), kind.as_str());
    transaction.execute(&sql, &[&service, &kind, &subject, &stamp, &from, &to]).await?;
    Ok(())
}

/// What the other replicas are lent of each.
async fn others(
    transaction: &Transaction<'_>,
    service: Service,
    replica: i64,
    Names { kinds, subjects, stamps }: &Names,
) -> Result<Vec<u64>, StoreError> {
    let sql = "SELECT coalesce(sum(lease.units), 0)::bigint
               FROM unnest($3::text[], $4::bigint[], $5::bigint[])
                   WITH ORDINALITY AS asked (kind, subject, stamp, place)
               LEFT JOIN leases lease ON lease.service = $1 AND lease.replica <> $2
                   AND lease.kind = asked.kind AND lease.subject = asked.subject
                   AND lease.stamp = asked.stamp
               GROUP BY place ORDER BY place";
    let params: &[&(dyn ToSql + Sync)] = &[&service.as_str(), &replica, kinds, subjects, stamps];
    transaction.query(sql, params).await?.iter().map(|row| unsigned(row, 0)).collect()
}

async fn write(
    transaction: &Transaction<'_>,
    service: Service,
    replica: i64,
    Names { kinds, subjects, stamps }: &Names,
    lent: &[Lent],
) -> Result<(), StoreError> {
    let sql = "INSERT INTO leases (service, kind, subject, stamp, replica, units)
               SELECT $1, kind, subject, stamp, $2, units
               FROM unnest($3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
                   AS lent (kind, subject, stamp, units)
               ON CONFLICT (service, kind, subject, stamp, replica)
               DO UPDATE SET units = excluded.units";
    let units: Vec<i64> = lent.iter().map(|lent| lent.mine.cast_signed()).collect();
    let params: &[&(dyn ToSql + Sync)] =
        &[&service.as_str(), &replica, kinds, subjects, stamps, &units];
    transaction.execute(sql, params).await?;
    Ok(())
}

/// Lowers what a replica is lent of a stamp to what it has used.
async fn settle(
    transaction: &Transaction<'_>,
    service: &str,
    replica: i64,
    kind: &str,
    stamp: i64,
) -> Result<(), StoreError> {
    let kinds = [Kind::Month, Kind::Day, Kind::KeyDay];
    let known = kinds.into_iter().find(|known| known.as_str() == kind);
    // One that a later program knows is left alone.
    let (Some(known), Ok(number)) = (known, u32::try_from(stamp)) else { return Ok(()) };
    let nothing = "UPDATE leases SET units = 0
                   WHERE service = $1 AND replica = $2 AND kind = $3 AND stamp = $4";
    transaction.execute(nothing, &[&service, &replica, &kind, &stamp]).await?;
    let column = column(kind);
    let used = format!(
        "UPDATE leases lease SET units = own.units
         FROM (SELECT {column} AS subject, sum(units)::bigint AS units FROM usage
               WHERE service = $1 AND replica = $2 AND hour >= $5 AND hour < $6
               GROUP BY {column}) AS own
         WHERE lease.service = $1 AND lease.replica = $2 AND lease.kind = $3 AND lease.stamp = $4
             AND lease.subject = own.subject"
    );
    let hours = known.hours(number);
    let (from, to) = (i64::from(hours.start), i64::from(hours.end));
    transaction.execute(&used, &[&service, &replica, &kind, &stamp, &from, &to]).await?;
    Ok(())
}

/// Whose number the subject of a pot is.
fn column(kind: &str) -> &'static str {
    if kind == Kind::KeyDay.as_str() { "key" } else { "account" }
}
