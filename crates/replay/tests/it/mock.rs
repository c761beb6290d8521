//! The mock counts exactly and answers exactly.

use std::time::Duration;

use replay::{Framing, Mock, MockOptions};
use testkit::{Connection, post};

#[tokio::test]
async fn sizes_and_framings_are_as_asked() {
    for framing in [Framing::Length, Framing::Chunked, Framing::Close] {
        for size in [35, 1000, 100_000] {
            let options = MockOptions { framing, ..MockOptions::of_size(size) };
            let wanted = options.answer.clone();
            let mock = Mock::start(options).await.unwrap();
            let answer = post(&mock.url(), &[], b"{}").await.unwrap();
            assert_eq!(answer.body.len(), size);
            assert_eq!(answer.body, wanted);
            assert!(serde_json::from_slice::<serde_json::Value>(&answer.body).is_ok());
            assert_eq!(answer.header("content-length").is_some(), framing == Framing::Length);
            assert_eq!(answer.header("connection") == Some("close"), framing == Framing::Close);
        }
    }
}

#[tokio::test]
async fn every_call_is_counted_once() {
    let options = MockOptions {
        count_ids: true,
        delay: Some(Duration::from_millis(1)),
        ..MockOptions::default()
    };
    let mock = Mock::start(options).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..8 {
        let address = mock.address();
        tasks.spawn(async move {
            let mut connection = Connection::open(address).await.unwrap();
            for _ in 0..50 {
                let body = format!(r#"[{{"id":{n}}},{{"id":"both"}}]"#);
                connection.request("POST", "/", &[], body.as_bytes()).await.unwrap();
                assert_eq!(connection.answer().await.unwrap().status, 200);
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(mock.calls(), 400);
    let by_id = mock.calls_by_id();
    assert_eq!(by_id["\"both\""], 400);
    assert_eq!(by_id["3"], 50);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_asked_after_the_end_is_not_answered() {
    for _ in 0..20 {
        let mock = Mock::start(MockOptions::default()).await.unwrap();
        let mut open = Vec::new();
        for _ in 0..20 {
            let mut connection = Connection::open(mock.address()).await.unwrap();
            connection.request("POST", "/", &[], b"{}").await.unwrap();
            assert_eq!(connection.answer().await.unwrap().status, 200);
            open.push(connection);
        }
        drop(mock);
        for mut connection in open {
            // It may be closed before it is written to.
            let _ = connection.request("POST", "/", &[], b"{}").await;
            assert!(connection.answer().await.is_err());
        }
    }
}
