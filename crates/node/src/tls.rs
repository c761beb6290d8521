//! Whose certificate a node may show.
//!
//! The handshake itself is rustls. Invariant: without a `ca` file the public authorities decide;
//! with one, only what it holds counts. Validity time, name and the handshake's signature are
//! checked in every case.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::TlsConnector;

/// A connector that trusts the certificates of the PEM file `ca`, or the public authorities.
///
/// # Errors
/// The file cannot be read, or holds no usable certificate.
pub(crate) fn connector(ca: Option<&Path>) -> Result<TlsConnector, String> {
    let provider = Arc::new(ring::default_provider());
    let trusted: Vec<CertificateDer<'static>> = match ca {
        None => Vec::new(),
        Some(path) => certificates(path)?,
    };
    let mut roots = RootCertStore::empty();
    match ca {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(_) => {
            for certificate in &trusted {
                roots.add(certificate.clone()).map_err(|error| error.to_string())?;
            }
        }
    }
    let verifier = Verifier::new(roots, trusted, &provider)?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).map_err(|error| error.to_string())?.collect();
    match found {
        Ok(found) if found.is_empty() => Err("holds no certificate".to_owned()),
        Ok(found) => Ok(found),
        Err(error) => Err(error.to_string()),
    }
}

/// Verifies as usual, but lets a trusted certificate also stand for itself.
///
/// dcrd's `rpc.cert` is a self-signed authority that the node shows as its own certificate, which
/// webpki refuses as `CaUsedAsEndEntity`.
#[derive(Debug)]
struct Verifier {
    usual: Arc<WebPkiServerVerifier>,
    trusted: Vec<CertificateDer<'static>>,
}

impl Verifier {
    fn new(
        roots: RootCertStore,
        trusted: Vec<CertificateDer<'static>>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Verifier, String> {
        let usual =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
                .build()
                .map_err(|error| error.to_string())?;
        Ok(Verifier { usual, trusted })
    }
}

/// Whether the only objection is that an authority is shown as a node's own certificate. webpki
/// checks the validity time before it objects to this; a test holds that.
fn is_authority_as_leaf(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(other)) = error else {
        return false;
    };
    matches!(other.0.downcast_ref::<webpki::Error>(), Some(webpki::Error::CaUsedAsEndEntity))
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.usual.verify_server_cert(shown, intermediates, name, ocsp, now) {
            Err(error) if is_authority_as_leaf(&error) => {
                if !self.trusted.iter().any(|trusted| trusted.as_ref() == shown.as_ref()) {
                    return Err(error);
                }
                verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls12_signature(message, shown, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls13_signature(message, shown, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}
