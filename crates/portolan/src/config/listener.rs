//! Where services listen, and how they read what their sections have in common.
//!
//! The gateway and the explorer have more to say, so their fields are their own: a section that
//! refuses unknown fields cannot borrow known ones.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use http::HeaderValue;
use listen::Cors;
use serde::Deserialize;

/// `[console]`, and `[metrics]` with `/metrics`, `/healthz` and `/readyz`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListenerConfig {
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

/// Origins as services compare them. Values that cannot stand in a header were refused when
/// the configuration was checked.
pub(super) fn cors(origins: &[String]) -> Cors {
    if origins.iter().any(|origin| origin == "*") {
        return Cors::Any;
    }
    Cors::Only(origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect())
}

/// Whole milliseconds.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
