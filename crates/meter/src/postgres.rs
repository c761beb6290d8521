//! The store in PostgreSQL, for several machines.
//!
//! The only place beside `sqlite` that knows SQL. What stands in a row, and when a version is raised,
//! is the same in both. Invariants: a change and the raised version are one transaction, committed
//! before it returns, and every process that listens is told of it by the same commit; nothing on the
//! path of a request waits for this store.

use std::ops::Range;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use tokio_postgres::types::ToSql;
use tokio_postgres::{GenericClient, Row, Transaction};

use crate::seal::Sealed;
use crate::store::{
    Account, AccountChange, AccountRef, Bell, ChainName, Changes, CountedRow, Head, Key, KeyChange,
    NewAccount, NewKey, Pages, RowName, Store, StoreError, StoredRow, Total, UsageRow,
};
use crate::{Replica, Scopes, Service, Utc};

mod address;
mod fill;
mod hold;
mod schema;
mod seal;
mod session;

pub use address::{AddressError, PostgresAddress};
use hold::Hold;
use session::{LONG, READ, SHORT, Session};

const ACCOUNT: &str = "id, name, gateway_plan, explorer_plan, suspended, created_at";
const KEY: &str = "id, account, digest, prefix, label, daily_cap, expires_at, revoked, scopes, \
                   created_at";

/// Accounts, keys and usage in a PostgreSQL.
#[derive(Debug)]
pub(crate) struct Postgres {
    session: Session,
}

impl Postgres {
    /// Connects, and makes or brings up the tables.
    pub(crate) fn open(address: PostgresAddress) -> Result<Postgres, StoreError> {
        let session = Session::new(address)?;
        session.ask(LONG, async |client| schema::prepare(client, &schema::STEPS).await)?;
        Ok(Postgres { session })
    }

    /// Runs a change of accounts or keys under a raised version, and tells everybody.
    fn change<T: Send>(
        &self,
        change: impl AsyncFnOnce(&Transaction<'_>, i64) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        self.session.ask(SHORT, async |client| {
            let transaction = client.transaction().await?;
            let raise = "UPDATE meta SET value = value + 1 WHERE name = 'version' RETURNING value";
            let version: i64 = transaction.query_one(raise, &[]).await?.try_get(0)?;
            let changed = change(&transaction, version).await?;
            transaction.batch_execute("NOTIFY portolan").await?;
            transaction.commit().await?;
            Ok(changed)
        })
    }

    fn all<T: Send>(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
        read: impl Fn(&Row) -> Result<T, StoreError> + Sync,
    ) -> Result<Vec<T>, StoreError> {
        self.session
            .ask(LONG, async |client| client.query(sql, params).await?.iter().map(&read).collect())
    }

    /// Another process counts what this one was to count: nothing it knows holds.
    fn lost(&self) -> Option<StoreError> {
        let holds = self.session.holds.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = |service: &Service| holds[service.place()] == Hold::Lost;
        let service = Service::ALL.into_iter().find(lost)?;
        Some(StoreError::Counted { service, by: "another process, meanwhile".to_owned() })
    }
}

impl Store for Postgres {
    fn identity(&self) -> Result<u64, StoreError> {
        self.session.ask(SHORT, async |client| meta(client, "identity").await)
    }

    fn version(&self) -> Result<u64, StoreError> {
        let version = self.session.ask(SHORT, async |client| meta(client, "version").await)?;
        self.lost().map_or(Ok(version), Err)
    }

    /// Changes are told by the bell; only that a service was lost must not wait for it.
    fn changed(&self) -> u64 {
        self.session.lost.load(Ordering::Acquire)
    }

    fn on_change(&self, bell: Bell) {
        self.session.set_bell(bell);
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn hold(&self, service: Service) -> Result<(), StoreError> {
        let hold = self.session.ask(LONG, async |client| hold::take(client, service).await)?;
        let mut holds = self.session.holds.lock().unwrap_or_else(PoisonError::into_inner);
        holds[service.place()] = hold;
        Ok(())
    }

    fn changes_after(&self, version: u64) -> Result<Changes, StoreError> {
        let after = version.cast_signed();
        self.session.ask(READ, async |client| {
            // One snapshot, so that every key's account is among the accounts told so far.
            let snapshot = client
                .build_transaction()
                .isolation_level(tokio_postgres::IsolationLevel::RepeatableRead)
                .read_only(true)
                .start()
                .await?;
            let mut damaged = Vec::new();
            Ok(Changes {
                version: meta(&snapshot, "version").await?,
                accounts: seal::changed(&snapshot, after, &mut damaged).await?,
                keys: seal::changed(&snapshot, after, &mut damaged).await?,
                damaged,
            })
        })
    }

    fn add_account(&self, new: &NewAccount) -> Result<Account, StoreError> {
        let sql = format!(
            "INSERT INTO accounts (name, gateway_plan, explorer_plan, created_at, version, seal)
             VALUES ($1, $2, $3, $4, $5, 0) ON CONFLICT ON CONSTRAINT accounts_name DO NOTHING
             RETURNING {ACCOUNT}"
        );
        self.change(async |transaction, version| {
            let created_at = new.created_at.secs().cast_signed();
            let added = transaction
                .query_opt(
                    &sql,
                    &[&new.name, &new.gateway_plan, &new.explorer_plan, &created_at, &version],
                )
                .await?
                .ok_or_else(|| StoreError::NameTaken(new.name.clone()))?;
            let added = account(&added)?;
            seal::seal(transaction, &added).await?;
            Ok(added)
        })
    }

    fn accounts(&self) -> Result<Vec<Account>, StoreError> {
        self.all(&format!("SELECT {ACCOUNT} FROM accounts ORDER BY id"), &[], account)
    }

    fn account(&self, which: &AccountRef) -> Result<Option<Account>, StoreError> {
        let select = format!("SELECT {ACCOUNT} FROM accounts");
        let found = match which {
            AccountRef::Id(id) => {
                self.all(&format!("{select} WHERE id = $1"), &[&id.cast_signed()], account)
            }
            AccountRef::Name(name) => {
                self.all(&format!("{select} WHERE name = $1"), &[name], account)
            }
        };
        Ok(found?.pop())
    }

    fn change_account(
        &self,
        id: u64,
        change: &AccountChange,
    ) -> Result<Option<Account>, StoreError> {
        let sql = format!(
            "UPDATE accounts SET gateway_plan = coalesce($2, gateway_plan),
                 explorer_plan = coalesce($3, explorer_plan),
                 suspended = coalesce($4, suspended), version = $5
             WHERE id = $1 RETURNING {ACCOUNT}"
        );
        self.change(async |transaction, version| {
            seal::check::<Account>(transaction, id).await?;
            let AccountChange { gateway_plan, explorer_plan, suspended } = change;
            let id = id.cast_signed();
            let changed = transaction
                .query_opt(&sql, &[&id, gateway_plan, explorer_plan, suspended, &version])
                .await?;
            sealed(transaction, changed.as_ref().map(account).transpose()?).await
        })
    }

    fn add_key(&self, new: &NewKey) -> Result<Key, StoreError> {
        self.change(async |transaction, version| insert_key(transaction, version, new).await)
    }

    fn keys(&self, account: u64) -> Result<Vec<Key>, StoreError> {
        let sql = format!("SELECT {KEY} FROM keys WHERE account = $1 ORDER BY id");
        self.all(&sql, &[&account.cast_signed()], key)
    }

    fn key(&self, id: u64) -> Result<Option<Key>, StoreError> {
        let sql = format!("SELECT {KEY} FROM keys WHERE id = $1");
        Ok(self.all(&sql, &[&id.cast_signed()], key)?.pop())
    }

    fn change_key(&self, id: u64, change: &KeyChange) -> Result<Option<Key>, StoreError> {
        let (set, cap) = match change {
            KeyChange::Cap(cap) => ("daily_cap = $3", cap.map(u64::cast_signed)),
            KeyChange::Revoke => ("revoked = true, daily_cap = coalesce($3, daily_cap)", None),
        };
        let sql = format!("UPDATE keys SET {set}, version = $2 WHERE id = $1 RETURNING {KEY}");
        self.change(async |transaction, version| {
            seal::check::<Key>(transaction, id).await?;
            let changed = transaction.query_opt(&sql, &[&id.cast_signed(), &version, &cap]).await?;
            sealed(transaction, changed.as_ref().map(key).transpose()?).await
        })
    }

    fn replace_key(&self, old: u64, ends_at: Utc, new: &NewKey) -> Result<Key, StoreError> {
        let sql = format!(
            "UPDATE keys SET expires_at = least(coalesce(expires_at, $2), $2), version = $3
             WHERE id = $1 RETURNING {KEY}"
        );
        self.change(async |transaction, version| {
            seal::check::<Key>(transaction, old).await?;
            let ends_at = ends_at.secs().cast_signed();
            let ended =
                transaction.query_opt(&sql, &[&old.cast_signed(), &ends_at, &version]).await?;
            sealed(transaction, ended.as_ref().map(key).transpose()?).await?;
            insert_key(transaction, version, new).await
        })
    }

    fn record(
        &self,
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
        self.session.ask(SHORT, async |client| {
            client
                .execute(sql, &[&accounts, &keys, &chains, &hours, &service, &replica, &units])
                .await?;
            Ok(())
        })
    }

    fn recorded(
        &self,
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
        let units = self.all(sql, &[&account, &key, &service, &chain, &hour, &replica], |row| {
            unsigned(row, 0)
        })?;
        Ok(units.first().copied().unwrap_or(0))
    }

    fn usage(&self, account: u64, from_hour: u32) -> Result<Vec<CountedRow>, StoreError> {
        let sql = "SELECT account, key, service, chain, hour, units, replica FROM usage
                   WHERE account = $1 AND hour >= $2 ORDER BY hour, key, service, chain, replica";
        let of = (account.cast_signed(), i64::from(from_hour));
        let rows = self.all(sql, &[&of.0, &of.1], usage_row)?;
        // A service or chain that this program does not know is left out, not an error.
        Ok(rows.into_iter().flatten().collect())
    }

    fn totals(&self, service: Service, hours: Range<u32>) -> Result<Vec<Total>, StoreError> {
        let sql = "SELECT account, key, sum(units)::bigint FROM usage
                   WHERE service = $1 AND hour >= $2 AND hour < $3 GROUP BY account, key";
        let (from, to) = (i64::from(hours.start), i64::from(hours.end));
        self.all(sql, &[&service.as_str(), &from, &to], |row| {
            let (account, key) = (unsigned(row, 0)?, unsigned(row, 1)?);
            Ok(Total { account, key, units: unsigned(row, 2)? })
        })
    }

    fn last_hour(&self, service: Service) -> Result<Option<u32>, StoreError> {
        let sql = "SELECT max(hour) FROM usage WHERE service = $1";
        let last = self.all(sql, &[&service.as_str()], |row| Ok(row.try_get(0)?))?;
        let hour: Option<i64> = last.into_iter().next().flatten();
        Ok(hour.and_then(|hour| u32::try_from(hour).ok()))
    }

    fn stored(&self, after: Option<&StoredRow>, most: u32) -> Result<Vec<StoredRow>, StoreError> {
        fill::stored(&self.session, after, most)
    }

    fn fill(&self, head: &Head, pages: Pages<'_>) -> Result<(), StoreError> {
        fill::fill(&self.session, head, pages)
    }
}

async fn meta(client: &impl GenericClient, name: &str) -> Result<u64, StoreError> {
    let row = client.query_one("SELECT value FROM meta WHERE name = $1", &[&name]).await?;
    unsigned(&row, 0)
}

async fn insert_key(
    transaction: &Transaction<'_>,
    version: i64,
    new: &NewKey,
) -> Result<Key, StoreError> {
    let sql = format!(
        "INSERT INTO keys (account, digest, prefix, label, daily_cap, expires_at, scopes,
                           created_at, version, seal)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0) RETURNING {KEY}"
    );
    let added = transaction
        .query_one(
            &sql,
            &[
                &new.account.cast_signed(),
                &new.digest.as_slice(),
                &new.prefix,
                &new.label,
                &new.daily_cap.map(u64::cast_signed),
                &new.expires_at.map(|at| at.secs().cast_signed()),
                &new.scopes.to_text(),
                &new.created_at.secs().cast_signed(),
                &version,
            ],
        )
        .await?;
    let added = key(&added)?;
    seal::seal(transaction, &added).await?;
    Ok(added)
}

/// Seals a row that was changed, if there is one.
async fn sealed<T: Sealed>(
    transaction: &Transaction<'_>,
    changed: Option<T>,
) -> Result<Option<T>, StoreError> {
    if let Some(row) = &changed {
        seal::seal(transaction, row).await?;
    }
    Ok(changed)
}

fn account(row: &Row) -> Result<Account, StoreError> {
    Ok(Account {
        id: unsigned(row, 0)?,
        name: row.try_get(1)?,
        gateway_plan: row.try_get(2)?,
        explorer_plan: row.try_get(3)?,
        suspended: row.try_get(4)?,
        created_at: time(row.try_get(5)?),
    })
}

fn key(row: &Row) -> Result<Key, StoreError> {
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

fn unsigned(row: &Row, place: usize) -> Result<u64, StoreError> {
    Ok(row.try_get::<_, i64>(place)?.cast_unsigned())
}

fn time(secs: i64) -> Utc {
    Utc::from_secs(u64::try_from(secs).unwrap_or(0))
}

#[cfg(test)]
mod tests;
