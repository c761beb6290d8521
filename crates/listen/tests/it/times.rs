//! Clients that are slow, silent, or too many.

use std::time::Duration;

use listen::Limits;
use tokio::io::AsyncWriteExt;
use tokio::time::{sleep, timeout};

use crate::listener::{REFUSAL, ask, connect, get, limits, read_answer, rest, start};

#[tokio::test]
async fn head_that_never_ends_is_refused() {
    let listener = start(limits(), None);
    let mut stream = connect(&listener).await;
    stream.write_all(b"GET / HTTP/1.1\r\nhost").await.unwrap();
    let answer = read_answer(&mut stream).await.unwrap();
    assert_eq!((answer.status, answer.body.as_slice()), (400, REFUSAL.as_bytes()));
    assert!(answer.header("x-request-id").is_some());
    assert_eq!(rest(&mut stream).await, b"");
}

#[tokio::test]
async fn head_that_trickles_is_refused_all_the_same() {
    let listener = start(limits(), None);
    let mut stream = connect(&listener).await;
    assert_eq!(ask(&mut stream, &get("/peer")).await.unwrap().status, 200);
    let (mut reading, mut writing) = stream.into_split();
    let trickle = tokio::spawn(async move {
        while writing.write_all(b"G").await.is_ok() {
            sleep(Duration::from_millis(20)).await;
        }
    });
    assert_eq!(read_answer(&mut reading).await.unwrap().status, 400);
    drop(reading);
    trickle.await.unwrap();
}

#[tokio::test]
async fn silent_connection_is_closed_without_a_word() {
    let listener = start(limits(), None);
    let mut fresh = connect(&listener).await;
    let mut idle = connect(&listener).await;
    assert_eq!(ask(&mut idle, &get("/peer")).await.unwrap().status, 200);
    assert_eq!(rest(&mut fresh).await, b"");
    assert_eq!(rest(&mut idle).await, b"");
}

#[tokio::test]
async fn idle_connection_lives_longer_than_a_head_may_take() {
    let listener = start(Limits { idle_timeout: Duration::from_secs(60), ..limits() }, None);
    let mut stream = connect(&listener).await;
    assert_eq!(ask(&mut stream, &get("/peer")).await.unwrap().status, 200);
    sleep(limits().head_timeout * 3).await;
    assert_eq!(ask(&mut stream, &get("/peer")).await.unwrap().status, 200);
}

#[tokio::test]
async fn call_may_take_longer_than_a_head() {
    let listener = start(limits(), None);
    let mut stream = connect(&listener).await;
    stream.write_all(&get("/wait")).await.unwrap();
    listener.echo.entered.notified().await;
    sleep(limits().idle_timeout * 2).await;
    listener.echo.go.notify_one();
    assert_eq!(read_answer(&mut stream).await.unwrap().status, 200);
}

#[tokio::test]
async fn client_that_does_not_read_is_cut_off() {
    let limits = Limits { write_stall_timeout: Duration::from_millis(500), ..limits() };
    let listener = start(limits, None);
    let mut stream = connect(&listener).await;
    stream.write_all(&get("/large")).await.unwrap();
    while listener.drain.in_flight() == 0 {
        sleep(Duration::from_millis(10)).await;
    }
    while listener.drain.in_flight() > 0 {
        sleep(Duration::from_millis(10)).await;
    }
    assert!(rest(&mut stream).await.len() < 32 << 20);
}

#[tokio::test]
async fn client_that_resets_its_connection_leaves_nothing_in_flight() {
    let listener = start(limits(), None);
    let post = |framing: &str, body: &str| {
        format!("POST /wait HTTP/1.1\r\nhost: h\r\n{framing}\r\n\r\n{body}").into_bytes()
    };
    let requests = [
        get("/wait"),
        post("content-length: 5", "hello"),
        post("content-length: 50", "hello"),
        post("transfer-encoding: chunked", "5\r\nhello\r\n0\r\n\r\n"),
    ];
    for request in &requests {
        let mut stream = connect(&listener).await;
        // Not its first request either.
        assert_eq!(ask(&mut stream, &get("/peer")).await.unwrap().status, 200);
        stream.write_all(request).await.unwrap();
        listener.echo.entered.notified().await;
        assert_eq!(listener.drain.in_flight(), 1);
        // An end alone would be that of a client which still waits for its answer.
        stream.set_zero_linger().unwrap();
        drop(stream);
        while listener.drain.in_flight() > 0 {
            sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test]
async fn client_beyond_the_cap_waits_for_a_place() {
    let limits = Limits { max_connections: 2, idle_timeout: Duration::from_secs(60), ..limits() };
    let listener = start(limits, None);
    let mut first = connect(&listener).await;
    let mut second = connect(&listener).await;
    assert_eq!(ask(&mut first, &get("/peer")).await.unwrap().status, 200);
    assert_eq!(ask(&mut second, &get("/peer")).await.unwrap().status, 200);
    let mut third = connect(&listener).await;
    third.write_all(&get("/peer")).await.unwrap();
    drop(first);
    assert_eq!(read_answer(&mut third).await.unwrap().status, 200);
}

#[tokio::test]
async fn idle_connections_make_room_when_places_are_scarce() {
    let limits = Limits { max_connections: 2, idle_timeout: Duration::from_secs(3600), ..limits() };
    let listener = start(limits, None);
    let mut idle = [connect(&listener).await, connect(&listener).await];
    for stream in &mut idle {
        assert_eq!(ask(stream, &get("/peer")).await.unwrap().status, 200);
    }
    let mut third = connect(&listener).await;
    let answer = timeout(Duration::from_secs(60), ask(&mut third, &get("/peer"))).await.unwrap();
    assert_eq!(answer.unwrap().status, 200);
}
