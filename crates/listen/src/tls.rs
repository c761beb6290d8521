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
use x509_parser::prelude::{ASN1Time, FromDer, X509Certificate};

/// The certificate of a listener; clones share it, so that one reload reaches all.
#[derive(Clone)]
pub struct Tls(Arc<Files>);

struct Files {
    cert: PathBuf,
    key: PathBuf,
    usable: ArcSwap<Usable>,
}

/// A certificate as it was read.
struct Usable {
    config: Arc<ServerConfig>,
    validity: Option<Validity>,
}

/// A certificate that was read again and not yet put to use.
pub struct Renewed {
    files: Arc<Files>,
    usable: Usable,
}

impl Renewed {
    /// Puts it to use for new connections.
    pub fn put(self) {
        self.files.usable.store(Arc::new(self.usable));
    }

    /// Why clients will not take it at this moment, if they look when it holds.
    pub fn out_of_date(&self) -> Option<String> {
        out_of_date(&self.files.cert, self.usable.validity)
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
        let usable = ArcSwap::from_pointee(read(cert, key)?);
        Ok(Tls(Arc::new(Files { cert: cert.to_owned(), key: key.to_owned(), usable })))
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
        Ok(Renewed { usable: read(&self.0.cert, &self.0.key)?, files: self.0.clone() })
    }

    /// Why clients will not take the certificate in use at this moment, if they look when it holds:
    /// it is past its end, or before its beginning.
    pub fn out_of_date(&self) -> Option<String> {
        out_of_date(&self.0.cert, self.0.usable.load().validity)
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.usable.load().config)
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("cert", &self.0.cert).finish_non_exhaustive()
    }
}

/// From when until when a certificate holds.
#[derive(Clone, Copy)]
struct Validity {
    from: ASN1Time,
    until: ASN1Time,
}

impl Validity {
    /// Of the leaf; none where its form is not known here, which is no reason not to use it.
    fn of(leaf: &CertificateDer<'_>) -> Option<Validity> {
        let (_, leaf) = X509Certificate::from_der(leaf).ok()?;
        Some(Validity { from: leaf.validity().not_before, until: leaf.validity().not_after })
    }
}

fn out_of_date(cert: &Path, validity: Option<Validity>) -> Option<String> {
    let (validity, now) = (validity?, ASN1Time::now());
    let told =
        |what: &str, when: ASN1Time| format!("certificate {}: {what} {when}", cert.display());
    if now < validity.from {
        Some(told("does not hold before", validity.from))
    } else if now > validity.until {
        Some(told("held until", validity.until))
    } else {
        None
    }
}

fn read(cert: &Path, key: &Path) -> Result<Usable, TlsError> {
    let unusable = |reason: String| TlsError::Certificate { path: cert.to_owned(), reason };
    let chain = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(error.to_string()))?;
    if chain.is_empty() {
        return Err(unusable("holds no certificate in PEM form".into()));
    }
    let validity = chain.first().and_then(Validity::of);
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
    Ok(Usable { config: Arc::new(config), validity })
}
