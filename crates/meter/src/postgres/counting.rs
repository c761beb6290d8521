//! Which services this process counts for the store.
//!
//! Until quotas are shared out, one process at a time counts a service of a store; else each would
//! admit up to the whole cap. It holds an advisory lock of the server for as long as its connection
//! lives, and has written its number beside it: whoever comes back after an interruption and finds
//! another number knows that somebody else has counted meanwhile, so that its own counters are wrong.
//! Invariant: a service that was lost is never taken again by the same process.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_postgres::Client;

use super::locks::{LOCKS, of_service};
use crate::Service;
use crate::store::StoreError;

/// A process that has just ended may still be on the server for a moment.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Whether this process counts a service for the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Counting {
    /// It does not.
    #[default]
    Not,
    /// It does, under this number.
    Under(i64),
    /// Another process has it, or has had it meanwhile.
    Lost,
}

/// Takes a service under a new number.
pub(super) async fn take(client: &Client, service: Service) -> Result<Counting, StoreError> {
    let until = Instant::now() + PATIENCE;
    while !try_lock(client, service).await? {
        if Instant::now() > until {
            return Err(StoreError::Counted { service, by: holder(client, service).await? });
        }
        sleep(LOOK_AGAIN).await;
    }
    let number = getrandom::u64().map_err(|error| StoreError::Failed(error.to_string()))?;
    let number = number.cast_signed();
    let write = "INSERT INTO meta VALUES ($1, $2)
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    client.execute(write, &[&name(service), &number]).await?;
    Ok(Counting::Under(number))
}

/// Takes what was held over a connection that is lost over a new one.
pub(super) async fn take_again(
    client: &Client,
    services: &mut [Counting; 2],
) -> Result<(), StoreError> {
    for service in Service::ALL {
        let counting = &mut services[service.place()];
        let Counting::Under(number) = *counting else { continue };
        let read = "SELECT value FROM meta WHERE name = $1";
        let locked = try_lock(client, service).await?;
        let found = client.query_opt(read, &[&name(service)]).await?;
        if !locked || found.is_none_or(|row| row.get::<_, i64>(0) != number) {
            *counting = Counting::Lost;
            tracing::error!(
                %service,
                "another process has counted this service while PostgreSQL was out of reach: \
                 calls are refused from now on; stop one of the two, or start this one anew"
            );
        }
    }
    Ok(())
}

async fn try_lock(client: &Client, service: Service) -> Result<bool, StoreError> {
    let lock = "SELECT pg_try_advisory_lock($1, $2)";
    Ok(client.query_one(lock, &[&LOCKS, &of_service(service)]).await?.get(0))
}

/// Who has the lock, as far as the server tells.
async fn holder(client: &Client, service: Service) -> Result<String, StoreError> {
    let ask = "SELECT a.application_name, coalesce(host(a.client_addr), 'the same machine')
               FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a USING (pid)
               WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
                   AND l.database = (SELECT oid FROM pg_catalog.pg_database
                                     WHERE datname = current_database())
                   AND l.classid::bigint = $1 AND l.objid::bigint = $2";
    let lock = [i64::from(LOCKS), i64::from(of_service(service))];
    let row = client.query_opt(ask, &[&lock[0], &lock[1]]).await?;
    Ok(row.map_or_else(
        || "another process".to_owned(),
        |row| {
            let (name, client): (String, String) = (row.get(0), row.get(1));
            format!("{name} from {client}")
        },
    ))
}

fn name(service: Service) -> String {
    format!("counted_{service}")
}
