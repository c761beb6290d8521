//! Nodes that break: what the client is told, what is sent again, what passes unchanged.

use std::time::Duration;

use bytes::Bytes;
use node::PoolConfig;
use replay::{Framing, Mock, MockOptions};
use testkit::{Chaos, Connection, Mischief};

use crate::rig::{Plan, Rig, nodes, refused};

const COUNT: &str = r#"{"jsonrpc":"1.0","id":"x","method":"getblockcount","params":[]}"#;
const SEND: &str = r#"{"jsonrpc":"1.0","id":"x","method":"sendrawtransaction","params":["00"]}"#;

async fn mock(status: u16, answer: &'static [u8], framing: Framing) -> Mock {
    let options = MockOptions {
        status,
        answer: Bytes::from_static(answer),
        framing,
        count_ids: true,
        ..MockOptions::default()
    };
    Mock::start(options).await.unwrap()
}

async fn on(slug: &'static str, pool: PoolConfig) -> Rig {
    Plan::one(slug, pool).start().await
}

fn impatient(urls: &[&str]) -> PoolConfig {
    let mut pool = nodes(urls);
    pool.timeouts.first_byte = Duration::from_millis(300);
    pool.timeouts.whole = Duration::from_millis(600);
    pool
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_answers_pass_unchanged() {
    for answer in [
        &b"{\"result\":1,\"result\":2,\"error\":null}\n"[..],
        b"{\"result\":1e-7,\"big\":12345678901234567,\"x\":1.10000000,\"id\":\"x\"}",
        b"{\"result\":\"\xff\xfe\xc3\x28\",\"error\":null,\"id\":\"x\"}\r\n\n",
        b"  { \"id\" : \"\\u0078\" }  ",
        b"{\"result\":null,\"error\":{\"code\":-28,\"message\":\"Loading\"},\"id\":\"x\"}\n",
        b"{\"result\":null,\"error\":{\"code\":-32700,\"message\":\"Parse\"},\"id\":null}\n",
    ] {
        for framing in [Framing::Length, Framing::Chunked, Framing::Close] {
            for status in [200, 404, 500] {
                let mock = mock(status, answer, framing).await;
                let rig = on("btc", nodes(&[&mock.url()])).await;
                let got = rig.ask("btc", COUNT).await;
                assert_eq!((got.status, &got.body[..]), (200, answer), "{framing:?} {status}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_answer_is_told_as_the_table_says() {
    let cases: [(u16, &[u8], Framing, u16, &str); 10] = [
        (503, b"Work queue depth exceeded", Framing::Length, 503, "NODE_BUSY"),
        (500, b"Work queue depth exceeded\r\n", Framing::Length, 503, "NODE_BUSY"),
        (503, b"503 Too busy.  Try again later.\n", Framing::Length, 503, "NODE_BUSY"),
        (401, b"", Framing::Length, 502, "NODE_ERROR"),
        (403, b"{}", Framing::Length, 502, "NODE_ERROR"),
        (405, b"only POST", Framing::Length, 502, "NODE_ERROR"),
        (200, b"<html>", Framing::Length, 502, "NODE_ERROR"),
        (200, b"", Framing::Length, 502, "NODE_ERROR"),
        (200, b"{\"result\":[1,2", Framing::Close, 502, "NODE_ERROR"),
        (200, b"{\"result\":\"}", Framing::Chunked, 502, "NODE_ERROR"),
    ];
    for (status, answer, framing, expected, reason) in cases {
        let mock = mock(status, answer, framing).await;
        let rig = on("btc", nodes(&[&mock.url()])).await;
        refused(&rig.ask("btc", COUNT).await, expected, reason);
        assert_eq!(rig.units_today(), 0, "{reason}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn busy_node_is_passed_over_for_another_also_for_sends() {
    let busy = mock(503, b"Work queue depth exceeded", Framing::Length).await;
    let good = mock(200, b"{\"result\":1,\"id\":\"x\"}", Framing::Length).await;
    let rig = on("btc", nodes(&[&busy.url(), &good.url()])).await;
    for body in [COUNT, SEND, COUNT, SEND] {
        assert_eq!(rig.ask("btc", body).await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_node_is_passed_over_for_reads_only() {
    let good = mock(200, b"{\"result\":1,\"id\":1}", Framing::Length).await;
    for mischief in [Mischief::Hang, Mischief::CloseAfter(0), Mischief::ResetAfter(0)] {
        let other = mock(200, b"{\"result\":1,\"id\":1}", Framing::Length).await;
        let silent = Chaos::start(other.address(), mischief).await.unwrap();
        let alone = on("btc", impatient(&[&silent.url()])).await;
        refused(&alone.ask("btc", COUNT).await, 503, "NODE_UNAVAILABLE");
        let sends = good.calls_by_id().len();
        let rig = on("btc", impatient(&[&silent.url(), &good.url()])).await;
        let mut statuses = Vec::new();
        for _ in 0..4 {
            assert_eq!(rig.ask("btc", COUNT).await.status, 200, "{mischief:?}");
            statuses.push(rig.ask("btc", &SEND.replace("\"x\"", "\"send\"")).await.status);
        }
        assert!(statuses.iter().all(|status| matches!(status, 200 | 503)), "{statuses:?}");
        assert!(good.calls_by_id().len() >= sends);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn send_that_was_written_is_never_sent_again() {
    let one = mock(200, b"{\"result\":1,\"id\":\"x\"}", Framing::Length).await;
    let two = mock(200, b"{\"result\":1,\"id\":\"x\"}", Framing::Length).await;
    let (first, second) = (
        Chaos::start(one.address(), Mischief::CloseAfter(0)).await.unwrap(),
        Chaos::start(two.address(), Mischief::CloseAfter(0)).await.unwrap(),
    );
    let rig = on("btc", impatient(&[&first.url(), &second.url()])).await;
    for n in 0..20 {
        let body = SEND.replace("\"x\"", &format!("\"s{n}\""));
        refused(&rig.ask("btc", &body).await, 503, "NODE_UNAVAILABLE");
    }
    let (one, two) = (one.calls_by_id(), two.calls_by_id());
    for n in 0..20 {
        let id = format!("\"s{n}\"");
        let seen = one.get(&id).unwrap_or(&0) + two.get(&id).unwrap_or(&0);
        assert!(seen <= 1, "{id} {seen}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn truncated_large_answer_resets_the_connection() {
    let big = MockOptions { framing: Framing::Close, ..MockOptions::of_size(1 << 20) };
    for (mischief, framing) in [
        (Mischief::CloseAfter(300_000), Framing::Close),
        (Mischief::CloseAfter(300_000), Framing::Length),
        (Mischief::ResetAfter(300_000), Framing::Chunked),
    ] {
        let mock = Mock::start(MockOptions { framing, ..big.clone() }).await.unwrap();
        let chaos = Chaos::start(mock.address(), mischief).await.unwrap();
        let rig = on("btc", nodes(&[&chaos.url()])).await;
        let mut connection = Connection::open(rig.address).await.unwrap();
        connection
            .request("POST", "/v1/rpc/btc", &[("X-API-Key", &rig.key)], COUNT.as_bytes())
            .await
            .unwrap();
        assert!(connection.answer().await.is_err(), "{mischief:?} {framing:?}");
        chaos.set(Mischief::Pass);
        assert_eq!(rig.ask("btc", &COUNT.replace("\"x\"", "7")).await.body.len(), 1 << 20);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn truncated_value_of_a_right_length_is_never_taken_for_an_answer() {
    for (len, framing) in [
        (3_000, Framing::Length),
        (30_000, Framing::Length),
        (30_000, Framing::Chunked),
        (1 << 20, Framing::Length),
        (1 << 20, Framing::Chunked),
        (1 << 20, Framing::Close),
    ] {
        let whole = MockOptions::of_size(len);
        let cut = whole.answer.slice(..whole.answer.len() - 20);
        let mock = Mock::start(MockOptions { framing, answer: cut, ..whole }).await.unwrap();
        let rig = on("btc", nodes(&[&mock.url()])).await;
        if len < 64 << 10 {
            refused(&rig.ask("btc", COUNT).await, 502, "NODE_ERROR");
            continue;
        }
        let mut connection = Connection::open(rig.address).await.unwrap();
        let key = [("X-API-Key", rig.key.as_str())];
        connection.request("POST", "/v1/rpc/btc", &key, COUNT.as_bytes()).await.unwrap();
        assert!(connection.answer().await.is_err(), "{len} {framing:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn too_large_answer_is_told_if_it_is_known_in_time() {
    for framing in [Framing::Length, Framing::Chunked, Framing::Close] {
        let mock =
            Mock::start(MockOptions { framing, ..MockOptions::of_size(40_000) }).await.unwrap();
        let mut pool = nodes(&[&mock.url()]);
        pool.response_limit = 30_000;
        let rig = on("btc", pool).await;
        refused(&rig.ask("btc", COUNT).await, 502, "RESPONSE_TOO_LARGE");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_heads_and_huge_heads_are_bounded() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    for (mischief, status, reason) in [
        (Mischief::Hang, 503, "NODE_UNAVAILABLE"),
        (Mischief::OversizeHead(1 << 20), 502, "NODE_ERROR"),
    ] {
        let chaos = Chaos::start(mock.address(), mischief).await.unwrap();
        let rig = on("btc", impatient(&[&chaos.url()])).await;
        refused(&rig.ask("btc", COUNT).await, status, reason);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn node_that_answers_nonsense_is_left_out_after_a_while() {
    let bad = mock(200, b"<html>", Framing::Length).await;
    let good = mock(200, b"{\"result\":1,\"id\":\"x\"}", Framing::Length).await;
    let mut pool = nodes(&[&bad.url(), &good.url()]);
    pool.ejection.first = Duration::from_secs(600);
    pool.ejection.longest = Duration::from_secs(600);
    let rig = on("btc", pool).await;
    let mut wrong = 0;
    for _ in 0..40 {
        wrong += usize::from(rig.ask("btc", COUNT).await.status != 200);
    }
    assert!((1..=3).contains(&wrong), "{wrong} of 40");
}

#[tokio::test(flavor = "multi_thread")]
async fn object_in_answer_to_a_batch_is_the_nodes_word_on_the_whole() {
    let word =
        b"{\"result\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\"},\"id\":null}\n";
    let mock = mock(500, word, Framing::Length).await;
    let rig = on("btc", nodes(&[&mock.url()])).await;
    for body in [format!("[{COUNT}]"), format!(r#"[{COUNT},{{"id":2,"method":"stop"}}]"#)] {
        let answer = rig.ask("btc", &body).await;
        assert_eq!((answer.status, &answer.body[..]), (200, &word[..]));
    }
}
