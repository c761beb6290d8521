//! The connections to one node: opening them, keeping the unused ones, closing them in time.
//!
//! What is sent over them is left to `attempt`. Invariant: the connection that was used last is
//! used first, an unused one is closed before the node would close it, and a connection that the
//! node has closed is not handed out.

use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls_pki_types::ServerName;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::address::Address;
use crate::says::Refusal;
use crate::stream::Socket;
use crate::wire::Wire;
use crate::{Cause, NodeError, Sent};

/// The connections to one node.
pub(crate) struct Line {
    address: Address,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    connect_limit: Duration,
    idle_limit: Duration,
    /// Unused connections, the longest unused first. Boxed, because they go in and out with every
    /// call.
    #[expect(clippy::vec_box, reason = "a connection is large and moves with every call")]
    idle: Mutex<Vec<Box<Wire>>>,
}

impl Line {
    pub(crate) fn new(
        address: Address,
        tls: Option<(TlsConnector, ServerName<'static>)>,
        connect_limit: Duration,
        idle_limit: Duration,
    ) -> Line {
        Line { address, tls, connect_limit, idle_limit, idle: Mutex::default() }
    }

    /// Where the node listens.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// The unused connection that was used last, or a new one.
    pub(crate) async fn connection(&self) -> Result<Box<Wire>, NodeError> {
        match self.unused() {
            Some(wire) => Ok(wire),
            None => self.connect().await,
        }
    }

    /// Takes a connection back that has read an answer to its end; closes it if it cannot serve
    /// another request.
    pub(crate) fn put_back(&self, mut wire: Box<Wire>) {
        if wire.settle() {
            self.lock().push(wire);
        }
    }

    /// Closes all unused connections: one of them turned out to be dead, so the others are likely
    /// to be, and the next attempt shall not find out one by one.
    pub(crate) fn forget_unused(&self) {
        let dead = std::mem::take(&mut *self.lock());
        drop(dead);
    }

    /// Closes the connections that have been unused for too long.
    pub(crate) fn sweep(&self, now: Instant) {
        let stale: Vec<Box<Wire>> = {
            let mut idle = self.lock();
            let fresh = idle.iter().position(|wire| !self.is_stale(wire, now));
            let stale = fresh.unwrap_or(idle.len());
            idle.drain(..stale).collect()
        };
        // Closing sockets is system calls, made outside the lock.
        drop(stale);
    }

    /// Unused connections.
    pub(crate) fn idle_connections(&self) -> usize {
        self.lock().len()
    }

    fn unused(&self) -> Option<Box<Wire>> {
        loop {
            let mut wire = self.lock().pop()?;
            if self.is_stale(&wire, Instant::now()) {
                // All others have been unused for longer still.
                self.sweep(Instant::now());
                return None;
            }
            if wire.is_free() {
                return Some(wire);
            }
        }
    }

    fn is_stale(&self, wire: &Wire, now: Instant) -> bool {
        now.saturating_duration_since(wire.idle_since()) >= self.idle_limit
    }

    #[expect(clippy::vec_box, reason = "a connection is large and moves with every call")]
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Box<Wire>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self) -> Result<Box<Wire>, NodeError> {
        let tcp = timeout(self.connect_limit, self.tcp())
            .await
            .map_err(|_| NodeError::unsent(Cause::Connect, "no answer in time"))??;
        let Some((connector, name)) = &self.tls else {
            return Wire::open(Socket::Plain(tcp)).await;
        };
        let tls = timeout(self.connect_limit, connector.connect(name.clone(), tcp))
            .await
            .map_err(|_| NodeError::unsent(Cause::Tls, "no answer in time"))?
            .map_err(|error| handshake_error(&error))?;
        Wire::open(Socket::Tls(Box::new(tls))).await
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
