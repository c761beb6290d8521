//! Whose certificate is believed.

use std::path::PathBuf;
use std::sync::Arc;

use node::{Cause, NodeConfig, NodeError, Sent, Tried};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::TempDir;

use crate::scripted::*;

fn server_config(certificate: CertificateDer<'static>, key: &KeyPair) -> ServerConfig {
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap()
}

fn pem_file(dir: &TempDir, pem: &str) -> PathBuf {
    let path = dir.path().join("ca.pem");
    std::fs::write(&path, pem).unwrap();
    path
}

/// What dcrd makes: a self-signed authority that it shows as its own certificate.
fn dcrd_like(
    names: &[&str],
    change: impl FnOnce(&mut CertificateParams),
) -> (rcgen::Certificate, KeyPair) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap(), key)
}

async fn serving(config: ServerConfig) -> Scripted {
    Scripted::start_with(Some(config), |mut peer| async move {
        while peer.hear().await.is_some() {
            peer.say(ok("1")).await;
        }
    })
    .await
}

async fn try_call(
    server: &Scripted,
    ca: Option<PathBuf>,
    server_name: Option<&str>,
) -> Result<bytes::Bytes, NodeError> {
    let url = format!("https://{}/", server.address);
    let config =
        NodeConfig { ca, server_name: server_name.map(str::to_owned), ..NodeConfig::new(url) };
    let pool = pool("dcr", "simnet", vec![config]);
    let node = pool.pick(&Tried::new()).unwrap();
    call(&node).await?;
    call(&node).await
}

fn is_tls_error(outcome: Result<bytes::Bytes, NodeError>) {
    let error = outcome.unwrap_err();
    assert_eq!((error.cause, error.sent), (Cause::Tls, Sent::Nothing), "{error}");
}

#[tokio::test]
async fn private_authority_is_believed_where_it_is_given() {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names = vec!["127.0.0.1".to_owned(), "node.example".to_owned()];
    let leaf = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
    let server = serving(server_config(leaf.der().clone(), &key)).await;
    let dir = tempfile::tempdir().unwrap();
    let ca = pem_file(&dir, &issuer.pem());
    assert_eq!(try_call(&server, Some(ca.clone()), None).await.unwrap(), "1");
    assert_eq!(try_call(&server, Some(ca.clone()), Some("node.example")).await.unwrap(), "1");
    is_tls_error(try_call(&server, Some(ca), Some("other.example")).await);
    is_tls_error(try_call(&server, None, None).await);
    assert!(server.heard().len() == 4, "nothing was sent to a node that is not trusted");
}

#[tokio::test]
async fn own_certificate_of_dcrd_is_believed_where_it_is_given() {
    let (certificate, key) = dcrd_like(&["127.0.0.1", "localhost"], |_| {});
    let server = serving(server_config(certificate.der().clone(), &key)).await;
    let dir = tempfile::tempdir().unwrap();
    let ca = pem_file(&dir, &certificate.pem());
    assert_eq!(try_call(&server, Some(ca.clone()), None).await.unwrap(), "1");
    is_tls_error(try_call(&server, Some(ca), Some("other.example")).await);
    is_tls_error(try_call(&server, None, None).await);
}

#[tokio::test]
async fn another_self_signed_certificate_is_refused() {
    let (shown, key) = dcrd_like(&["127.0.0.1"], |_| {});
    let (trusted, _) = dcrd_like(&["127.0.0.1"], |_| {});
    let server = serving(server_config(shown.der().clone(), &key)).await;
    let dir = tempfile::tempdir().unwrap();
    is_tls_error(try_call(&server, Some(pem_file(&dir, &trusted.pem())), None).await);
}

#[tokio::test]
async fn certificate_without_its_key_is_refused() {
    let (certificate, _) = dcrd_like(&["127.0.0.1"], |_| {});
    let stranger = KeyPair::generate().unwrap();
    // rustls would not serve such a pair, so the key check is left to the client.
    let provider = rustls::crypto::ring::default_provider();
    let der = PrivateKeyDer::try_from(stranger.serialize_der()).unwrap();
    let signer = provider.key_provider.load_private_key(der).unwrap();
    let pair = rustls::sign::CertifiedKey::new(vec![certificate.der().clone()], signer);
    let config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(pair)));
    let server = serving(config).await;
    let dir = tempfile::tempdir().unwrap();
    is_tls_error(try_call(&server, Some(pem_file(&dir, &certificate.pem())), None).await);
}

#[tokio::test]
async fn own_certificate_past_its_time_is_refused() {
    for (from, to) in [(2001, 2002), (2997, 2998)] {
        let (certificate, key) = dcrd_like(&["127.0.0.1"], |params| {
            params.not_before = date_time_ymd(from, 1, 1);
            params.not_after = date_time_ymd(to, 1, 1);
        });
        let server = serving(server_config(certificate.der().clone(), &key)).await;
        let dir = tempfile::tempdir().unwrap();
        is_tls_error(try_call(&server, Some(pem_file(&dir, &certificate.pem())), None).await);
    }
}

#[tokio::test]
async fn plain_node_behind_https_is_a_tls_error() {
    let server = Scripted::answering(|_| ok("1")).await;
    let garbage = Scripted::start(|mut peer| async move {
        peer.say("HTTP/1.0 400 Bad Request\r\n\r\n").await;
        peer.close().await;
    })
    .await;
    let (certificate, _) = dcrd_like(&["127.0.0.1"], |_| {});
    let dir = tempfile::tempdir().unwrap();
    is_tls_error(try_call(&garbage, Some(pem_file(&dir, &certificate.pem())), None).await);
    drop(server);
}

#[tokio::test]
async fn answer_without_length_ends_well_only_with_the_tls_close() {
    for orderly in [true, false] {
        let (certificate, key) = dcrd_like(&["127.0.0.1"], |_| {});
        let config = server_config(certificate.der().clone(), &key);
        let server = Scripted::start_with(Some(config), move |mut peer| async move {
            peer.hear().await;
            peer.say("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"result\":1}\n").await;
            if orderly {
                peer.close().await;
            }
        })
        .await;
        let dir = tempfile::tempdir().unwrap();
        let outcome = try_call(&server, Some(pem_file(&dir, &certificate.pem())), None).await;
        assert_eq!(outcome.is_ok(), orderly, "{outcome:?}");
    }
}

#[test]
fn unusable_authority_is_told_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let chain = chain::find("dcr").unwrap();
    let missing = dir.path().join("missing.pem");
    for ca in [pem_file(&dir, "no certificate"), missing] {
        let nodes = vec![NodeConfig { ca: Some(ca), ..NodeConfig::new("https://n:1/") }];
        let config = node::PoolConfig { nodes, ..Default::default() };
        let error = node::Pool::new(chain, chain.mainnet(), config).err().unwrap();
        assert!(matches!(error, node::PoolError::File { index: 0, .. }), "{error}");
    }
}
