//! Connections that are handed to workers: who is answered, however early he has said everything,
//! and where.

use std::time::Duration;

use listen::{Limits, Phase, Threads, Workers};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::listener::{Waiting, ask, connect, get, read_answer, rest};

const LONG: Duration = Duration::from_secs(60);
const POSTED: &[u8] = b"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 5\r\n\r\nhello";
const CHUNKED: &[u8] =
    b"POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";

/// Connects, says `text` and shuts the sending side, before anybody accepts.
async fn said_and_shut(waiting: &Waiting, text: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(waiting.address).await.unwrap();
    stream.write_all(text).await.unwrap();
    stream.shutdown().await.unwrap();
    stream
}

#[tokio::test]
async fn who_said_everything_and_shut_before_he_was_accepted_is_answered_fifty_of_fifty() {
    let threads = Threads::start(2).unwrap();
    let twice = [POSTED, &get("/")].concat();
    let texts = [POSTED.to_vec(), CHUNKED.to_vec(), get("/peer"), twice];
    for workers in [Workers::here(), threads.workers().clone()] {
        let waiting = Waiting::new();
        let mut streams = Vec::new();
        for count in 0..50 {
            streams.push(said_and_shut(&waiting, &texts[count % 4]).await);
        }
        let listener = waiting.start_on(workers, Limits::default(), None);
        for (count, stream) in streams.iter_mut().enumerate() {
            let answer = read_answer(stream).await;
            let expected: &[u8] = if count % 4 == 2 { b"127.0.0.1" } else { b"hello" };
            assert_eq!(answer.map(|it| it.body).as_deref(), Some(expected), "{count}");
            if count % 4 == 3 {
                assert_eq!(read_answer(stream).await.unwrap().status, 200);
            }
            assert_eq!(rest(stream).await, b"");
        }
        listener.drain.end(Duration::ZERO, LONG).await;
    }
}

#[tokio::test]
async fn who_was_connected_when_the_socket_closed_is_answered() {
    let threads = Threads::start(2).unwrap();
    let waiting = Waiting::new();
    let mut streams = Vec::new();
    for count in 0..50 {
        let mut stream = TcpStream::connect(waiting.address).await.unwrap();
        if count % 2 == 0 {
            stream.write_all(POSTED).await.unwrap();
        }
        streams.push(stream);
    }
    // The end comes before the first of them is looked at.
    assert_eq!(waiting.drain.end(Duration::ZERO, LONG).await, 0);
    let listener = waiting.start_on(threads.workers().clone(), Limits::default(), None);
    for (count, stream) in streams.iter_mut().enumerate() {
        if count % 2 == 1 {
            // He speaks only now, and finds an answer all the same.
            stream.write_all(POSTED).await.unwrap();
        }
        let answer = read_answer(stream).await;
        assert!(answer.is_some_and(|answer| matches!(answer.status, 200 | 503)), "{count}");
    }
    listener.running.await.unwrap();
}

#[tokio::test]
async fn connections_are_spread_and_a_busy_worker_gets_no_more_than_others() {
    let threads = Threads::start(2).unwrap();
    let workers = threads.workers().clone();
    let listener = Waiting::new().start_on(workers.clone(), Limits::default(), None);
    let mut kept = Vec::new();
    for _ in 0..10 {
        let mut stream = connect(&listener).await;
        assert_eq!(ask(&mut stream, &get("/peer")).await.unwrap().status, 200);
        kept.push(stream);
    }
    assert_eq!(workers.connections(), [5, 5]);
    // One after the other, the first worker had the even ones. They go; who comes next takes
    // their places.
    let mut even = 0;
    kept.retain(|_| {
        even += 1;
        even % 2 == 0
    });
    while workers.connections() != [0, 5] {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    for _ in 0..5 {
        let mut stream = connect(&listener).await;
        assert_eq!(ask(&mut stream, &get("/peer")).await.unwrap().status, 200);
        kept.push(stream);
    }
    assert_eq!(workers.connections(), [5, 5]);
    let drain = listener.drain.clone();
    let end = tokio::spawn(async move { drain.end(Duration::ZERO, LONG).await });
    listener.drain.reached(Phase::Ended).await;
    listener.running.await.unwrap();
    assert_eq!(end.await.unwrap(), 0);
    while workers.connections() != [0, 0] {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
