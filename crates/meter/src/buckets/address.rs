//! Where a Valkey or Redis is, and how it is spoken to.
//!
//! Invariants: a password is in a file and nowhere else, and is read anew for each connection; with
//! `rediss` the server's certificate is verified in full.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redis::{ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::line::Line;
use crate::tls;

const PLAIN: &str = "redis://";
const TLS: &str = "rediss://";

/// The address of a Valkey or Redis, with what is needed to enter it.
#[derive(Clone)]
pub struct BucketsAddress {
    url: String,
    host: String,
    port: u16,
    with_tls: bool,
    settings: RedisConnectionInfo,
    password_file: Option<PathBuf>,
    ca: Option<PathBuf>,
}

/// Why an address cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BucketsAddressError {
    /// Not a URL of Redis.
    #[error("must be like redis://host:6379, or rediss:// for TLS")]
    Form,
    /// It has a password in it.
    #[error("must have no password in it: give a file that has it")]
    Password,
}

impl BucketsAddress {
    /// An address, a file with the password, and a file with the certificates of the authorities
    /// that the server's may come from (PEM; else those that browsers trust).
    ///
    /// # Errors
    /// It is none, or has a secret in it.
    pub fn new(
        url: &str,
        password_file: Option<&Path>,
        ca: Option<&Path>,
    ) -> Result<BucketsAddress, BucketsAddressError> {
        let with_tls = url.starts_with(TLS);
        let plain = match url.strip_prefix(TLS) {
            Some(rest) => format!("{PLAIN}{rest}"),
            None if url.starts_with(PLAIN) => url.to_owned(),
            None => return Err(BucketsAddressError::Form),
        };
        let info = plain.into_connection_info().map_err(|_| BucketsAddressError::Form)?;
        let settings = info.redis_settings().clone();
        if settings.password().is_some() {
            return Err(BucketsAddressError::Password);
        }
        let ConnectionAddr::Tcp(host, port) = info.addr().clone() else {
            return Err(BucketsAddressError::Form);
        };
        let own = |path: Option<&Path>| path.map(Path::to_owned);
        let (password_file, ca) = (own(password_file), own(ca));
        let url = url.to_owned();
        Ok(BucketsAddress { url, host, port, with_tls, settings, password_file, ca })
    }

    /// The address as it was given; there is no secret in it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Opens a line.
    pub(super) async fn connect(&self) -> Result<Line, String> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = stream.map_err(|error| error.to_string())?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        if !self.with_tls {
            return self.enter(stream).await;
        }
        let name = ServerName::try_from(self.host.clone()).map_err(|error| error.to_string())?;
        let config = Arc::new(tls::client(self.ca.as_deref())?);
        let stream = TlsConnector::from(config).connect(name, stream).await;
        self.enter(stream.map_err(|error| error.to_string())?).await
    }

    async fn enter(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Line, String> {
        let mut settings = self.settings.clone();
        if let Some(path) = &self.password_file {
            settings = settings.set_password(tls::password(path)?);
        }
        Line::enter(stream, &settings).await
    }
}

impl fmt::Debug for BucketsAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BucketsAddress").field("url", &self.url).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_address_or_has_a_secret_is_refused() {
        let address = |url| BucketsAddress::new(url, None, None);
        let is = |url| address(url).map(|it| (it.host, it.port, it.with_tls));
        assert_eq!(is("redis://127.0.0.1:7000"), Ok(("127.0.0.1".into(), 7000, false)));
        assert_eq!(is("redis://user@cache.example/2"), Ok(("cache.example".into(), 6379, false)));
        assert_eq!(is("rediss://cache.example"), Ok(("cache.example".into(), 6379, true)));
        for odd in ["", "cache", "http://cache", "postgres://u@h/p", "redis://", "redis://h/x"] {
            assert_eq!(is(odd), Err(BucketsAddressError::Form), "{odd}");
        }
        for url in ["redis://:secret@h", "rediss://user:secret@h:1/0"] {
            let error = address(url).unwrap_err();
            assert_eq!(error, BucketsAddressError::Password);
            assert!(!format!("{error} {error:?}").contains("secret"));
        }
    }
}
