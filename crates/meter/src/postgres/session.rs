//! The one connection to PostgreSQL: it asks, it listens, it holds the services.
//!
//! Verbs are carried out one after another on a runtime of their own; whoever asks blocks, and may do
//! so anywhere. A connection that broke is made anew by the next verb. Invariants: no verb outlasts
//! its time, and none at all the end of the process by more than [`FAREWELL`]; before a new connection is used the former one is at its end, so that nothing that was
//! sent over it comes after what is sent over the new one; a service that was held is held by the new
//! connection too, or known to be lost.

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls, Row};

use super::address::PostgresAddress;
use super::counting::{self, Counting};
use super::silence::Silence;
use crate::store::{Bell, StoreError};

/// A verb, with the connection that it may have to make.
pub(super) const SHORT: Duration = Duration::from_secs(5);
/// A verb that reads very many rows.
pub(super) const READ: Duration = Duration::from_secs(60);
/// A verb that writes a whole store, or waits for another program.
pub(super) const LONG: Duration = Duration::from_secs(3600);
/// A connection, from the first packet to the services that are held.
const CONNECT: Duration = Duration::from_secs(5);
/// Once the process ends: what is under way then, and all that is still to be said.
const UNDER_WAY: Duration = Duration::from_secs(1);
const FAREWELL: Duration = Duration::from_secs(6);
/// How long the server may take to end a connection that we have lost.
const ENDING: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// What each connection is told first. Keepalives are the server's: they free what a machine held
/// that is gone without a word.
const BEGIN: &str = "SET search_path TO portolan; SET synchronous_commit TO on;
                     SET tcp_keepalives_idle TO 10; SET tcp_keepalives_interval TO 5;
                     SET tcp_keepalives_count TO 3; LISTEN portolan";

/// The connection and what outlives it.
#[derive(Debug)]
pub(super) struct Session {
    address: PostgresAddress,
    /// Taken out only when the session ends.
    runtime: Option<Runtime>,
    link: tokio::sync::Mutex<Link>,
    bell: Arc<OnceLock<Bell>>,
    pub(super) counting: Mutex<[Counting; 2]>,
    /// Raised when a service is lost to another process.
    pub(super) lost: AtomicU64,
    pub(super) silence: Silence,
    /// When the process began to end.
    ending: watch::Sender<Option<Instant>>,
}

/// The connection itself, while there is one.
#[derive(Debug, Default)]
struct Link {
    client: Option<Client>,
    /// The server's name for the connection: process, and when that began.
    backend: Option<(i32, String)>,
}

impl Session {
    pub(super) fn new(address: PostgresAddress) -> Result<Session, StoreError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("postgres")
            .enable_all()
            .build()
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Session {
            address,
            runtime: Some(runtime),
            link: tokio::sync::Mutex::default(),
            bell: Arc::default(),
            counting: Mutex::default(),
            lost: AtomicU64::new(0),
            silence: Silence::default(),
            ending: watch::Sender::new(None),
        })
    }

    /// The process ends: from now on nobody is waited for long.
    pub(super) fn end_soon(&self) {
        self.ending.send_if_modified(|ending| match ending {
            Some(_) => false,
            None => {
                *ending = Some(Instant::now());
                true
            }
        });
    }

    /// What is rung when the server says that something has changed; the first one counts.
    pub(super) fn set_bell(&self, bell: Bell) {
        let _ = self.bell.set(bell);
    }

    /// Carries a verb out within that time, and blocks until it is.
    pub(super) fn ask<T: Send>(
        &self,
        most: Duration,
        verb: impl AsyncFnOnce(&mut Client) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        let Some(runtime) = &self.runtime else { return Err(ended()) };
        // A thread of its own: the one that asks may be one of a runtime, which must not block on
        // another.
        let carry_out = || runtime.block_on(self.carry_out(most, verb));
        thread::scope(|scope| {
            let asked =
                thread::Builder::new().name("verb".to_owned()).spawn_scoped(scope, carry_out);
            let asked = asked.map_err(|error| StoreError::Failed(error.to_string()))?;
            asked.join().unwrap_or_else(|_| Err(ended()))
        })
    }

    /// Every row that a question finds.
    pub(super) fn all<T: Send>(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
        read: impl Fn(&Row) -> Result<T, StoreError> + Sync,
    ) -> Result<Vec<T>, StoreError> {
        self.ask(LONG, async |client| client.query(sql, params).await?.iter().map(&read).collect())
    }

    async fn carry_out<T>(
        &self,
        most: Duration,
        verb: impl AsyncFnOnce(&mut Client) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut over = pin!(self.over());
        let mut link = tokio::select! {
            link = self.link.lock() => link,
            () = &mut over => return Err(late()),
        };
        self.silence.asked();
        let work = async {
            if link.client.as_ref().is_none_or(Client::is_closed) {
                let connected = timeout(CONNECT, self.connect(&mut link)).await;
                connected.unwrap_or_else(|_| Err(late()))?;
            }
            let client = link.client.as_mut().ok_or_else(ended)?;
            verb(client).await
        };
        let done = tokio::select! {
            done = timeout(most, work) => done.ok(),
            () = &mut over => None,
        };
        // What was given up in the middle must not be gone on with.
        if done.is_none() || link.client.as_ref().is_some_and(Client::is_closed) {
            link.client = None;
        }
        // That it says no is an answer too.
        if matches!(done, Some(Ok(_))) || done.is_some() && link.client.is_some() {
            self.silence.answered();
        }
        done.unwrap_or_else(|| Err(late()))
    }

    /// Waits until a verb that begins now has to end because the process does.
    async fn over(&self) {
        let mut ending = self.ending.subscribe();
        let most = if ending.borrow().is_some() { FAREWELL } else { UNDER_WAY };
        match ending.wait_for(Option::is_some).await.map(|ending| *ending) {
            Ok(Some(began)) => sleep_until(began + most).await,
            // Nobody is left to say so.
            _ => pending().await,
        }
    }

    async fn connect(&self, link: &mut Link) -> Result<(), StoreError> {
        link.client = None;
        let config = self.address.config()?;
        let client = match self.address.tls()? {
            Some(tls) => {
                let (client, connection) = config.connect(tls).await?;
                self.drive(connection);
                client
            }
            None => {
                let (client, connection) = config.connect(NoTls).await?;
                self.drive(connection);
                client
            }
        };
        client.batch_execute(BEGIN).await?;
        if let Some(former) = &link.backend {
            end(&client, former).await?;
        }
        let who = "SELECT pid, backend_start::text FROM pg_catalog.pg_stat_activity
                   WHERE pid = pg_backend_pid()";
        let row = client.query_one(who, &[]).await?;
        link.backend = Some((row.get(0), row.get(1)));
        let mut held = *self.counting.lock().unwrap_or_else(PoisonError::into_inner);
        let had = held;
        let taken = counting::take_again(&client, &mut held).await;
        if held != had {
            *self.counting.lock().unwrap_or_else(PoisonError::into_inner) = held;
            self.lost.fetch_add(1, Ordering::AcqRel);
        }
        taken?;
        link.client = Some(client);
        Ok(())
    }

    /// Moves the bytes of a connection for as long as it lives.
    fn drive<S, T>(&self, mut connection: Connection<S, T>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Some(runtime) = &self.runtime else { return };
        let bell = Arc::clone(&self.bell);
        runtime.spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await
            {
                if let (AsyncMessage::Notification(_), Some(bell)) = (message, bell.get()) {
                    bell.ring();
                }
            }
            // What was said while nobody listened is looked for.
            if let Some(bell) = bell.get() {
                bell.ring();
            }
        });
    }
}

/// Waits until a connection that we had before is at its end.
async fn end(client: &Client, (process, began): &(i32, String)) -> Result<(), StoreError> {
    let terminate = "SELECT count(pg_terminate_backend(pid)) FROM pg_catalog.pg_stat_activity
                     WHERE pid = $1 AND backend_start::text = $2";
    let gone = async {
        loop {
            let left = client.query_one(terminate, &[process, began]).await?;
            if left.get::<_, i64>(0) == 0 {
                return Ok(());
            }
            sleep(LOOK_AGAIN).await;
        }
    };
    let kept = || StoreError::Failed("PostgreSQL keeps a lost connection of ours".to_owned());
    timeout(ENDING, gone).await.unwrap_or_else(|_| Err(kept()))
}

fn late() -> StoreError {
    StoreError::Failed("PostgreSQL has not answered in time".to_owned())
}

fn ended() -> StoreError {
    StoreError::Failed("the connection to PostgreSQL has ended".to_owned())
}

impl Drop for Session {
    fn drop(&mut self) {
        // Tells the server, which frees what was held.
        self.link.get_mut().client = None;
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> StoreError {
        if let Some(said) = error.as_db_error() {
            // Its detail may show values of a row, digests among them.
            return match said.code().code() {
                "XX001" | "XX002" => StoreError::Damaged(said.message().to_owned()),
                code => StoreError::Failed(format!("PostgreSQL: {} ({code})", said.message())),
            };
        }
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
        StoreError::Failed(format!("PostgreSQL: {error}{cause}"))
    }
}
