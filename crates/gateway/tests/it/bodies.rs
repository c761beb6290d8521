//! Bodies that are work, or never come: each account has its share and pays for it.

use std::io::Write;
use std::time::Duration;

use meter::{PlanConfig, Plans};
use replay::{Mock, MockOptions};
use testkit::{Answer, Connection};

use crate::rig::{Plan, Rig, nodes, refused};

const COUNT: &str = r#"{"jsonrpc":"1.0","id":"x","method":"getblockcount","params":[]}"#;

fn plan(mock: &Mock, requests_per_second: u32, concurrency: u32) -> Plan {
    let config =
        PlanConfig { requests_per_second, concurrency: Some(concurrency), ..PlanConfig::default() };
    let plans = Plans::with([("wide".to_owned(), config)]).unwrap();
    Plan { plans, ..Plan::one("btc", nodes(&[&mock.url()])) }
}

/// The head of a call and the beginning of its body.
async fn begin(rig: &Rig, key: &str, length: usize, begun: usize) -> Connection {
    let mut connection = rig.connect().await;
    let head = format!(
        "POST /v1/rpc/btc HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\nContent-Length: {length}\r\n\r\n"
    );
    let begun = [head.as_bytes(), &vec![b' '; begun]].concat();
    connection.send(&begun).await.unwrap();
    connection
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text).unwrap();
    gzip.finish().unwrap()
}

async fn post_gzip(rig: &Rig, body: &[u8]) -> Answer {
    let headers = [("X-API-Key", rig.key.as_str()), ("Content-Encoding", "gzip")];
    testkit::post(&format!("{}/v1/rpc/btc", rig.url), &headers, body).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_body_takes_a_token_and_no_unit() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let empty_members = gzip(b"").repeat(100_000);
    let bomb = gzip(&vec![b' '; 64 << 20]);
    for (body, status, name) in [
        (empty_members, 400, "INVALID_REQUEST"),
        (bomb, 413, "REQUEST_TOO_LARGE"),
        (gzip(b"no JSON"), 400, "INVALID_REQUEST"),
        (b"no gzip".to_vec(), 400, "INVALID_REQUEST"),
    ] {
        // The slowest rate: no token comes back while the test runs.
        let mut slow = plan(&mock, 1, 10);
        let (clock, _hands) = meter::Clock::test(1_795_867_200);
        slow.clock = clock;
        let rig = slow.start().await;
        refused(&post_gzip(&rig, &body).await, status, name);
        refused(&post_gzip(&rig, &body).await, 429, "RATE_LIMITED");
        refused(&rig.ask("btc", COUNT).await, 429, "RATE_LIMITED");
        assert_eq!(rig.units_today(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn compressed_call_takes_no_more_tokens_than_a_plain_one() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let mut slow = plan(&mock, 2, 10);
    let (clock, _hands) = meter::Clock::test(1_795_867_200);
    slow.clock = clock;
    let rig = slow.start().await;
    let answer = post_gzip(&rig, &gzip(COUNT.as_bytes())).await;
    assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (200, Some("1")));
    let answer = rig.ask("btc", COUNT).await;
    assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (200, Some("0")));
    assert_eq!(rig.units_today(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_token_a_compressed_body_is_not_read() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let mut slow = plan(&mock, 1, 10);
    let (clock, _hands) = meter::Clock::test(1_795_867_200);
    slow.clock = clock;
    let rig = slow.start().await;
    assert_eq!(post_gzip(&rig, &gzip(COUNT.as_bytes())).await.status, 200);
    let mut connection = rig.connect().await;
    let (key, length) = (&rig.key, 2 << 20);
    let head = format!(
        "POST /v1/rpc/btc HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\nContent-Encoding: gzip\r\nContent-Length: {length}\r\n\r\n"
    );
    connection.send(&[head.as_bytes(), &gzip(b"").repeat(3)].concat()).await.unwrap();
    let answer = connection.answer().await.unwrap();
    refused(&answer, 429, "RATE_LIMITED");
    assert_eq!(answer.header("connection"), Some("close"));
}

#[tokio::test(flavor = "multi_thread")]
async fn account_takes_its_place_before_its_body() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let rig = plan(&mock, 1000, 2).start().await;
    let stranger = rig.stranger();
    let mut begun = Vec::new();
    while rig.ask("btc", COUNT).await.status == 200 {
        begun.push(begin(&rig, &rig.key, 500, 1).await);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    refused(&rig.ask("btc", COUNT).await, 429, "TOO_MANY_CONCURRENT");
    let mut further = begin(&rig, &rig.key, 500, 1).await;
    // Before its body has come.
    refused(&further.answer().await.unwrap(), 429, "TOO_MANY_CONCURRENT");
    assert_eq!(rig.ask_with("btc", &[("X-API-Key", &stranger)], COUNT).await.status, 200);
    drop(begun);
    while rig.ask("btc", COUNT).await.status != 200 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_trickle_in_take_no_place_of_other_accounts() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let mut plan = plan(&mock, 1000, 1000);
    plan.settings.max_in_flight = 8;
    let rig = plan.start().await;
    let stranger = rig.stranger();
    let mut trickling = Vec::new();
    // A quarter of the places is the most that one account has.
    while rig.ask("btc", COUNT).await.status == 200 {
        trickling.push(begin(&rig, &rig.key, 50, 1).await);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    refused(&rig.ask("btc", COUNT).await, 503, "GATEWAY_BUSY");
    assert_eq!(rig.ask_with("btc", &[("X-API-Key", &stranger)], COUNT).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn unfinished_bodies_of_one_account_leave_room_for_others() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let mut plan = plan(&mock, 1000, 1000);
    plan.settings.max_request_bytes = 100_000;
    plan.settings.max_buffered_bytes = 1_000_000;
    let rig = plan.start().await;
    let stranger = rig.stranger();
    let large = format!("{COUNT}{}", " ".repeat(20_000));
    let mut begun = Vec::new();
    while rig.ask("btc", &large).await.status == 200 {
        begun.push(begin(&rig, &rig.key, 90_000, 80_000).await);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    refused(&rig.ask("btc", &large).await, 503, "GATEWAY_BUSY");
    let answer = rig.ask_with("btc", &[("X-API-Key", &stranger)], &large).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    // What was claimed comes back.
    drop(begun);
    while rig.ask("btc", &large).await.status != 200 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn decompressed_bytes_count_as_buffered() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let mut plan = plan(&mock, 1000, 1000);
    plan.settings.max_buffered_bytes = 100_000;
    let rig = plan.start().await;
    let body = gzip(format!("{COUNT}{}", " ".repeat(200_000)).as_bytes());
    refused(&post_gzip(&rig, &body).await, 503, "GATEWAY_BUSY");
    assert_eq!(post_gzip(&rig, &gzip(COUNT.as_bytes())).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn refusal_before_the_body_keeps_the_connection() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let rig = plan(&mock, 1000, 1000).start().await;
    let mut connection = rig.connect().await;
    let length = COUNT.len();
    for (target, key, status) in [
        ("GET /v1/rpc/btc", rig.key.as_str(), 400),
        ("POST /v1/rpc/btc", "ptl_wrong", 401),
        ("POST /v1/rpc/btc", "", 401),
        ("POST /v1/rpc/ltc", &rig.key, 404),
        ("POST /v1/rpc", &rig.key, 404),
        ("POST /v1/rpc/btc", &rig.key, 200),
    ] {
        let head = format!(
            "{target} HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\nContent-Length: {length}\r\n\r\n"
        );
        connection.send(head.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
        connection.send(COUNT.as_bytes()).await.unwrap();
        let answer = connection.answer().await.unwrap();
        assert_eq!((answer.status, answer.header("connection")), (status, None), "{target}");
    }
}
