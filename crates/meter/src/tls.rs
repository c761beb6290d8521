//! TLS to the servers that keep what several machines share.
//!
//! Invariant: a server's certificate is verified in full, against the authorities of a file or, without
//! one, those that browsers trust.

use std::path::Path;
use std::sync::Arc;
use std::{fmt, fs};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// What a client needs that trusts the authorities of a file (PEM), or those of the web.
///
/// # Errors
/// A text that names the file and what is wrong with it.
pub(crate) fn client(ca: Option<&Path>) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    match ca {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(path) => {
            let text = fs::read(path).map_err(|error| unreadable(path, &error))?;
            for certificate in CertificateDer::pem_slice_iter(&text) {
                let certificate = certificate.map_err(|error| unreadable(path, &error))?;
                roots.add(certificate).map_err(|error| unreadable(path, &error))?;
            }
            if roots.is_empty() {
                return Err(unreadable(path, &"no certificate is in it"));
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// The password that a file has, without the end of its line.
///
/// # Errors
/// A text that names the file and what is wrong with it.
pub(crate) fn password(path: &Path) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

fn unreadable(path: &Path, why: &dyn fmt::Display) -> String {
    format!("{}: {why}", path.display())
}
