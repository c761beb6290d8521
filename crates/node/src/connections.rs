//! The connections to one node: opening them, keeping the unused ones, closing them in time.
//!
//! Each runtime that asks has a lane of its own, so that the reactor which wakes a connection is that
//! of the task which waits for it, and no call crosses threads. What is sent over them is left to
//! `attempt`. Invariants: of a lane the connection that was used last is used first; an unused one
//! is closed before the node would close it; no more are open than calls may be at once, over all
//! lanes. That nothing is sent over one that the node has closed is seen to by `connection`.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use rustls_pki_types::ServerName;
use tokio::net::{TcpStream, lookup_host};
use tokio::runtime::{self, Handle};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::address::Address;
use crate::connection::Connection;
use crate::open_connection::OpenConnection;
use crate::says::Refusal;
use crate::stream::Socket;
use crate::{Cause, NodeError, Sent, Timeouts};

/// The connections to one node.
pub(crate) struct Connections {
    address: Address,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    connect_limit: Duration,
    idle_limit: Duration,
    /// Most that are open at once, used and unused.
    most: usize,
    open: Arc<AtomicUsize>,
    lanes: ArcSwap<Vec<Arc<Lane>>>,
}

/// The unused connections of one runtime.
struct Lane {
    home: runtime::Id,
    /// The longest unused first. Boxed, because they go in and out with every call.
    #[expect(clippy::vec_box, reason = "a connection is large and moves with every call")]
    idle: Mutex<Vec<Box<Connection>>>,
}

impl Connections {
    /// None yet; `most` is how many may be open at once.
    pub(crate) fn new(
        address: Address,
        tls: Option<(TlsConnector, ServerName<'static>)>,
        timeouts: Timeouts,
        most: usize,
    ) -> Connections {
        Connections {
            address,
            tls,
            connect_limit: timeouts.connect,
            idle_limit: timeouts.idle,
            most,
            open: Arc::default(),
            lanes: ArcSwap::default(),
        }
    }

    /// Whether it is asked over TLS.
    pub(crate) fn speaks_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Where the node listens.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// The unused connection of this runtime that was used last, or a new one. Where no more may be
    /// opened it is an unused one of another runtime.
    pub(crate) async fn one(&self, now: Instant) -> Result<Box<Connection>, NodeError> {
        match self.unused_of(Handle::current().id(), now) {
            Some(connection) => Ok(connection),
            None => match self.room(now) {
                Ok(one_more) => Box::pin(self.connect(one_more)).await,
                Err(unused) => Ok(unused),
            },
        }
    }

    /// Takes a connection back that has read an answer to its end; closes it if it cannot serve
    /// another request.
    pub(crate) fn put_back(&self, mut connection: Box<Connection>) {
        if !connection.settle() {
            return;
        }
        let home = connection.home();
        match self.lanes.load().iter().find(|lane| lane.home == home) {
            Some(lane) => lane.lock().push(connection),
            None => self.new_lane(home).lock().push(connection),
        }
    }

    /// Closes all unused connections: one of them turned out to be dead, so the others are likely
    /// to be, and the next attempt shall not find out one by one.
    pub(crate) fn forget_unused(&self) {
        for lane in self.lanes.load().iter() {
            let dead = std::mem::take(&mut *lane.lock());
            drop(dead);
        }
    }

    /// Closes the connections that have been unused for too long.
    pub(crate) fn sweep(&self, now: Instant) {
        self.lanes.load().iter().for_each(|lane| self.sweep_lane(lane, now));
    }

    /// Unused connections.
    pub(crate) fn idle_connections(&self) -> usize {
        self.lanes.load().iter().map(|lane| lane.lock().len()).sum()
    }

    /// The lane of a runtime that had none.
    fn new_lane(&self, home: runtime::Id) -> Arc<Lane> {
        loop {
            let lanes = self.lanes.load();
            if let Some(lane) = lanes.iter().find(|lane| lane.home == home) {
                return Arc::clone(lane);
            }
            self.lanes.rcu(|lanes| {
                let mut lanes = Vec::clone(lanes);
                // Another task of the runtime may have been first.
                if !lanes.iter().any(|lane| lane.home == home) {
                    lanes.push(Arc::new(Lane { home, idle: Mutex::default() }));
                }
                lanes
            });
        }
    }

    fn unused_of(&self, home: runtime::Id, now: Instant) -> Option<Box<Connection>> {
        let lanes = self.lanes.load();
        let lane = lanes.iter().find(|lane| lane.home == home)?;
        self.unused(lane, now)
    }

    /// Leave to open one more, or an unused connection of whichever runtime has one.
    ///
    /// Whoever is here holds a lease, and there are no more leases than connections may be. So where
    /// all are open, one is unused or about to be closed: then one more is opened.
    fn room(&self, now: Instant) -> Result<OpenConnection, Box<Connection>> {
        let (one_more, before) = OpenConnection::count(&self.open);
        if before < self.most {
            return Ok(one_more);
        }
        match self.lanes.load().iter().find_map(|lane| self.unused(lane, now)) {
            Some(connection) => Err(connection),
            None => Ok(one_more),
        }
    }

    fn unused(&self, lane: &Lane, now: Instant) -> Option<Box<Connection>> {
        let connection = lane.lock().pop()?;
        if self.is_stale(&connection, now) {
            // All others have been unused for longer still.
            self.sweep_lane(lane, now);
            return None;
        }
        Some(connection)
    }

    fn sweep_lane(&self, lane: &Lane, now: Instant) {
        let stale: Vec<Box<Connection>> = {
            let mut idle = lane.lock();
            let fresh = idle.iter().position(|connection| !self.is_stale(connection, now));
            let stale = fresh.unwrap_or(idle.len());
            idle.drain(..stale).collect()
        };
        // Closing sockets is system calls, made outside the lock.
        drop(stale);
    }

    fn is_stale(&self, connection: &Connection, now: Instant) -> bool {
        now.saturating_duration_since(connection.idle_since()) >= self.idle_limit
    }

    async fn connect(&self, one_more: OpenConnection) -> Result<Box<Connection>, NodeError> {
        Ok(Connection::open(self.socket().await?, one_more))
    }

    /// A new socket to the node, with TLS where that is asked for.
    pub(crate) async fn socket(&self) -> Result<Socket, NodeError> {
        let tcp = timeout(self.connect_limit, self.tcp())
            .await
            .map_err(|_| NodeError::unsent(Cause::Connect, "no answer in time"))??;
        let Some((connector, name)) = &self.tls else {
            return Ok(Socket::Plain(tcp));
        };
        let tls = timeout(self.connect_limit, connector.connect(name.clone(), tcp))
            .await
            .map_err(|_| NodeError::unsent(Cause::Tls, "no answer in time"))?
            .map_err(|error| handshake_error(&error))?;
        Ok(Socket::Tls(Box::new(tls)))
    }

    async fn tcp(&self) -> Result<TcpStream, NodeError> {
        let failed = |error: io::Error| NodeError::unsent(Cause::Connect, error);
        let tcp = match self.address.ip() {
            Some(ip) => TcpStream::connect((ip, self.address.port)).await.map_err(failed)?,
            None => TcpStream::connect(&self.resolved().await?[..]).await.map_err(failed)?,
        };
        tcp.set_nodelay(true).map_err(failed)?;
        Ok(tcp)
    }

    async fn resolved(&self) -> Result<Vec<SocketAddr>, NodeError> {
        let unknown =
            || NodeError::new(Cause::Connect, Sent::Nothing).refusing(Refusal::NoSuchHost);
        let found = lookup_host((self.address.host.as_str(), self.address.port)).await;
        let found: Vec<SocketAddr> = found.map_err(|_| unknown())?.collect();
        if found.is_empty() { Err(unknown()) } else { Ok(found) }
    }
}

impl Lane {
    #[expect(clippy::vec_box, reason = "a connection is large and moves with every call")]
    fn lock(&self) -> MutexGuard<'_, Vec<Box<Connection>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A peer that speaks plain HTTP answers a handshake in HTTP, or hangs up.
fn handshake_error(error: &io::Error) -> NodeError {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let garbled = matches!(inner, Some(rustls::Error::InvalidMessage(_)));
    let hung_up = error.kind() == io::ErrorKind::UnexpectedEof
        || error.kind() == io::ErrorKind::ConnectionReset;
    match garbled || hung_up {
        true => NodeError::new(Cause::Tls, Sent::Nothing).refusing(Refusal::SpeaksPlain),
        false => NodeError::unsent(Cause::Tls, error),
    }
}
