//! The listeners of a process: sockets with their certificates, and what runs on them.
//!
//! Leaves what is answered to the services. Invariant: all addresses and certificates are had
//! before anything that takes long, or that others would notice, is begun.

use std::net::SocketAddr;
use std::sync::Arc;

use listen::{Drain, Limits, Renewed, Serve, Tls, Workers};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::Services;
use crate::config::{Config, Listener, Listens};
use crate::failure::Failure;

/// A socket that clients may connect to already; nobody answers yet.
pub(super) struct Bound {
    pub(super) who: Listens,
    pub(super) address: SocketAddr,
    socket: TcpListener,
    tls: Option<Tls>,
    limits: Limits,
}

impl Bound {
    fn new(listener: &Listener<'_>) -> Result<Bound, Failure> {
        let tls = certificate(listener)?;
        let socket = listen::bind(listener.name(), listener.listen)?;
        let most = listener.limits.max_connections.min(listen::connections_allowed());
        let limits = Limits { max_connections: most, ..listener.limits };
        Ok(Bound { who: listener.who, address: socket.local_addr()?, socket, tls, limits })
    }

    /// Answers what comes on these workers, until it is drained.
    pub(super) fn run<S: Serve>(
        self,
        workers: Workers,
        service: Arc<S>,
        drain: Drain,
    ) -> JoinHandle<()> {
        let Bound { socket, tls, limits, .. } = self;
        tokio::spawn(listen::run_on(workers, socket, tls, limits, service, drain))
    }
}

/// Has every certificate and every address that the services need.
///
/// # Errors
/// One of them cannot be had; it is named.
pub(super) fn bind(config: &Config, services: &Services) -> Result<Vec<Bound>, Failure> {
    let listeners = config.listeners();
    let needed = listeners.iter().filter(|listener| services.listens(listener.who));
    needed.map(Bound::new).collect()
}

/// Every listener's certificate, with the listener's name.
pub(super) struct Certificates(Vec<(&'static str, Tls)>);

impl Certificates {
    /// The certificates in use.
    pub(super) fn of(sockets: &[Bound]) -> Certificates {
        let tls = sockets.iter().filter_map(|bound| Some((bound.who.name(), bound.tls.clone()?)));
        Certificates(tls.collect())
    }

    /// Reads all files again and puts none to use yet.
    ///
    /// # Errors
    /// One of them cannot be used, or is past its end; it is named.
    pub(super) fn renewed(&self) -> Result<Vec<Renewed>, Failure> {
        let renew = |(name, tls): &(&'static str, Tls)| {
            let named = |problem: String| Failure::new(format!("{name}: {problem}"));
            let renewed = tls.renewed().map_err(|error| named(error.to_string()))?;
            match renewed.out_of_date() {
                Some(problem) => Err(named(problem)),
                None => Ok(renewed),
            }
        };
        self.0.iter().map(renew).collect()
    }
}

/// The certificate of a listener, if it has one. One that is past its end is used all the same: to
/// serve nobody would be worse for those who do not look.
fn certificate(listener: &Listener<'_>) -> Result<Option<Tls>, Failure> {
    let name = listener.name();
    let files = listener.tls();
    let files = files.map_err(|missing| Failure::new(format!("{name}.{missing}: missing")))?;
    let Some(files) = files else { return Ok(None) };
    let named = |error| Failure::new(format!("{name}: {error}"));
    let tls = Tls::load(&files.cert, &files.key).map_err(named)?;
    if let Some(problem) = tls.out_of_date() {
        tracing::warn!(listener = name, "{problem}; clients that look will not connect");
    }
    Ok(Some(tls))
}
