//! Where services listen, apart from the gateway and the explorer, which have more to say.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;

/// `[console]`: the web page's listener.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsoleConfig {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// PEM file of the certificate chain, leaf first; TLS where it is given.
    pub tls_cert: Option<PathBuf>,
    /// PEM file of its private key.
    pub tls_key: Option<PathBuf>,
}

/// `[metrics]`: the listener of `/metrics`, `/healthz` and `/readyz`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricsConfig {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// PEM file of the certificate chain, leaf first; TLS where it is given.
    pub tls_cert: Option<PathBuf>,
    /// PEM file of its private key.
    pub tls_key: Option<PathBuf>,
}

/// The certificate files of a listener that speaks TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerTls {
    /// PEM file of the certificate chain, leaf first.
    pub cert: PathBuf,
    /// PEM file of its private key.
    pub key: PathBuf,
}

impl ListenerTls {
    /// Pairs the two files; `None` where neither is given.
    ///
    /// # Errors
    /// The name of the missing field where only one is given.
    pub fn pair(
        cert: Option<&PathBuf>,
        key: Option<&PathBuf>,
    ) -> Result<Option<ListenerTls>, &'static str> {
        match (cert, key) {
            (None, None) => Ok(None),
            (Some(cert), Some(key)) => {
                Ok(Some(ListenerTls { cert: cert.clone(), key: key.clone() }))
            }
            (Some(_), None) => Err("tls_key"),
            (None, Some(_)) => Err("tls_cert"),
        }
    }
}
