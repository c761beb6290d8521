//! Listeners that speak TLS.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use listen::{Limits, Tls, bind};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::AsyncWriteExt;
use tokio::time::sleep;
use tokio_rustls::TlsConnector;

use crate::listener::{REFUSAL, ask, connect, get, read_answer, rest, start};

/// Writes a new certificate and its key into `dir`.
fn certificate(dir: &Path) -> (PathBuf, PathBuf, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let (cert, key) = (dir.join("cert.pem"), dir.join("key.pem"));
    fs::write(&cert, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    (cert, key, made.cert.der().clone())
}

fn connector(trusted: CertificateDer<'static>) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(trusted).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

fn localhost() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

#[tokio::test]
async fn requests_and_refusals_pass_through_tls() {
    let dir = tempfile::tempdir().unwrap();
    let (cert, key, der) = certificate(dir.path());
    let listener = start(Limits::default(), Some(Tls::load(&cert, &key).unwrap()));
    let connector = connector(der);
    let mut stream = connector.connect(localhost(), connect(&listener).await).await.unwrap();
    let answer = ask(&mut stream, &get("/peer")).await.unwrap();
    assert_eq!(answer.body, b"127.0.0.1");
    let refusal = ask(&mut stream, b"nonsense\r\n\r\n").await.unwrap();
    assert_eq!((refusal.status, refusal.body.as_slice()), (400, REFUSAL.as_bytes()));
}

#[tokio::test]
async fn client_that_resets_its_connection_leaves_nothing_in_flight() {
    let dir = tempfile::tempdir().unwrap();
    let (cert, key, der) = certificate(dir.path());
    let listener = start(Limits::default(), Some(Tls::load(&cert, &key).unwrap()));
    let tcp = connect(&listener).await;
    let mut stream = connector(der).connect(localhost(), tcp).await.unwrap();
    stream.write_all(&get("/wait")).await.unwrap();
    listener.echo.entered.notified().await;
    stream.get_ref().0.set_zero_linger().unwrap();
    drop(stream);
    while listener.drain.in_flight() > 0 {
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn client_that_breaks_tls_off_is_gone_and_one_that_ends_it_is_answered() {
    let dir = tempfile::tempdir().unwrap();
    let (cert, key, der) = certificate(dir.path());
    let listener = start(Limits::default(), Some(Tls::load(&cert, &key).unwrap()));
    let connector = connector(der);
    for _ in 0..20 {
        let tcp = connect(&listener).await;
        let mut stream = connector.connect(localhost(), tcp).await.unwrap();
        stream.write_all(&get("/wait")).await.unwrap();
        listener.echo.entered.notified().await;
        stream.get_mut().0.shutdown().await.unwrap();
        while listener.drain.in_flight() > 0 {
            sleep(Duration::from_millis(10)).await;
        }
        let tcp = connect(&listener).await;
        let mut stream = connector.connect(localhost(), tcp).await.unwrap();
        stream.write_all(&get("/wait")).await.unwrap();
        stream.shutdown().await.unwrap();
        listener.echo.entered.notified().await;
        sleep(Duration::from_millis(5)).await;
        listener.echo.go.notify_one();
        assert_eq!(read_answer(&mut stream).await.unwrap().status, 200);
    }
}

#[tokio::test]
async fn client_that_never_shakes_hands_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let (cert, key, _) = certificate(dir.path());
    let limits = Limits { handshake_timeout: Duration::from_millis(200), ..Limits::default() };
    let listener = start(limits, Some(Tls::load(&cert, &key).unwrap()));
    assert_eq!(rest(&mut connect(&listener).await).await, b"");
}

#[tokio::test]
async fn reload_takes_a_new_certificate_and_refuses_a_bad_one() {
    let dir = tempfile::tempdir().unwrap();
    let (cert, key, first) = certificate(dir.path());
    let tls = Tls::load(&cert, &key).unwrap();
    let listener = start(Limits::default(), Some(tls.clone()));
    let (.., second) = certificate(dir.path());
    tls.reload().unwrap();
    let old = connector(first).connect(localhost(), connect(&listener).await).await;
    assert!(old.is_err());
    fs::write(&cert, "no certificate").unwrap();
    let error = tls.reload().unwrap_err().to_string();
    assert!(error.contains("cert.pem"), "{error}");
    let new = connector(second).connect(localhost(), connect(&listener).await).await;
    assert_eq!(ask(&mut new.unwrap(), &get("/peer")).await.unwrap().status, 200);
}

#[tokio::test]
async fn errors_name_the_file_or_the_address() {
    let dir = tempfile::tempdir().unwrap();
    let (cert, key, _) = certificate(dir.path());
    let missing = Tls::load(&dir.path().join("absent.pem"), &key).unwrap_err().to_string();
    assert!(missing.contains("absent.pem"), "{missing}");
    let keyless = Tls::load(&cert, &cert).unwrap_err().to_string();
    assert!(keyless.contains("private key") && keyless.contains("cert.pem"), "{keyless}");
    let taken = bind("gateway", "127.0.0.1:0".parse().unwrap()).unwrap();
    let address = taken.local_addr().unwrap();
    let error = bind("explorer", address).unwrap_err().to_string();
    assert!(error.contains("explorer") && error.contains(&address.to_string()), "{error}");
}
