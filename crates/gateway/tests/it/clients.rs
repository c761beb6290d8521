//! Clients that misbehave: hanging up, reading slowly, never ending, coming in thousands.

use std::time::Duration;

use replay::{Mock, MockOptions};
use testkit::Connection;

use crate::rig::{Plan, Rig, nodes};

const COUNT: &str = r#"{"jsonrpc":"1.0","id":"x","method":"getblockcount","params":[]}"#;

async fn post(rig: &Rig) -> Connection {
    let mut connection = rig.connect().await;
    connection
        .request("POST", "/v1/rpc/btc", &[("X-API-Key", &rig.key)], COUNT.as_bytes())
        .await
        .unwrap();
    connection
}

/// Waits until nothing is in flight, here and at the node.
async fn settled(rig: &Rig) {
    for _ in 0..6000 {
        let at_nodes: usize =
            rig.pools.iter().flat_map(|pool| pool.nodes()).map(|node| node.in_flight()).sum();
        if rig.gateway.in_flight() == 0 && at_nodes == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{} requests are still in flight", rig.gateway.in_flight());
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_hang_up_leave_nothing_behind() {
    let mock = Mock::start(MockOptions::of_size(4 << 20)).await.unwrap();
    let mut pool = nodes(&[&mock.url()]);
    pool.probe_interval = Duration::from_secs(3600);
    let rig = Plan::one("btc", pool).start().await;
    for n in 0..100 {
        let connection = post(&rig).await;
        if n % 2 == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        drop(connection);
    }
    settled(&rig).await;
    let answer = rig.ask("btc", &COUNT.replace("\"x\"", "7")).await;
    assert_eq!((answer.status, answer.body.len()), (200, 4 << 20));
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_heads_get_an_answer_with_an_id() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let rig = Plan::one("btc", nodes(&[&mock.url()])).start().await;
    let huge = format!("POST /v1/rpc/btc HTTP/1.1\r\nX: {}\r\n\r\n", "y".repeat(100_000));
    for bytes in ["nonsense\r\n\r\n", "POST / HTTP/1.1\r\nbad header\r\n\r\n", &huge] {
        let answer = testkit::exchange(rig.address, bytes.as_bytes()).await.unwrap_or_default();
        let text = String::from_utf8_lossy(&answer).to_lowercase();
        assert!(text.starts_with("http/1.1 400"), "{text}");
        assert!(text.contains("x-request-id: ") && text.contains("invalid_request"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn body_that_never_ends_is_refused_in_time() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let mut plan = Plan::one("btc", nodes(&[&mock.url()]));
    plan.settings.body_timeout = Duration::from_millis(200);
    let rig = plan.start().await;
    let mut connection = rig.connect().await;
    let head = format!(
        "POST /v1/rpc/btc HTTP/1.1\r\nHost: x\r\nX-API-Key: {}\r\nContent-Length: 500\r\n\r\n{{",
        rig.key
    );
    connection.send(head.as_bytes()).await.unwrap();
    let answer = connection.answer().await.unwrap();
    crate::rig::refused(&answer, 400, "INVALID_REQUEST");
    settled(&rig).await;
}
