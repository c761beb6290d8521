//! `portolan serve` under strain: killed under load, read slowly, crowded with idle connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use replay::{Mock, MockOptions};
use serde_json::Value;
use testkit::Connection;
use tokio::runtime::Runtime;
use tokio::time::sleep;

use crate::program::{Folder, Running, wait};

const COUNT: &str = r#"{"method":"getblockcount","id":1}"#;
/// Clients of the kill test, each with one request in flight.
const CLIENTS: u64 = 16;

fn config(node: &str, more: &str) -> String {
    format!(
        "[gateway]\nlisten = \"127.0.0.1:0\"\n[plan.wide]\nrequests_per_second = 100000\nconcurrency = 10000\n\
         [chain.btc]\nnetwork = \"regtest\"\nnodes = [{{ url = \"{node}\", slots = 500, open_answers = 500 }}]\n{more}"
    )
}

fn new_key(folder: &Folder) -> String {
    folder.json(&["account", "add", "shop", "--gateway-plan", "wide"]);
    folder.json(&["key", "add", "shop"])["key"].as_str().unwrap().to_owned()
}

fn serve(folder: &Folder) -> (Running, std::net::SocketAddr) {
    let serving = folder.start(&["serve"]);
    let gateway = serving.address("the gateway listens");
    (serving, gateway)
}

/// Units of today, and whether the hours add up to them.
fn billed(folder: &Folder) -> u64 {
    let usage = folder.json(&["usage", "shop"]);
    let today = usage["gateway"]["today"].as_u64().unwrap();
    let month = usage["gateway"]["month"].as_u64().unwrap();
    let hours: u64 =
        usage["hours"].as_array().unwrap().iter().filter_map(|hour| hour["units"].as_u64()).sum();
    // A test that runs across midnight still has its hours in the month or the month before.
    assert!(today <= hours && (hours == today || hours == month || month == today), "{usage}");
    hours
}

async fn post(gateway: std::net::SocketAddr, key: &str) -> Connection {
    let mut connection = Connection::open(gateway).await.unwrap();
    connection
        .request("POST", "/v1/rpc/btc", &[("X-API-Key", key)], COUNT.as_bytes())
        .await
        .unwrap();
    connection
}

#[test]
fn kill_under_load_loses_no_answered_unit() {
    let runtime = Runtime::new().unwrap();
    let options = MockOptions { delay: Some(Duration::from_millis(1)), ..MockOptions::default() };
    let mock = runtime.block_on(Mock::start(options)).unwrap();
    let folder = Folder::with(&config(&mock.url(), ""));
    let key: Arc<str> = new_key(&folder).into();
    let answered = Arc::new(AtomicU64::new(0));
    for round in 0..6 {
        let (mut serving, gateway) = serve(&folder);
        let before = billed(&folder);
        assert!(answered.load(Ordering::SeqCst) <= before);
        let stop = Arc::new(AtomicBool::new(false));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let (key, answered, stop) =
                    (Arc::clone(&key), Arc::clone(&answered), Arc::clone(&stop));
                runtime.spawn(async move {
                    let mut connection = Connection::open(gateway).await.unwrap();
                    while !stop.load(Ordering::Relaxed) {
                        let sent = connection
                            .request(
                                "POST",
                                "/v1/rpc/btc",
                                &[("X-API-Key", &key)],
                                COUNT.as_bytes(),
                            )
                            .await;
                        match connection.answer().await {
                            Ok(answer) if answer.status == 200 => {
                                assert!(sent.is_ok());
                                answered.fetch_add(1, Ordering::SeqCst);
                            }
                            _ => return,
                        }
                    }
                })
            })
            .collect();
        let already = answered.load(Ordering::SeqCst);
        wait("an answer", || (answered.load(Ordering::SeqCst) > already).then_some(()));
        std::thread::sleep(Duration::from_millis(300 + 70 * round));
        serving.signal("KILL");
        serving.wait();
        stop.store(true, Ordering::Relaxed);
        runtime.block_on(async {
            for client in clients {
                client.await.unwrap();
            }
        });
        let (answered, billed) = (answered.load(Ordering::SeqCst), billed(&folder));
        // Each round may leave as many unanswered as there were clients.
        let in_flight = CLIENTS * (round + 1);
        assert!(
            answered > 0 && answered <= billed && billed <= answered + in_flight,
            "{answered} {billed} {in_flight}"
        );
    }
}

#[test]
fn slow_readers_of_large_answers_take_little_memory() {
    const READERS: usize = 200;
    let runtime = Runtime::new().unwrap();
    let mock = runtime.block_on(Mock::start(MockOptions::of_size(16 << 20))).unwrap();
    let folder = Folder::with(&config(&mock.url(), ""));
    let key = new_key(&folder);
    let (serving, gateway) = serve(&folder);
    runtime.block_on(async {
        drop(post(gateway, &key).await.answer().await.unwrap());
        let idle = testkit::rss_bytes(serving.pid()).unwrap();
        let mut readers = Vec::new();
        for _ in 0..READERS {
            readers.push(post(gateway, &key).await);
        }
        let mut most = 0;
        for _ in 0..30 {
            sleep(Duration::from_millis(100)).await;
            for reader in &mut readers {
                reader.sip(4096).await.unwrap();
            }
            most = most.max(testkit::rss_bytes(serving.pid()).unwrap());
        }
        let above = most.saturating_sub(idle);
        println!("{READERS} slow readers: {} MB above idle", above >> 20);
        assert!(above < 80 << 20, "{above} bytes above idle");
        // They all are still being served, and one of them gets its answer whole.
        let whole = readers.pop().unwrap().answer().await.unwrap();
        assert_eq!((whole.status, whole.body.len()), (200, 16 << 20));
    });
}

#[test]
fn ten_thousand_idle_connections_leave_room_for_a_call() {
    const IDLE: usize = 10_000;
    let runtime = Runtime::new().unwrap();
    let mock = runtime.block_on(Mock::start(MockOptions::default())).unwrap();
    let folder = Folder::with(&config(&mock.url(), ""));
    let key = new_key(&folder);
    let (serving, gateway) = serve(&folder);
    runtime.block_on(async {
        let before = testkit::rss_bytes(serving.pid()).unwrap();
        let mut idle = Vec::with_capacity(IDLE);
        while idle.len() < IDLE {
            idle.push(Connection::open(gateway).await.unwrap());
        }
        let answer = post(gateway, &key).await.answer().await.unwrap();
        assert_eq!(answer.status, 200);
        let each = testkit::rss_bytes(serving.pid()).unwrap().saturating_sub(before) / IDLE as u64;
        println!("{each} bytes for an idle connection");
        assert!(each < 32 << 10, "{each} bytes for an idle connection");
        let last: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(last["result"], 1);
    });
}
