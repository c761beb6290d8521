//! Where a PostgreSQL is, and how it is spoken to.
//!
//! Invariants: a password is in a file and nowhere else, and is read anew for each connection; with
//! another machine TLS is spoken and its certificate verified, unless the address says otherwise.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::store::StoreError;
use crate::tls;

/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// A peer that says nothing is asked whether it is there after so long, and then so often.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_TRIES: u32 = 3;

/// The address of a database in PostgreSQL, with what is needed to enter it.
#[derive(Clone, PartialEq)]
pub struct PostgresAddress {
    url: String,
    password_file: Option<PathBuf>,
    ca: Option<PathBuf>,
    config: tokio_postgres::Config,
}

/// Why an address cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Not a URL of PostgreSQL.
    #[error("must be like postgres://user@host/database")]
    Form,
    /// It has a password in it.
    #[error("must have no password in it: give a file that has it")]
    Password,
    /// It leaves open whether TLS is spoken.
    #[error("sslmode must be require (the default for other machines) or disable")]
    Mode,
}

impl PostgresAddress {
    /// An address, a file with the password, and a file with the certificates of the authorities
    /// that the server's may come from (PEM; else those that browsers trust).
    pub fn new(
        url: &str,
        password_file: Option<&Path>,
        ca: Option<&Path>,
    ) -> Result<PostgresAddress, AddressError> {
        if !PostgresAddress::looks_like(url) {
            return Err(AddressError::Form);
        }
        let mut config = tokio_postgres::Config::from_str(url).map_err(|_| AddressError::Form)?;
        if config.get_password().is_some() {
            return Err(AddressError::Password);
        }
        if config.get_hosts().is_empty() || config.get_user().is_none() {
            return Err(AddressError::Form);
        }
        let said = url.contains("sslmode=");
        match config.get_ssl_mode() {
            SslMode::Prefer if said => return Err(AddressError::Mode),
            SslMode::Prefer if config.get_hosts().iter().all(is_here) => {
                config.ssl_mode(SslMode::Disable);
            }
            SslMode::Disable => {}
            _ => {
                config.ssl_mode(SslMode::Require);
            }
        }
        config.connect_timeout(CONNECT_TIMEOUT).tcp_user_timeout(KEEPALIVE_IDLE * 2);
        config.keepalives_idle(KEEPALIVE_IDLE).keepalives_interval(KEEPALIVE_INTERVAL);
        config.keepalives_retries(KEEPALIVE_TRIES);
        config.application_name(format!("portolan {}", std::process::id()));
        let own = |path: Option<&Path>| path.map(Path::to_owned);
        Ok(PostgresAddress {
            url: url.to_owned(),
            password_file: own(password_file),
            ca: own(ca),
            config,
        })
    }

    /// Is it meant to be the address of a PostgreSQL?
    pub fn looks_like(url: &str) -> bool {
        url.starts_with("postgres://") || url.starts_with("postgresql://")
    }

    /// The address as it was given; there is no secret in it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What a connection takes, with the password as it is now.
    pub(super) fn config(&self) -> Result<tokio_postgres::Config, StoreError> {
        let mut config = self.config.clone();
        if let Some(path) = &self.password_file {
            config.password(tls::password(path).map_err(StoreError::Failed)?);
        }
        Ok(config)
    }

    /// TLS for a connection; None where none is spoken.
    pub(super) fn tls(&self) -> Result<Option<MakeRustlsConnect>, StoreError> {
        if self.config.get_ssl_mode() == SslMode::Disable {
            return Ok(None);
        }
        let config = tls::client(self.ca.as_deref()).map_err(StoreError::Failed)?;
        Ok(Some(MakeRustlsConnect::new(config)))
    }
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresAddress").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Is it on this machine, so that nobody listens on the way?
fn is_here(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost"
                || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(url: &str) -> Result<SslMode, AddressError> {
        PostgresAddress::new(url, None, None).map(|address| address.config.get_ssl_mode())
    }

    #[test]
    fn other_machines_are_spoken_to_in_tls_unless_the_address_says_no() {
        assert_eq!(mode("postgres://u@db.example/p"), Ok(SslMode::Require));
        assert_eq!(mode("postgresql://u@10.0.0.1:5433/p?sslmode=require"), Ok(SslMode::Require));
        assert_eq!(mode("postgres://u@db.example/p?sslmode=disable"), Ok(SslMode::Disable));
        assert_eq!(mode("postgres://u@127.0.0.1/p"), Ok(SslMode::Disable));
        assert_eq!(mode("postgres://u@localhost/p?sslmode=require"), Ok(SslMode::Require));
        assert_eq!(mode("postgres://u@db.example/p?sslmode=prefer"), Err(AddressError::Mode));
    }

    #[test]
    fn what_is_no_address_or_has_a_secret_is_refused() {
        for odd in ["", "data", "postgres://", "postgres:///p", "mysql://u@h/p", "host=h user=u"] {
            assert_eq!(mode(odd), Err(AddressError::Form), "{odd}");
        }
        assert_eq!(mode("postgres://u:secret@h/p"), Err(AddressError::Password));
        let error = PostgresAddress::new("postgres://u:secret@h/p", None, None).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("secret"));
    }
}
