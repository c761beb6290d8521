//! How requests and answers end: bodies that nobody reads, answers that break off, clients that
//! shut their sending side.

use std::io::ErrorKind;
use std::sync::atomic::Ordering;
use std::time::Duration;

use listen::Limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::listener::{ask, connect, get, read_answer, rest, start};

fn head(path: &str, framing: &str) -> Vec<u8> {
    format!("POST {path} HTTP/1.1\r\nhost: h\r\n{framing}\r\n\r\n").into_bytes()
}

#[tokio::test]
async fn connection_lives_on_after_a_body_that_comes_later_and_nobody_reads() {
    let listener = start(Limits::default(), None);
    let mut stream = connect(&listener).await;
    stream.set_nodelay(true).unwrap();
    for _ in 0..20 {
        stream.write_all(&head("/unread", "content-length: 60000")).await.unwrap();
        sleep(Duration::from_millis(10)).await;
        stream.write_all(&[b'x'; 60_000]).await.unwrap();
        let answer = read_answer(&mut stream).await.unwrap();
        assert_eq!((answer.status, answer.header("connection")), (200, None));
        stream.write_all(&head("/unread", "transfer-encoding: chunked")).await.unwrap();
        sleep(Duration::from_millis(10)).await;
        stream.write_all(b"5\r\nhello\r\n0\r\n\r\n").await.unwrap();
        let answer = read_answer(&mut stream).await.unwrap();
        assert_eq!((answer.status, answer.header("connection")), (200, None));
        assert_eq!(ask(&mut stream, &get("/peer")).await.unwrap().body, b"127.0.0.1");
    }
}

#[tokio::test]
async fn large_body_that_nobody_reads_ends_the_connection_and_the_answer_says_so() {
    let listener = start(Limits::default(), None);
    let unread = [head("/unread", "content-length: 65537"), vec![b'x'; 65_537]].concat();
    let mut stream = connect(&listener).await;
    let answer = ask(&mut stream, &unread).await.unwrap();
    assert_eq!(
        (answer.body.as_slice(), answer.header("connection")),
        (&b"unread"[..], Some("close"))
    );
    assert_eq!(rest(&mut stream).await, b"");
    let mut stream = connect(&listener).await;
    let chunk = [b"ffff\r\n", &[b'x'; 0xffff][..], b"\r\n"].concat();
    stream.write_all(&head("/unread", "transfer-encoding: chunked")).await.unwrap();
    let answer = ask(&mut stream, &[chunk.clone(), chunk].concat()).await.unwrap();
    assert_eq!(answer.header("connection"), Some("close"));
    // Many clients share the connection of a proxy: it is worth reading more for.
    listener.echo.behind_proxy.store(true, Ordering::SeqCst);
    let mut stream = connect(&listener).await;
    assert_eq!(ask(&mut stream, &unread).await.unwrap().header("connection"), None);
    assert_eq!(ask(&mut stream, &get("/peer")).await.unwrap().status, 200);
}

#[tokio::test]
async fn body_that_does_not_come_ends_the_connection_and_the_answer_says_so() {
    let listener = start(Limits::default(), None);
    for framing in ["content-length: 10", "transfer-encoding: chunked"] {
        let mut stream = connect(&listener).await;
        let answer = ask(&mut stream, &head("/unread", framing)).await.unwrap();
        assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
        assert_eq!(rest(&mut stream).await, b"");
    }
}

#[tokio::test]
async fn client_that_waits_for_100_continue_is_answered_at_once() {
    let listener = start(Limits::default(), None);
    let mut stream = connect(&listener).await;
    let asked = head("/unread", "content-length: 10\r\nexpect: 100-continue");
    let answer = ask(&mut stream, &asked).await.unwrap();
    assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
}

/// Reads to the end of the connection, which has to be a reset.
async fn is_reset(mut stream: impl tokio::io::AsyncRead + Unpin) -> Vec<u8> {
    let mut text = Vec::new();
    let mut part = [0; 4096];
    loop {
        match stream.read(&mut part).await {
            Ok(0) => panic!("an end that looks whole after {}", text.escape_ascii()),
            Ok(read) => text.extend_from_slice(&part[..read]),
            Err(error) => {
                assert!(
                    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof),
                    "{error}"
                );
                return text;
            }
        }
    }
}

#[tokio::test]
async fn answer_that_breaks_off_is_reset_for_every_client() {
    let listener = start(Limits::default(), None);
    for version in ["1.0", "1.1"] {
        let mut stream = connect(&listener).await;
        let asked = format!("GET /broken HTTP/{version}\r\nhost: h\r\n\r\n");
        stream.write_all(asked.as_bytes()).await.unwrap();
        let text = is_reset(stream).await;
        assert!(text.windows(6).any(|part| part == b"a part"), "{}", text.escape_ascii());
    }
}

#[tokio::test]
async fn answer_that_is_cut_off_for_a_client_that_does_not_read_is_reset() {
    let limits =
        Limits { write_stall_timeout: Duration::from_millis(300), ..crate::listener::limits() };
    let listener = start(limits, None);
    let mut stream = connect(&listener).await;
    stream.write_all(b"GET /large HTTP/1.0\r\n\r\n").await.unwrap();
    while listener.drain.in_flight() == 0 {
        sleep(Duration::from_millis(10)).await;
    }
    while listener.drain.in_flight() > 0 {
        sleep(Duration::from_millis(10)).await;
    }
    assert!(is_reset(stream).await.len() < 32 << 20);
}

async fn half_closes(stream: &mut TcpStream, request: &[u8]) {
    stream.write_all(request).await.unwrap();
    stream.shutdown().await.unwrap();
}

#[tokio::test]
async fn client_that_shuts_its_sending_side_is_answered() {
    let listener = start(Limits::default(), None);
    for _ in 0..20 {
        let mut stream = connect(&listener).await;
        half_closes(&mut stream, &get("/wait")).await;
        listener.echo.entered.notified().await;
        sleep(Duration::from_millis(20)).await;
        listener.echo.go.notify_one();
        assert_eq!(read_answer(&mut stream).await.unwrap().status, 200);
        assert_eq!(rest(&mut stream).await, b"");
        let mut stream = connect(&listener).await;
        let posted = [head("/", "content-length: 5"), b"hello".to_vec()].concat();
        half_closes(&mut stream, &[posted.clone(), posted].concat()).await;
        for _ in 0..2 {
            assert_eq!(read_answer(&mut stream).await.unwrap().body, b"hello");
        }
        assert_eq!(rest(&mut stream).await, b"");
    }
    while listener.drain.in_flight() > 0 {
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn client_that_shuts_its_sending_side_within_a_body_is_answered_without_delay() {
    let listener = start(Limits::default(), None);
    let mut stream = connect(&listener).await;
    half_closes(&mut stream, &[head("/", "content-length: 50"), b"hello".to_vec()].concat()).await;
    let _ = read_answer(&mut stream).await;
    assert_eq!(rest(&mut stream).await, b"");
    while listener.drain.in_flight() > 0 {
        sleep(Duration::from_millis(10)).await;
    }
}
