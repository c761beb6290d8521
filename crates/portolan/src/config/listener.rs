//! Where services listen, and how they read what their sections have in common.
//!
//! The gateway and the explorer have more to say, so their fields are their own: a section that
//! refuses unknown fields cannot borrow known ones. Invariant: [`Config::listeners`] is the one
//! list of listeners; whoever looks at all of them goes through it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::HeaderValue;
use ipnet::IpNet;
use listen::{Clients, Cors, Limits};
use serde::Deserialize;

use super::Config;

/// `[console]`, and `[metrics]` with `/metrics`, `/healthz` and `/readyz`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListenerConfig {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// PEM file of the certificate chain, leaf first.
    pub tls_cert: Option<PathBuf>,
    /// PEM file of its private key.
    pub tls_key: Option<PathBuf>,
}

/// Who listens. The name is that of the section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Listens {
    /// The JSON-RPC gateway.
    Gateway,
    /// The explorer.
    Explorer,
    /// The web page, which is not built yet.
    Console,
    /// Metrics and health.
    Metrics,
}

impl Listens {
    /// All that have a section.
    pub const ALL: [Listens; 4] =
        [Listens::Gateway, Listens::Explorer, Listens::Console, Listens::Metrics];

    /// The name of the section.
    pub fn name(self) -> &'static str {
        match self {
            Listens::Gateway => "gateway",
            Listens::Explorer => "explorer",
            Listens::Console => "console",
            Listens::Metrics => "metrics",
        }
    }
}

/// What a section says of its listener.
#[derive(Clone, Debug, PartialEq)]
pub struct Listener<'a> {
    /// Whose it is.
    pub who: Listens,
    /// Address to listen on.
    pub listen: SocketAddr,
    /// PEM file of the certificate chain, leaf first; TLS where it is given.
    pub tls_cert: Option<&'a Path>,
    /// PEM file of its private key.
    pub tls_key: Option<&'a Path>,
    /// What it allows its clients, whatever the limit of open files says.
    pub limits: Limits,
}

/// The certificate files of a listener that speaks TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerTls {
    /// PEM file of the certificate chain, leaf first.
    pub cert: PathBuf,
    /// PEM file of its private key.
    pub key: PathBuf,
}

impl Listener<'_> {
    /// The name of its section.
    pub fn name(&self) -> &'static str {
        self.who.name()
    }

    /// Its certificate files; `None` where neither is given.
    ///
    /// # Errors
    /// The name of the missing field where only one is given.
    pub fn tls(&self) -> Result<Option<ListenerTls>, &'static str> {
        match (self.tls_cert, self.tls_key) {
            (None, None) => Ok(None),
            (Some(cert), Some(key)) => {
                Ok(Some(ListenerTls { cert: cert.to_owned(), key: key.to_owned() }))
            }
            (Some(_), None) => Err("tls_key"),
            (None, Some(_)) => Err("tls_cert"),
        }
    }
}

impl Config {
    /// Returns every listener that is configured, whether its service is to run or not.
    pub fn listeners(&self) -> Vec<Listener<'_>> {
        let (gateway, explorer) = (&self.gateway, &self.explorer);
        let mut all = vec![
            Listener {
                who: Listens::Gateway,
                listen: gateway.listen,
                tls_cert: gateway.tls_cert.as_deref(),
                tls_key: gateway.tls_key.as_deref(),
                limits: gateway.limits(),
            },
            Listener {
                who: Listens::Explorer,
                listen: explorer.listen,
                tls_cert: explorer.tls_cert.as_deref(),
                tls_key: explorer.tls_key.as_deref(),
                limits: explorer.limits(),
            },
        ];
        let plain = [(Listens::Console, &self.console), (Listens::Metrics, &self.metrics)];
        all.extend(plain.into_iter().filter_map(|(who, section)| {
            let section = section.as_ref()?;
            Some(Listener {
                who,
                listen: section.listen,
                tls_cert: section.tls_cert.as_deref(),
                tls_key: section.tls_key.as_deref(),
                limits: Limits::default(),
            })
        }));
        all
    }

    /// The TLS files of all listeners, to be changed.
    pub(super) fn tls_files(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let (gateway, explorer) = (&mut self.gateway, &mut self.explorer);
        let plain = [&mut self.console, &mut self.metrics].into_iter().flatten();
        let own = [
            (&mut gateway.tls_cert, &mut gateway.tls_key),
            (&mut explorer.tls_cert, &mut explorer.tls_key),
        ];
        let plain = plain.map(|section| (&mut section.tls_cert, &mut section.tls_key));
        own.into_iter().chain(plain).flat_map(|(cert, key)| [cert, key]).flatten()
    }
}

/// Browsers and proxies as services look at them. Values that cannot stand in a header were
/// refused when the configuration was checked.
pub(super) fn clients(origins: &[String], trusted_proxies: &[IpNet]) -> Clients {
    let cors = match origins.iter().any(|origin| origin == "*") {
        true => Cors::Any,
        false => Cors::Only(
            origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect(),
        ),
    };
    Clients { cors, trusted_proxies: trusted_proxies.to_vec() }
}

/// Whole milliseconds.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
