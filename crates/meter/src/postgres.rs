//! The store in PostgreSQL, for several machines.
//!
//! The only place beside `sqlite` that knows SQL. What stands in a row, and when a version is raised,
//! is the same in both. Invariants: a change and the raised version are one transaction, committed
//! before it returns, and every process that listens is told of it by the same commit; nothing on the
//! path of a request waits for this store.

use std::ops::Range;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use tokio_postgres::{Client, GenericClient, Transaction};

use crate::seal::Sealed;
use crate::store::lender::Lender;
use crate::store::{
    Account, AccountChange, AccountRef, Bell, Changes, CountedRow, Head, Key, KeyChange,
    NewAccount, NewKey, Pages, RowName, Store, StoreError, StoredRow, Total, UsageRow,
};
use crate::{Replica, Service, Utc};

mod address;
mod counting;
mod fill;
mod leases;
mod locks;
mod rows;
mod schema;
mod seal;
mod session;
mod silence;
mod usage;

pub use address::{AddressError, PostgresAddress};
use counting::Counting;
use rows::{ACCOUNT, KEY, account, key, unsigned};
use session::{LONG, READ, SHORT, Session};

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

    /// The identity of the store at an address, if there is one; nothing is made.
    pub(crate) fn look(address: PostgresAddress) -> Result<Option<u64>, StoreError> {
        Session::new(address)?.ask(SHORT, async |client| schema::look(client).await)
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

    /// Takes a service, and remembers how.
    fn held(
        &self,
        service: Service,
        take: impl AsyncFnOnce(&Client) -> Result<Counting, StoreError> + Send,
    ) -> Result<(), StoreError> {
        let counting = self.session.ask(LONG, async |client| take(client).await)?;
        let mut services = self.session.counting.lock().unwrap_or_else(PoisonError::into_inner);
        services[service.place()] = counting;
        Ok(())
    }

    /// Another process counts what this one was to count: nothing it knows holds.
    fn lost(&self) -> Option<StoreError> {
        let services = self.session.counting.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = |service: &Service| services[service.place()] == Counting::Lost;
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

    fn end_soon(&self) {
        self.session.end_soon();
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn is_silent(&self) -> bool {
        self.session.silence.is_long()
    }

    fn lender(&self) -> Option<&dyn Lender> {
        Some(self)
    }

    fn hold(&self, service: Service, replica: Replica) -> Result<(), StoreError> {
        self.held(service, async |client| counting::take(client, service, replica).await)
    }

    fn hold_alone(&self, service: Service) -> Result<(), StoreError> {
        self.held(service, async |client| counting::take_alone(client, service).await)
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
        self.session.all(&format!("SELECT {ACCOUNT} FROM accounts ORDER BY id"), &[], account)
    }

    fn account(&self, which: &AccountRef) -> Result<Option<Account>, StoreError> {
        let select = format!("SELECT {ACCOUNT} FROM accounts");
        let found = match which {
            AccountRef::Id(id) => {
                self.session.all(&format!("{select} WHERE id = $1"), &[&id.cast_signed()], account)
            }
            AccountRef::Name(name) => {
                self.session.all(&format!("{select} WHERE name = $1"), &[name], account)
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
        self.session.all(&sql, &[&account.cast_signed()], key)
    }

    fn key(&self, id: u64) -> Result<Option<Key>, StoreError> {
        let sql = format!("SELECT {KEY} FROM keys WHERE id = $1");
        Ok(self.session.all(&sql, &[&id.cast_signed()], key)?.pop())
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
        usage::record(&self.session, service, replica, rows)
    }

    fn recorded(
        &self,
        service: Service,
        replica: Replica,
        row: RowName,
    ) -> Result<u64, StoreError> {
        usage::recorded(&self.session, service, replica, row)
    }

    fn usage(&self, account: u64, from_hour: u32) -> Result<Vec<CountedRow>, StoreError> {
        usage::of_account(&self.session, account, from_hour)
    }

    fn totals(&self, service: Service, hours: Range<u32>) -> Result<Vec<Total>, StoreError> {
        usage::totals(&self.session, service, hours)
    }

    fn last_hour(&self, service: Service) -> Result<Option<u32>, StoreError> {
        usage::last_hour(&self.session, service)
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

#[cfg(test)]
mod tests;
