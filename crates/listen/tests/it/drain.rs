//! The end: what is served, what is refused, what is waited for.

use std::time::Duration;

use listen::{Limits, Phase};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::listener::{ask, connect, get, read_answer, rest, start};

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn calls_are_served_during_the_grace_and_connections_closed() {
    let listener = start(Limits::default(), None);
    let mut kept = connect(&listener).await;
    assert_eq!(ask(&mut kept, &get("/peer")).await.unwrap().header("connection"), None);
    let drain = listener.drain.clone();
    let end = tokio::spawn(async move { drain.end(Duration::from_millis(500), LONG).await });
    listener.drain.reached(Phase::Draining).await;
    let answer = ask(&mut kept, &get("/peer")).await.unwrap();
    assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    assert_eq!(rest(&mut kept).await, b"");
    let mut new = connect(&listener).await;
    assert_eq!(ask(&mut new, &get("/peer")).await.unwrap().status, 200);
    assert_eq!(end.await.unwrap(), 0);
    listener.running.await.unwrap();
}

#[tokio::test]
async fn answers_in_flight_finish_and_late_requests_are_refused() {
    let listener = start(Limits::default(), None);
    let mut working = connect(&listener).await;
    let mut late = connect(&listener).await;
    assert_eq!(ask(&mut late, &get("/peer")).await.unwrap().status, 200);
    working.write_all(&get("/wait")).await.unwrap();
    listener.echo.entered.notified().await;
    let drain = listener.drain.clone();
    let end = tokio::spawn(async move { drain.end(Duration::ZERO, LONG).await });
    listener.drain.reached(Phase::Closed).await;
    let refused = ask(&mut late, &get("/peer")).await.unwrap();
    assert_eq!((refused.status, refused.header("connection")), (503, Some("close")));
    // The socket closes as soon as the loop wakes, which may be after ours.
    while TcpStream::connect(listener.address).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    listener.echo.go.notify_one();
    assert_eq!(read_answer(&mut working).await.unwrap().status, 200);
    assert_eq!(end.await.unwrap(), 0);
    listener.running.await.unwrap();
}

#[tokio::test]
async fn idle_and_fresh_connections_do_not_hold_the_end_up() {
    let listener = start(Limits::default(), None);
    let mut fresh = connect(&listener).await;
    let mut begun = connect(&listener).await;
    begun.write_all(b"GET / HT").await.unwrap();
    let mut idle = connect(&listener).await;
    assert_eq!(ask(&mut idle, &get("/peer")).await.unwrap().status, 200);
    assert_eq!(listener.drain.end(Duration::ZERO, LONG).await, 0);
    listener.running.await.unwrap();
    for stream in [&mut fresh, &mut begun, &mut idle] {
        assert_eq!(rest(stream).await, b"");
    }
}

#[tokio::test]
async fn idle_connections_are_woken_by_each_step_of_the_end() {
    let listener = start(Limits::default(), None);
    let mut fresh = connect(&listener).await;
    let mut idle = connect(&listener).await;
    assert_eq!(ask(&mut idle, &get("/peer")).await.unwrap().status, 200);
    assert_eq!(listener.drain.end(Duration::from_millis(300), LONG).await, 0);
    tokio::time::timeout(Duration::from_secs(5), listener.running).await.unwrap().unwrap();
    for stream in [&mut fresh, &mut idle] {
        assert_eq!(rest(stream).await, b"");
    }
}

#[tokio::test]
async fn answer_that_never_ends_is_cut_off_and_counted() {
    let listener = start(Limits::default(), None);
    let mut working = connect(&listener).await;
    working.write_all(&get("/wait")).await.unwrap();
    listener.echo.entered.notified().await;
    assert_eq!(listener.drain.end(Duration::ZERO, Duration::from_millis(50)).await, 1);
    listener.running.await.unwrap();
    assert_eq!(rest(&mut working).await, b"");
}
