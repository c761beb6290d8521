//! A replayed node behind a certificate of its own, as dcrd is.

use std::sync::Arc;

use replay::{Replay, ReplayOptions, Tls};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

#[tokio::test]
async fn dcrd_over_tls_ends_cleanly() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let tls = Tls::from_pem(&made.cert.pem(), &made.signing_key.serialize_pem()).unwrap();
    assert!(!format!("{tls:?}").contains("PRIVATE"));
    let options = ReplayOptions { tls: Some(tls), ..ReplayOptions::default() };
    let replay = Replay::start("dcr", options).await.unwrap();
    assert!(replay.url().starts_with("https://"));

    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(replay.address()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    let body = r#"{"id":1,"method":"getblockcount"}"#;
    let request = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("{\"jsonrpc\":\"1.0\",\"result\":262,\"error\":null,\"id\":1}\n"));
    assert!(Tls::from_pem("nonsense", "nonsense").is_err());
}
