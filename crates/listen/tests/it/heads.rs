//! Heads that hyper refuses before a service hears of them.

use std::sync::atomic::Ordering;

use listen::Limits;
use tokio::io::AsyncWriteExt;

use crate::listener::{REFUSAL, ask, connect, get, read_answer, rest, start};

fn unreadable() -> Vec<(&'static str, Vec<u8>)> {
    let huge = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "a".repeat(70 * 1024));
    let many: String = (0..200).map(|n| format!("h{n}: v\r\n")).collect();
    vec![
        ("no request line", b"hello\r\n\r\n".to_vec()),
        ("space in the target", b"GET /a b HTTP/1.1\r\nhost: h\r\n\r\n".to_vec()),
        ("unknown version", b"GET / HTTP/9.9\r\nhost: h\r\n\r\n".to_vec()),
        ("control bytes", b"\x00\x01\x02\x03\r\n\r\n".to_vec()),
        ("bad header name", b"GET / HTTP/1.1\r\nho st: h\r\n\r\n".to_vec()),
        ("header without a colon", b"GET / HTTP/1.1\r\nhost\r\n\r\n".to_vec()),
        ("length of letters", b"POST / HTTP/1.1\r\ncontent-length: ten\r\n\r\n".to_vec()),
        (
            "two lengths",
            b"POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab".to_vec(),
        ),
        ("unknown coding", b"POST / HTTP/1.1\r\ntransfer-encoding: zip\r\n\r\n".to_vec()),
        (
            "a coding before chunked",
            b"POST / HTTP/1.1\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n".to_vec(),
        ),
        (
            "chunked twice",
            b"POST / HTTP/1.1\r\ntransfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n".to_vec(),
        ),
        (
            "chunked in two headers",
            b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"
                .to_vec(),
        ),
        ("70 KiB head", huge.into_bytes()),
        ("200 headers", format!("GET / HTTP/1.1\r\n{many}\r\n").into_bytes()),
    ]
}

#[tokio::test]
async fn unreadable_head_gets_the_refusal_of_the_service() {
    let listener = start(Limits::default(), None);
    for (what, request) in unreadable() {
        let mut stream = connect(&listener).await;
        let answer =
            ask(&mut stream, &request).await.unwrap_or_else(|| panic!("{what}: no answer"));
        assert_eq!(answer.status, 400, "{what}");
        assert!(answer.header("x-request-id").unwrap().starts_with("refusal-"), "{what}");
        assert_eq!(answer.header("content-type"), Some("application/json"), "{what}");
        assert_eq!(answer.header("connection"), Some("close"), "{what}");
        assert_eq!(answer.body, REFUSAL.as_bytes(), "{what}");
        assert_eq!(rest(&mut stream).await, b"", "{what}");
    }
    assert_eq!(listener.echo.calls.load(Ordering::SeqCst), 0);
    assert_eq!(listener.echo.refusals.load(Ordering::SeqCst) as usize, unreadable().len());
}

#[tokio::test]
async fn unreadable_head_after_a_good_request_gets_it_too() {
    let listener = start(Limits::default(), None);
    for (what, request) in unreadable() {
        let mut stream = connect(&listener).await;
        let good = ask(&mut stream, &get("/peer")).await.unwrap();
        assert_eq!((good.status, good.body.as_slice()), (200, &b"127.0.0.1"[..]), "{what}");
        let answer =
            ask(&mut stream, &request).await.unwrap_or_else(|| panic!("{what}: no answer"));
        assert_eq!((answer.status, answer.body.as_slice()), (400, REFUSAL.as_bytes()), "{what}");
        assert!(answer.header("x-request-id").unwrap().starts_with("refusal-"), "{what}");
    }
}

#[tokio::test]
async fn unreadable_head_in_one_packet_with_a_good_request_gets_it_too() {
    let listener = start(Limits::default(), None);
    for (what, request) in unreadable() {
        let mut stream = connect(&listener).await;
        let _ = stream.write_all(&[get("/peer"), request].concat()).await;
        assert_eq!(read_answer(&mut stream).await.unwrap().status, 200, "{what}");
        let answer = read_answer(&mut stream).await.unwrap_or_else(|| panic!("{what}: no answer"));
        assert_eq!((answer.status, answer.body.as_slice()), (400, REFUSAL.as_bytes()), "{what}");
    }
}

#[tokio::test]
async fn http_1_0_client_gets_it_too() {
    let listener = start(Limits::default(), None);
    let mut stream = connect(&listener).await;
    let good = b"GET /peer HTTP/1.0\r\nconnection: keep-alive\r\n\r\n";
    assert_eq!(ask(&mut stream, good).await.unwrap().status, 200);
    let answer = ask(&mut stream, b"nonsense\r\n\r\n").await.unwrap();
    assert_eq!((answer.status, answer.body.as_slice()), (400, REFUSAL.as_bytes()));
}

#[tokio::test]
async fn head_of_28_kib_is_read() {
    let listener = start(Limits::default(), None);
    let mut stream = connect(&listener).await;
    let request = format!("GET /peer HTTP/1.1\r\nx: {}\r\n\r\n", "a".repeat(28 * 1024));
    assert_eq!(ask(&mut stream, request.as_bytes()).await.unwrap().status, 200);
}

#[tokio::test]
async fn body_that_the_service_leaves_unread_does_not_cost_the_answer() {
    let listener = start(Limits::default(), None);
    for _ in 0..20 {
        let mut stream = connect(&listener).await;
        let head = b"POST /unread HTTP/1.1\r\nhost: h\r\ncontent-length: 3000000\r\n\r\n";
        let answer = ask(&mut stream, &[&head[..], &[b'x'; 3_000_000]].concat()).await.unwrap();
        assert_eq!(answer.body, b"unread");
    }
}
