//! How a replayed node is started: where it listens, whom it lets in, which state of the chain it
//! shows.
//!
//! Only values; the server reads them. Passwords never show in `Debug` output.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

/// Which state of the recorded chain is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Phase {
    /// The chain as first built, with transactions in the mempool.
    #[default]
    A,
    /// The same node after a reorganisation. What was not recorded again answers as in `A`.
    B,
    /// xmr only: the blocks of `A` are popped, those of `B` not yet there. Elsewhere the same as
    /// `A`.
    Popped,
}

/// Which recording of a chain is played. Only eth has more than one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Take {
    /// The one recording of a chain; for eth `geth --dev`, about 20 blocks, one phase.
    #[default]
    Main,
    /// eth: anvil, 20 blocks, one phase.
    Anvil,
    /// eth: another anvil with a reorganisation at unchanged height, phases `A` and `B`.
    AnvilReorg,
}

/// Whom the node lets in.
#[derive(Clone, Default)]
pub enum Auth {
    /// Everybody.
    #[default]
    None,
    /// HTTP Basic, as the Core family, zebrad and dcrd ask for it.
    Basic {
        /// The user name; a cookie file's is `__cookie__`.
        user: String,
        /// The password.
        password: String,
    },
    /// HTTP Digest (RFC 7616, MD5, `qop="auth"`), as monerod asks for it: a nonce belongs to one
    /// connection, and its counter must grow.
    Digest {
        /// The user name.
        user: String,
        /// The password.
        password: String,
    },
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Auth::None => f.write_str("None"),
            Auth::Basic { user, .. } => write!(f, "Basic {{ user: {user:?}, password: <secret> }}"),
            Auth::Digest { user, .. } => {
                write!(f, "Digest {{ user: {user:?}, password: <secret> }}")
            }
        }
    }
}

/// The certificate and key of a node that is reached over TLS.
#[derive(Clone)]
pub struct Tls {
    pub(crate) config: Arc<ServerConfig>,
}

impl Tls {
    /// Reads a certificate chain and its private key, both PEM.
    pub fn from_pem(certificates: &str, key: &str) -> Result<Tls, TlsError> {
        let chain: Vec<_> =
            CertificateDer::pem_slice_iter(certificates.as_bytes()).collect::<Result<_, _>>()?;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        Ok(Tls { config: Arc::new(config) })
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls(<secret>)")
    }
}

/// Why a certificate or key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// Not PEM, or not of this kind.
    #[error("not readable as PEM: {0}")]
    Pem(#[from] rustls::pki_types::pem::Error),
    /// The certificate and the key do not fit, or are of an unknown kind.
    #[error("{0}")]
    Unusable(#[from] rustls::Error),
}

/// How a replayed node is started.
#[derive(Debug, Clone)]
pub struct ReplayOptions {
    /// Where it listens. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// Whom it lets in.
    pub auth: Auth,
    /// Over TLS, where given.
    pub tls: Option<Tls>,
    /// dcr: grant websockets, as dcrd does at `/ws`.
    pub websocket: bool,
    /// The state shown first; see [`Replay::set_phase`](crate::Replay::set_phase).
    pub phase: Phase,
    /// Which recording is played.
    pub take: Take,
    /// xmr: answer as the restricted port did, where that was recorded.
    pub restricted: bool,
    /// How many calls the log keeps; older ones are dropped.
    pub log_calls: usize,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        ReplayOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            auth: Auth::None,
            tls: None,
            websocket: true,
            phase: Phase::A,
            take: Take::Main,
            restricted: false,
            log_calls: 1024,
        }
    }
}
