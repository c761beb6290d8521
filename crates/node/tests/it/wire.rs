//! Nodes that speak HTTP oddly: which of their answers count, and which connections live on.

use std::sync::Arc;

use node::{Cause, Sent};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls_pki_types::PrivateKeyDer;
use tokio::io::AsyncWriteExt;

use crate::scripted::*;

/// What becomes of a call that is answered with these bytes, and whether the connection is kept.
async fn answered(bytes: impl Into<Vec<u8>>) -> (Result<String, Cause>, bool) {
    let bytes = bytes.into();
    let server = Scripted::answering(move |_| bytes.clone()).await;
    let (_pool, node) = lone_with(&server, |config| config.response_limit = 1000);
    let outcome = call(&node).await;
    assert_eq!(node.in_flight(), 0);
    let text = outcome.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
    (text.map_err(|error| error.cause), node.state().idle_connections == 1)
}

fn with_lines(lines: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{lines}\r\n{body}")
}

#[tokio::test]
async fn bodies_of_doubtful_length_are_no_answers() {
    let chunks = "1\r\n1\r\n0\r\n\r\n";
    for lines in [
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 11\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 1\r\nContent-Length: 11\r\n",
        "Content-Length: 1\r\n 1\r\n",
        "Content-Length : 1\r\n",
        "Content-Length: +1\r\n",
    ] {
        let outcome = answered(with_lines(lines, chunks)).await;
        assert_eq!(outcome, (Err(Cause::Malformed), false), "{lines:?}");
    }
    let twice = with_lines("Content-Length: 1\r\nContent-Length: 1\r\n", "1");
    assert_eq!(answered(twice).await, (Ok("1".into()), true));
}

#[tokio::test]
async fn chunks_that_cannot_be_read_end_the_answer() {
    let chunked = |body: &str| with_lines("Transfer-Encoding: chunked\r\n", body);
    let endless = format!("1;{}", "x".repeat(9000));
    for body in ["x\r\n", "1\n1\n0\n\n", "1\r\n12\r\n0\r\n\r\n", "ffffffffffffffffff\r\n", &endless]
    {
        let (outcome, kept) = answered(chunked(body)).await;
        assert_eq!((outcome, kept), (Err(Cause::Broken), false), "{body:.20}");
    }
    let fine = chunked("1;a=\"b\"\r\n1\r\n0;c\r\nX: y\r\n\r\n");
    assert_eq!(answered(fine).await, (Ok("1".into()), true));
    let more = chunked("1\r\n1\r\n0\r\n\r\n0\r\n\r\n");
    assert_eq!(answered(more).await, (Ok("1".into()), false));
}

#[tokio::test]
async fn answer_above_the_limit_is_none_however_it_ends() {
    let body = "1".repeat(1001);
    for text in [
        with_lines(&format!("Content-Length: {}\r\n", body.len()), &body),
        with_lines("Transfer-Encoding: chunked\r\n", &format!("3e9\r\n{body}\r\n0\r\n\r\n")),
        with_lines("Connection: close\r\n", &body),
    ] {
        assert_eq!(answered(text).await, (Err(Cause::TooLarge), false));
    }
}

#[tokio::test]
async fn status_without_a_body_ends_a_connection_that_may_send_one() {
    for (line, kept) in
        [("", true), ("Content-Length: 1\r\n", false), ("Transfer-Encoding: chunked\r\n", false)]
    {
        let text = format!("HTTP/1.1 204 No Content\r\n{line}\r\n");
        assert_eq!(answered(text).await, (Ok(String::new()), kept), "{line}");
    }
}

#[tokio::test]
async fn other_protocol_is_no_answer() {
    let text = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
    assert_eq!(answered(text).await, (Err(Cause::Malformed), false));
}

#[tokio::test]
async fn head_of_too_many_lines_is_none() {
    let lines = |count| format!("{}Content-Length: 1\r\n", "X: y\r\n".repeat(count));
    assert_eq!(answered(with_lines(&lines(99), "1")).await, (Ok("1".into()), true));
    assert_eq!(answered(with_lines(&lines(100), "1")).await, (Err(Cause::Malformed), false));
}

#[tokio::test]
async fn interim_heads_without_end_are_no_answer() {
    let server = Scripted::start(|mut peer| async move {
        peer.hear().await;
        let many = "HTTP/1.1 102 Processing\r\n\r\n".repeat(100);
        while peer.stream.write_all(many.as_bytes()).await.is_ok() {}
    })
    .await;
    let (_pool, node) = lone(&server);
    let error = call(&node).await.unwrap_err();
    assert_eq!((error.cause, error.sent), (Cause::Malformed, Sent::Maybe));
    assert_eq!((node.in_flight(), node.state().idle_connections), (0, 0));
}

#[tokio::test]
async fn interim_heads_do_not_lengthen_the_time_for_the_answer() {
    let server = Scripted::start(|mut peer| async move {
        peer.hear().await;
        while peer.stream.write_all(b"HTTP/1.1 102 Processing\r\n\r\n").await.is_ok() {
            tokio::time::sleep(millis(20)).await;
        }
    })
    .await;
    let (_pool, node) = lone_with(&server, |config| config.timeouts.first_byte = millis(100));
    let error = call(&node).await.unwrap_err();
    assert_eq!((error.cause, error.sent), (Cause::TimedOutFirstByte, Sent::Maybe));
}

#[tokio::test]
async fn interim_head_that_nobody_waits_for_closes_its_connection() {
    let (said, mut is_said) = tokio::sync::mpsc::channel(8);
    let server = Scripted::start(move |mut peer| {
        let said = said.clone();
        async move {
            while peer.hear().await.is_some() {
                peer.say(ok("1")).await;
                tokio::time::sleep(millis(10)).await;
                peer.say("HTTP/1.1 100 Continue\r\n\r\n").await;
                let _ = said.send(()).await;
            }
        }
    })
    .await;
    let (_pool, node) = lone(&server);
    for connections in 1..3 {
        assert_eq!(call(&node).await.unwrap(), "1");
        assert_eq!(server.connections(), connections);
        is_said.recv().await.unwrap();
    }
}

#[tokio::test]
async fn node_that_hangs_up_its_half_has_answered_and_is_not_asked_again() {
    let (shut, mut is_shut) = tokio::sync::mpsc::channel(8);
    let server = Scripted::start(move |mut peer| {
        let shut = shut.clone();
        async move {
            peer.hear().await;
            peer.say(ok("1")).await;
            peer.stream.shutdown().await.unwrap();
            let _ = shut.send(()).await;
            // It would hear on, and never answer.
            while peer.hear().await.is_some() {}
        }
    })
    .await;
    let (_pool, node) = lone(&server);
    for connections in 1..4 {
        assert_eq!(call(&node).await.unwrap(), "1");
        is_shut.recv().await.unwrap();
        assert_eq!((server.connections(), server.heard().len()), (connections, connections));
    }
}

#[tokio::test]
async fn request_that_is_not_taken_ends_in_time() {
    let server = Scripted::start(|peer| async move {
        let _open = peer;
        std::future::pending().await
    })
    .await;
    let (_pool, node) = lone_with(&server, |config| config.timeouts.first_byte = millis(100));
    let lease = node.lease(1, node::Weight::Light).await.unwrap();
    let body = bytes::Bytes::from(vec![b' '; 64 << 20]);
    let error = node.send(lease, node::Route::Rpc, body, node::Ids::None).await.unwrap_err();
    assert_eq!((error.cause, error.sent), (Cause::TimedOutFirstByte, Sent::Maybe));
    assert_eq!((node.in_flight(), node.state().idle_connections), (0, 0));
}

fn certificate() -> (rcgen::Certificate, KeyPair) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    (params.self_signed(&key).unwrap(), key)
}

/// A node behind TLS that answers each request with `bytes`, and says `later` after it.
async fn behind_tls(
    bytes: Vec<u8>,
    later: Option<Vec<u8>>,
) -> (Scripted, Arc<node::Pool>, Arc<node::Node>, tokio::sync::mpsc::Receiver<()>) {
    behind_tls_as(vec![bytes], later).await
}

/// The same with an answer in records of its own, which go out together.
async fn behind_tls_in_records(
    records: Vec<Vec<u8>>,
) -> (Scripted, Arc<node::Pool>, Arc<node::Node>, tokio::sync::mpsc::Receiver<()>) {
    behind_tls_as(records, None).await
}

async fn behind_tls_as(
    records: Vec<Vec<u8>>,
    later: Option<Vec<u8>>,
) -> (Scripted, Arc<node::Pool>, Arc<node::Node>, tokio::sync::mpsc::Receiver<()>) {
    let (certificate, key) = certificate();
    let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    let (said, is_said) = tokio::sync::mpsc::channel(8);
    let server = Scripted::start_with(Some(config), move |mut peer| {
        let (records, later, said) = (records.clone(), later.clone(), said.clone());
        async move {
            while peer.hear().await.is_some() {
                for record in &records {
                    peer.say(record).await;
                }
                if let Some(later) = &later {
                    tokio::time::sleep(millis(10)).await;
                    peer.say(later).await;
                    let _ = said.send(()).await;
                }
            }
        }
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ca.pem");
    std::fs::write(&path, certificate.pem()).unwrap();
    let url = format!("https://{}/", server.address);
    let config = node::NodeConfig { ca: Some(path), ..node::NodeConfig::new(url) };
    let pool = pool("btc", "regtest", vec![config]);
    let node = pool.pick(&node::Tried::new()).unwrap();
    (server, pool, node, is_said)
}

#[tokio::test]
async fn connection_behind_tls_is_used_again_whatever_tickets_come() {
    let (server, _pool, node, _) = behind_tls(ok("1"), None).await;
    for _ in 0..20 {
        assert_eq!(call(&node).await.unwrap(), "1");
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn unasked_bytes_behind_tls_close_their_connection() {
    let (server, _pool, node, mut is_said) = behind_tls(ok("1"), Some(ok("666"))).await;
    for connections in 1..4 {
        let answer = send(&node).await.unwrap();
        assert_eq!(answer.body.collect(10).await.unwrap(), "1");
        is_said.recv().await.unwrap();
        assert_eq!(server.connections(), connections);
    }
    let (server, _pool, node, _) = behind_tls([ok("1"), ok("666")].concat(), None).await;
    for connections in 1..4 {
        assert_eq!(call(&node).await.unwrap(), "1");
        assert_eq!(server.connections(), connections);
    }
}

#[tokio::test]
async fn large_answers_behind_tls_arrive_whole() {
    let body = format!("\"{}\"", "x".repeat(3 << 20));
    let (server, _pool, node, _) = behind_tls(ok(&body), None).await;
    for _ in 0..2 {
        assert_eq!(call(&node).await.unwrap(), body);
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn answer_that_comes_byte_by_byte_arrives_whole() {
    let early = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    let length = with_lines("Content-Length: 3\r\n", "123");
    let chunks =
        with_lines("Transfer-Encoding: chunked\r\n", "1;a\r\n1\r\n2\r\n23\r\n0\r\nX: y\r\n\r\n");
    for text in [format!("{early}{length}"), length, format!("{early}{chunks}"), chunks] {
        let server = Scripted::start(move |mut peer| {
            let text = text.clone();
            async move {
                while peer.hear().await.is_some() {
                    for byte in text.bytes() {
                        peer.say([byte]).await;
                        tokio::time::sleep(millis(1)).await;
                    }
                }
            }
        })
        .await;
        let (_pool, node) = lone(&server);
        for _ in 0..2 {
            assert_eq!(call(&node).await.unwrap(), "123");
        }
        assert_eq!((server.connections(), node.state().idle_connections), (1, 1));
    }
}

#[tokio::test]
async fn answer_cut_once_at_any_byte_arrives_whole() {
    let text = concat!(
        "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "2\r\n12\r\n1\r\n3\r\n0\r\n\r\n"
    );
    let at = Arc::new(std::sync::atomic::AtomicUsize::new(1));
    let server = Scripted::start(move |mut peer| {
        let at = at.clone();
        async move {
            while peer.hear().await.is_some() {
                let at = at.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                peer.say(&text[..at]).await;
                tokio::time::sleep(millis(2)).await;
                peer.say(&text[at..]).await;
            }
        }
    })
    .await;
    let (_pool, node) = lone(&server);
    for at in 1..text.len() {
        assert_eq!(call(&node).await.unwrap(), "123", "{at}");
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn old_http_ends_with_its_connection_unless_told_otherwise() {
    for (lines, kept) in [
        ("Content-Length: 1\r\n", false),
        ("Content-Length: 1\r\nConnection: Keep-Alive\r\n", true),
        ("Content-Length: 1\r\nConnection: keep-alive, close\r\n", false),
    ] {
        let outcome = answered(format!("HTTP/1.0 200 OK\r\n{lines}\r\n1")).await;
        assert_eq!(outcome, (Ok("1".into()), kept), "{lines:?}");
    }
    let chunked = "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n1\r\n0\r\n\r\n";
    assert_eq!(answered(chunked).await, (Err(Cause::Malformed), false));
    let server = Scripted::start(|mut peer| async move {
        peer.hear().await;
        peer.say("HTTP/1.0 200 OK\r\n\r\n12").await;
        peer.close().await;
    })
    .await;
    let (_pool, node) = lone(&server);
    let answer = send(&node).await.unwrap();
    assert!(answer.close_delimited && answer.length.is_none_or(|length| length == 2));
    assert_eq!(answer.body.collect(10).await.unwrap(), "12");
    assert_eq!(node.state().idle_connections, 0);
}

#[tokio::test]
async fn second_answer_behind_a_refusal_is_nobodys() {
    let server = Scripted::start(|mut peer| async move {
        let challenge =
            "WWW-Authenticate: Digest qop=\"auth\",algorithm=MD5,realm=\"r\",nonce=\"n\"";
        let text = format!("HTTP/1.1 401 No\r\n{challenge}\r\nContent-Length: 0\r\n\r\n");
        let bytes = [text.into_bytes(), ok("666")].concat();
        while let Some(heard) = peer.hear().await {
            match heard.header("authorization") {
                None => peer.say(&bytes).await,
                Some(_) => peer.say(ok("1")).await,
            }
        }
    })
    .await;
    let config = node::NodeConfig {
        user: Some("user".into()),
        password: Some(node::Secret::new("word")),
        auth: node::Auth::Digest,
        ..node::NodeConfig::new(server.url())
    };
    let pool = pool("xmr", "regtest", vec![config]);
    let node = pool.pick(&node::Tried::new()).unwrap();
    assert_eq!(call(&node).await.unwrap(), "1");
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn second_answer_in_another_record_of_tls_is_nobodys() {
    let (server, _pool, node, _) = behind_tls_in_records(vec![ok("1"), ok("666")]).await;
    for connections in 1..4 {
        assert_eq!(call(&node).await.unwrap(), "1");
        assert_eq!(server.connections(), connections);
        tokio::time::sleep(millis(10)).await;
    }
}

#[tokio::test]
async fn request_cut_short_by_its_answer_is_not_followed_by_another() {
    let server = Scripted::start(|mut peer| async move {
        // Only the head is read; the rest of 8 MB is not.
        let mut some = [0; 1000];
        let _ = tokio::io::AsyncReadExt::read(&mut peer.stream, &mut some).await;
        peer.say(ok("1")).await;
        std::future::pending().await
    })
    .await;
    let (_pool, node) = lone(&server);
    for connections in 1..3 {
        let lease = node.lease(1, node::Weight::Light).await.unwrap();
        let body = bytes::Bytes::from(vec![b' '; 8 << 20]);
        let answer = node.send(lease, node::Route::Rpc, body, node::Ids::None).await.unwrap();
        assert_eq!(answer.body.collect(10).await.unwrap(), "1");
        assert_eq!((server.connections(), node.state().idle_connections), (connections, 0));
    }
}
