//! What a request costs, and what its headers say.

use std::time::Duration;

use meter::{Clock, KeyOptions, PlanConfig, Plans};
use replay::{Mock, MockOptions, Replay, ReplayOptions};
use testkit::{Chaos, Mischief};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::rig::{Plan, Rig, nodes, refused};

const COUNT: &str = r#"{"jsonrpc":"1.0","id":"x","method":"getblockcount","params":[]}"#;

fn plans(rps: u32, daily: Option<u64>, monthly: Option<u64>, concurrency: Option<u32>) -> Plans {
    let config = PlanConfig {
        requests_per_second: rps,
        daily,
        monthly,
        batch_size: Some(50),
        concurrency,
        chains: None,
        price_usd: None,
    };
    Plans::with([("wide".to_owned(), config)]).unwrap()
}

async fn rig(mock: &Mock, plans: Plans, options: KeyOptions) -> Rig {
    Plan { plans, options, ..Plan::one("btc", nodes(&[&mock.url()])) }.start().await
}

fn number(answer: &testkit::Answer, name: &str) -> Option<u64> {
    answer.header(name).map(|value| value.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_tell_what_is_left() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let options = KeyOptions { daily_cap: Some(10), ..KeyOptions::default() };
    let rig = rig(&mock, plans(100, Some(50), Some(500), None), options).await;
    let answer = rig.ask("btc", COUNT).await;
    assert_eq!(answer.status, 200);
    assert_eq!(number(&answer, "x-ratelimit-limit"), Some(100));
    assert_eq!(number(&answer, "x-ratelimit-remaining"), Some(99));
    assert_eq!(number(&answer, "x-ratelimit-reset"), Some(1));
    assert_eq!(number(&answer, "x-quota-daily-remaining"), Some(49));
    assert_eq!(number(&answer, "x-quota-monthly-remaining"), Some(499));
    assert_eq!(number(&answer, "x-quota-key-daily-remaining"), Some(9));
    let id = answer.header("x-request-id").unwrap().to_owned();
    let again = rig.ask_with("btc", &[("X-API-Key", &rig.key), ("X-Request-Id", &id)], COUNT).await;
    assert_ne!(again.header("x-request-id"), Some(id.as_str()));
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_without_quotas_are_absent() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let rig = rig(&mock, plans(100, None, None, None), KeyOptions::default()).await;
    let answer = rig.ask("btc", COUNT).await;
    for name in
        ["x-quota-daily-remaining", "x-quota-monthly-remaining", "x-quota-key-daily-remaining"]
    {
        assert_eq!(answer.header(name), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_calls_take_a_token_and_no_unit() {
    let replay = Replay::start("btc", ReplayOptions::default()).await.unwrap();
    // Time stands still: no token comes back.
    let (clock, _hands) = Clock::test(1_795_845_600);
    let rig = Plan {
        clock,
        plans: plans(4, Some(1000), None, None),
        ..Plan::one("btc", nodes(&[&replay.url()]))
    }
    .start()
    .await;
    refused(&rig.ask("btc", r#"{"id":1,"method":"stop"}"#).await, 403, "METHOD_NOT_ALLOWED");
    refused(&rig.ask("btc", "nonsense").await, 400, "INVALID_REQUEST");
    let mixed = format!(r#"[{COUNT},{{"id":2,"method":"stop"}}]"#);
    let answer = rig.ask("btc", &mixed).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let limited = rig.ask("btc", r#"{"id":1,"method":"stop"}"#).await;
    refused(&limited, 429, "RATE_LIMITED");
    assert_eq!(rig.units_today(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn quotas_end_and_refused_requests_consume_nothing() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let rig = rig(&mock, plans(1000, Some(3), None, None), KeyOptions::default()).await;
    for _ in 0..3 {
        assert_eq!(rig.ask("btc", COUNT).await.status, 200);
    }
    for _ in 0..3 {
        let answer = rig.ask("btc", COUNT).await;
        refused(&answer, 429, "DAILY_QUOTA_EXCEEDED");
        assert!(number(&answer, "retry-after").unwrap() <= 86_400);
    }
    assert_eq!(rig.units_today(), 3);
    rig.admin.set_plans("tester", Some("Pro"), None).unwrap();
    assert_eq!(rig.ask("btc", COUNT).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn key_cap_ends_before_the_account() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let options = KeyOptions { daily_cap: Some(2), ..KeyOptions::default() };
    let rig = rig(&mock, plans(1000, Some(100), Some(1000), None), options).await;
    let batch = format!("[{COUNT},{COUNT},{COUNT}]");
    refused(&rig.ask("btc", &batch).await, 429, "KEY_DAILY_QUOTA_EXCEEDED");
    assert_eq!(rig.ask("btc", COUNT).await.status, 200);
    assert_eq!(rig.ask("btc", COUNT).await.status, 200);
    refused(&rig.ask("btc", COUNT).await, 429, "KEY_DAILY_QUOTA_EXCEEDED");
    rig.admin.set_cap(&rig.key_id, Some(3)).unwrap();
    assert_eq!(rig.ask("btc", COUNT).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_of_the_node_give_the_unit_back() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let chaos = Chaos::start(mock.address(), Mischief::Refuse).await.unwrap();
    let rig = Plan {
        plans: plans(1000, Some(100), None, None),
        ..Plan::one("btc", nodes(&[&chaos.url()]))
    }
    .start()
    .await;
    refused(&rig.ask("btc", COUNT).await, 503, "NODE_UNAVAILABLE");
    assert_eq!(rig.units_today(), 0);
    chaos.set(Mischief::Pass);
    assert_eq!(rig.ask("btc", COUNT).await.status, 200);
    assert_eq!(rig.units_today(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn time_limit_stays_charged() {
    let options = MockOptions { delay: Some(Duration::from_secs(30)), ..MockOptions::default() };
    let mock = Mock::start(options).await.unwrap();
    let mut pool = nodes(&[&mock.url()]);
    pool.timeouts.first_byte = Duration::from_millis(100);
    let rig =
        Plan { plans: plans(1000, Some(100), None, None), ..Plan::one("btc", pool) }.start().await;
    let answer = rig.ask("btc", COUNT).await;
    refused(&answer, 503, "NODE_UNAVAILABLE");
    assert_eq!(answer.header("retry-after"), Some("5"));
    assert_eq!(rig.units_today(), 1);
}

/// Posts a request, resets the connection once so many units are charged, and waits until the request is over.
async fn leave(rig: &Rig, chain: &str, body: &str, units: u64, in_flight: usize) {
    let mut stream = TcpStream::connect(rig.address).await.unwrap();
    let (key, length) = (&rig.key, body.len());
    let lines = format!("host: h\r\nx-api-key: {key}\r\ncontent-length: {length}");
    let request = format!("POST /v1/rpc/{chain} HTTP/1.1\r\n{lines}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).await.unwrap();
    while rig.units_today() < units {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    stream.set_zero_linger().unwrap();
    drop(stream);
    while rig.gateway.in_flight() > in_flight {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_leaves_before_a_node_is_asked_gets_the_units_back() {
    let options = MockOptions { delay: Some(Duration::from_secs(3)), ..MockOptions::default() };
    let mock = Mock::start(options).await.unwrap();
    // One forwards a batch as it is, the other splits it.
    for (chain, method) in [("btc", "getblockcount"), ("xmr", "get_version")] {
        let mut pool = nodes(&[&mock.url()]);
        pool.probe_interval = Duration::from_secs(3600);
        // One of them is kept for probes.
        pool.nodes[0].slots = Some(2);
        pool.queue_wait = Duration::from_secs(60);
        let plan = Plan { plans: plans(1000, Some(100), None, None), ..Plan::one(chain, pool) };
        let rig = plan.start().await;
        let call = COUNT.replace("getblockcount", method);
        let batch = format!("[{call},{call},{call}]");
        let node = &rig.pools[0].nodes()[0];
        let leaving = async {
            while node.in_flight() == 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            for (body, units) in [(&call, 2), (&batch, 4)] {
                leave(&rig, chain, body, units, 1).await;
                assert_eq!((rig.units_today(), node.in_flight()), (1, 1));
            }
        };
        let (answer, ()) = tokio::join!(rig.ask(chain, &call), leaving);
        assert_eq!((answer.status, rig.units_today()), (200, 1));
        // The node has it to do.
        leave(&rig, chain, &call, 2, 0).await;
        assert_eq!(rig.units_today(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn as_many_requests_as_the_plan_allows_are_in_flight() {
    let options = MockOptions { delay: Some(Duration::from_secs(2)), ..MockOptions::default() };
    let mock = Mock::start(options).await.unwrap();
    let rig = rig(&mock, plans(1000, None, None, Some(2)), KeyOptions::default()).await;
    let (first, second) = (rig.ask("btc", COUNT), rig.ask("btc", COUNT));
    let third = async {
        while rig.units_today() < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        rig.ask("btc", COUNT).await
    };
    let (first, second, third) = tokio::join!(first, second, third);
    assert_eq!((first.status, second.status), (200, 200));
    refused(&third, 429, "TOO_MANY_CONCURRENT");
    assert_eq!(third.header("retry-after"), Some("1"));
    assert_eq!(rig.ask("btc", COUNT).await.status, 200);
}
