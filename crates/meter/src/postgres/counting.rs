//! Which services this process counts for the store, and beside whom.
//!
//! Whoever counts holds two advisory locks of the server for as long as its connection lives: the
//! service's, which it shares with everybody who counts by leases, and its replica's, which nobody else
//! may have: two processes with one replica, on a folder and its copy, would count the same rows. A copy
//! of a store, and programs from before there were leases, hold the service's lock alone. The replica's
//! row has a random number of its process: whoever comes back after an interruption and finds another
//! knows that somebody has counted in its place meanwhile. Invariant: a service that was lost is never
//! taken again by the same process.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_postgres::Client;

use super::locks::{LOCKS, of_service};
use crate::store::StoreError;
use crate::{Replica, Service};

/// A process that has just ended may still be on the server for a moment.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Whether this process counts a service for the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Counting {
    /// It does not.
    #[default]
    Not,
    /// As this replica, under this number.
    As(Replica, i64),
    /// Beside no other.
    Alone,
    /// Another process has it, or has had it meanwhile.
    Lost,
}

/// Both services.
pub(super) type Services = [Counting; 2];

/// A lock of the server.
#[derive(Clone, Copy)]
enum Lock {
    /// A service, with others.
    Shared(Service),
    /// A service, with no other.
    Alone(Service),
    Replica(Service, Replica),
}

/// Takes a replica's part of a service under a new number.
pub(super) async fn take(
    client: &Client,
    service: Service,
    replica: Replica,
) -> Result<Counting, StoreError> {
    wait_for(client, service, Lock::Shared(service)).await?;
    wait_for(client, service, Lock::Replica(service, replica)).await?;
    let number = getrandom::u64().map_err(|error| StoreError::Failed(error.to_string()))?;
    let number = number.cast_signed();
    let write = "INSERT INTO replicas (service, replica, holder, live, heard)
                 VALUES ($1, $2, $3, false, clock_timestamp())
                 ON CONFLICT (service, replica) DO UPDATE SET holder = excluded.holder";
    let row = (service.as_str(), replica.number().cast_signed());
    client.execute(write, &[&row.0, &row.1, &number]).await?;
    Ok(Counting::As(replica, number))
}

/// Takes a service beside which nobody counts.
pub(super) async fn take_alone(client: &Client, service: Service) -> Result<Counting, StoreError> {
    wait_for(client, service, Lock::Alone(service)).await?;
    Ok(Counting::Alone)
}

/// Takes what was held over a connection that is lost over a new one.
pub(super) async fn take_again(client: &Client, services: &mut Services) -> Result<(), StoreError> {
    for service in Service::ALL {
        let counting = &mut services[service.place()];
        let is_kept = match *counting {
            Counting::Not | Counting::Lost => continue,
            Counting::Alone => false,
            Counting::As(replica, number) => {
                try_lock(client, Lock::Shared(service)).await?
                    && try_lock(client, Lock::Replica(service, replica)).await?
                    && holder(client, service, replica).await? == Some(number)
            }
        };
        if !is_kept {
            *counting = Counting::Lost;
            tracing::error!(
                %service,
                "another process has counted in the place of this one while PostgreSQL was out of \
                 reach: calls are refused from now on; stop one of the two, or start this one anew"
            );
        }
    }
    Ok(())
}

/// The number of the process that a replica's row names.
async fn holder(
    client: &Client,
    service: Service,
    replica: Replica,
) -> Result<Option<i64>, StoreError> {
    let read = "SELECT holder FROM replicas WHERE service = $1 AND replica = $2";
    let replica = replica.number().cast_signed();
    let row = client.query_opt(read, &[&service.as_str(), &replica]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

async fn wait_for(client: &Client, service: Service, lock: Lock) -> Result<(), StoreError> {
    let until = Instant::now() + PATIENCE;
    while !try_lock(client, lock).await? {
        if Instant::now() > until {
            return Err(StoreError::Counted { service, by: who_has(client, lock).await? });
        }
        sleep(LOOK_AGAIN).await;
    }
    Ok(())
}

async fn try_lock(client: &Client, lock: Lock) -> Result<bool, StoreError> {
    let (sql, [first, second]) = match lock {
        Lock::Shared(_) => ("SELECT pg_try_advisory_lock_shared($1, $2)", lock.numbers()),
        Lock::Alone(_) => ("SELECT pg_try_advisory_lock($1, $2)", lock.numbers()),
        Lock::Replica(..) => {
            let sql = "SELECT pg_try_advisory_lock($1::int::bigint << 32 | ($2::int::bigint & 4294967295))";
            (sql, lock.numbers())
        }
    };
    Ok(client.query_one(sql, &[&first, &second]).await?.try_get(0)?)
}

/// Who has the lock, as far as the server tells.
async fn who_has(client: &Client, lock: Lock) -> Result<String, StoreError> {
    let ask = "SELECT a.application_name, coalesce(host(a.client_addr), 'the same machine')
               FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a USING (pid)
               WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = $3::int
                   AND l.database = (SELECT oid FROM pg_catalog.pg_database
                                     WHERE datname = current_database())
                   AND l.classid::bigint = $1 AND l.objid::bigint = $2
                   AND l.pid <> pg_backend_pid() LIMIT 1";
    let [class, object] = lock.numbers().map(|number| i64::from(number.cast_unsigned()));
    // Two numbers, or one of twice the length.
    let form = if matches!(lock, Lock::Replica(..)) { 1 } else { 2 };
    let row = client.query_opt(ask, &[&class, &object, &form]).await?;
    Ok(row.map_or_else(
        || "another process".to_owned(),
        |row| {
            let (name, client): (String, String) = (row.get(0), row.get(1));
            format!("{name} from {client}")
        },
    ))
}

impl Lock {
    /// A service's are [`LOCKS`] and its place there; a replica's are its own number, whose highest
    /// bit is free to tell services apart.
    fn numbers(self) -> [i32; 2] {
        match self {
            Lock::Shared(service) | Lock::Alone(service) => [LOCKS, of_service(service)],
            Lock::Replica(service, replica) => {
                let number = replica.number() | (service.place() as u64) << 63;
                [(number >> 32) as u32, number as u32].map(u32::cast_signed)
            }
        }
    }
}
