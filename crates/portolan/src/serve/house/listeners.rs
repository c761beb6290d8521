//! The listeners of a process: sockets with their certificates, and what runs on them.
//!
//! Leaves what is answered to the services. Invariant: all addresses and certificates are had
//! before anything that takes long, or that others would notice, is begun.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use listen::{Drain, Limits, Renewed, Serve, Tls};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::Services;
use crate::config::{Config, ListenerTls};
use crate::failure::Failure;

/// A socket that clients may connect to already; nobody answers yet.
pub(super) struct Bound {
    socket: TcpListener,
    pub(super) address: SocketAddr,
    tls: Option<Tls>,
}

impl Bound {
    fn new(
        name: &'static str,
        listen: SocketAddr,
        tls: (Option<&PathBuf>, Option<&PathBuf>),
    ) -> Result<Bound, Failure> {
        let tls = certificate(name, tls.0, tls.1)?;
        let socket = listen::bind(name, listen)?;
        Ok(Bound { address: socket.local_addr()?, socket, tls })
    }

    /// Answers what comes, until it is drained.
    pub(super) fn run<S: Serve>(
        self,
        limits: Limits,
        service: Arc<S>,
        drain: Drain,
    ) -> JoinHandle<()> {
        tokio::spawn(listen::run(self.socket, self.tls, limits, service, drain))
    }
}

/// The sockets of all listeners.
pub(super) struct Sockets {
    pub(super) gateway: Option<Bound>,
    pub(super) explorer: Option<Bound>,
    pub(super) metrics: Option<Bound>,
}

impl Sockets {
    /// Has every certificate and every address that the services need.
    ///
    /// # Errors
    /// One of them cannot be had; it is named.
    pub(super) fn bind(config: &Config, services: Services) -> Result<Sockets, Failure> {
        let (gateway, explorer) = (&config.gateway, &config.explorer);
        let bind = |name, listen, tls| Bound::new(name, listen, tls);
        Ok(Sockets {
            gateway: services
                .gateway
                .then(|| {
                    let tls = (gateway.tls_cert.as_ref(), gateway.tls_key.as_ref());
                    bind("gateway", gateway.listen, tls)
                })
                .transpose()?,
            explorer: services
                .explorer
                .then(|| {
                    let tls = (explorer.tls_cert.as_ref(), explorer.tls_key.as_ref());
                    bind("explorer", explorer.listen, tls)
                })
                .transpose()?,
            metrics: config
                .metrics
                .as_ref()
                .map(|metrics| {
                    let tls = (metrics.tls_cert.as_ref(), metrics.tls_key.as_ref());
                    bind("metrics", metrics.listen, tls)
                })
                .transpose()?,
        })
    }

    /// The certificates in use, with the names of their listeners.
    pub(super) fn certificates(&self) -> Certificates {
        let named = [
            ("gateway", self.gateway.as_ref()),
            ("explorer", self.explorer.as_ref()),
            ("metrics", self.metrics.as_ref()),
        ];
        let tls = named.into_iter().filter_map(|(name, bound)| Some((name, bound?.tls.clone()?)));
        Certificates(tls.collect())
    }
}

/// Every listener's certificate, with the listener's name.
pub(super) struct Certificates(Vec<(&'static str, Tls)>);

impl Certificates {
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
pub(crate) fn certificate(
    listener: &'static str,
    cert: Option<&PathBuf>,
    key: Option<&PathBuf>,
) -> Result<Option<Tls>, Failure> {
    let pair = ListenerTls::pair(cert, key)
        .map_err(|missing| Failure::new(format!("{listener}.{missing}: missing")))?;
    let Some(files) = pair else { return Ok(None) };
    let named = |error| Failure::new(format!("{listener}: {error}"));
    let tls = Tls::load(&files.cert, &files.key).map_err(named)?;
    if let Some(problem) = tls.out_of_date() {
        tracing::warn!(listener, "{problem}; clients that look will not connect");
    }
    Ok(Some(tls))
}
