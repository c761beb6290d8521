//! TLS on a listener.
//!
//! Reads certificate and key files, now and again on request; leaves handshakes to the accept
//! loop. Invariant: a file that cannot be used never replaces one that could.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// The certificate of a listener; clones share it, so that one reload reaches all.
#[derive(Clone)]
pub struct Tls(Arc<Files>);

struct Files {
    cert: PathBuf,
    key: PathBuf,
    config: ArcSwap<ServerConfig>,
}

/// A certificate that was read again and not yet put to use.
pub struct Renewed {
    files: Arc<Files>,
    config: Arc<ServerConfig>,
}

impl Renewed {
    /// Puts it to use for new connections.
    pub fn put(self) {
        self.files.config.store(self.config);
    }
}

/// Why a certificate or its key cannot be used. The texts name the file, never its content.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The certificate file is missing, or holds no certificate in PEM form.
    #[error("certificate {}: {reason}", path.display())]
    Certificate {
        /// The file as configured.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The key file is missing, or holds no private key in PEM form.
    #[error("private key {}: {reason}", path.display())]
    Key {
        /// The file as configured.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Certificate and key are well-formed, but do not belong together or are of no known kind.
    #[error("certificate {} with its key: {source}", path.display())]
    Pair {
        /// The certificate file as configured.
        path: PathBuf,
        /// What rustls says.
        source: rustls::Error,
    },
}

impl Tls {
    /// Reads a certificate chain, leaf first, and its private key, both PEM files.
    ///
    /// # Errors
    /// [`TlsError`] if either cannot be read, or they do not belong together.
    pub fn load(cert: &Path, key: &Path) -> Result<Tls, TlsError> {
        let config = ArcSwap::from_pointee(read(cert, key)?);
        Ok(Tls(Arc::new(Files { cert: cert.to_owned(), key: key.to_owned(), config })))
    }

    /// Reads the same files again; new connections get the new certificate.
    ///
    /// # Errors
    /// As [`Tls::load`]; the certificate in use then stays.
    pub fn reload(&self) -> Result<(), TlsError> {
        self.renewed().map(Renewed::put)
    }

    /// Reads the same files again without using them yet, so that several listeners change
    /// together or not at all.
    ///
    /// # Errors
    /// As [`Tls::load`].
    pub fn renewed(&self) -> Result<Renewed, TlsError> {
        Ok(Renewed { config: Arc::new(read(&self.0.cert, &self.0.key)?), files: self.0.clone() })
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        self.0.config.load_full()
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("cert", &self.0.cert).finish_non_exhaustive()
    }
}

fn read(cert: &Path, key: &Path) -> Result<ServerConfig, TlsError> {
    let unusable = |reason: String| TlsError::Certificate { path: cert.to_owned(), reason };
    let chain = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(error.to_string()))?;
    if chain.is_empty() {
        return Err(unusable("holds no certificate in PEM form".into()));
    }
    let key_der = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| TlsError::Key { path: key.to_owned(), reason: error.to_string() })?;
    let pair = |source| TlsError::Pair { path: cert.to_owned(), source };
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(pair)?
        .with_no_client_auth()
        .with_single_cert(chain, key_der)
        .map_err(pair)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
