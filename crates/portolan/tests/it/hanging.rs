//! The program beside a PostgreSQL that hangs: it takes connections and answers nothing. It is stopped in
//! the time that the documents name, also while it starts, and what it counted is told by the next start.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use replay::{Mock, MockOptions};
use testkit::Postgres;
use tokio::runtime::Runtime;

use crate::program::{Folder, call, http};

const COUNT: &str = r#"{"method":"getblockcount","id":1}"#;
/// What the documents say of a stop, without a grace.
const LONGEST_STOP: Duration = Duration::from_secs(15);

#[test]
fn a_database_that_hangs_holds_up_no_stop_and_costs_no_unit() {
    let runtime = Runtime::new().unwrap();
    let mock = runtime.block_on(Mock::start(MockOptions::default())).unwrap();
    let mut server = Postgres::start().unwrap();
    let folder = Folder::with(&format!(
        "[store]\naccounts = \"{}\"\naccounts_password_file = \"{}\"\n[serve]\ndrain_grace_secs = 1\n\
         [gateway]\nlisten = \"127.0.0.1:0\"\n[metrics]\nlisten = \"127.0.0.1:0\"\n\
         [plan.wide]\nrequests_per_second = 100000\nconcurrency = 10000\nmonthly = 1000000000\n\
         [chain.btc]\nnetwork = \"regtest\"\nnodes = [{{ url = \"{}\", slots = 100 }}]\n",
        server.url("postgres"),
        server.password_file().display(),
        mock.url(),
    ));
    folder.json(&["account", "add", "shop", "--gateway-plan", "wide"]);
    let key = folder.json(&["key", "add", "shop"])["key"].as_str().unwrap().to_owned();
    let stranger = Folder::with("");
    stranger.json(&["account", "add", "shop"]);
    let stranger = stranger.json(&["key", "add", "shop"])["key"].as_str().unwrap().to_owned();
    let answered = AtomicU64::new(0);
    // Stopped at once, in the middle of the first questions, and when it is known to be away.
    for wait_ms in [0, 1500, 7000] {
        let mut serving = folder.start(&["serve"]);
        let gateway = serving.address("the gateway listens");
        // Until a lease is there that lasts.
        for _ in 0..300 {
            assert_eq!(call(gateway, "btc", &key, COUNT).status, 200);
            answered.fetch_add(1, Ordering::SeqCst);
        }
        server.freeze();
        let frozen = Instant::now();
        let health = serving.address("metrics and health");
        let stop = AtomicBool::new(false);
        let took = thread::scope(|scope| {
            for key in [&key, &stranger] {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        match http(gateway, "POST", "/v1/rpc/btc", key, COUNT) {
                            Some(answer) if answer.status == 200 => {
                                answered.fetch_add(1, Ordering::SeqCst);
                            }
                            _ => thread::sleep(Duration::from_millis(20)),
                        }
                    }
                });
            }
            while frozen.elapsed() < Duration::from_millis(wait_ms) {
                // Asked by a balancer all the time, which hangs nobody and asks nothing of the database.
                let asked = Instant::now();
                let page = http(health, "GET", "/readyz", "", "").unwrap();
                assert!(asked.elapsed() < Duration::from_millis(500), "{:?}", asked.elapsed());
                assert_eq!((page.status, &page.json()["ready"]), (200, &true.into()), "{page:?}");
                let is_open = page.json()["store"] == "open";
                assert!(!is_open || frozen.elapsed() < Duration::from_secs(4), "{page:?}");
                thread::sleep(Duration::from_millis(20));
            }
            let began = Instant::now();
            serving.signal("TERM");
            assert!(serving.wait().success(), "{}", serving.log());
            stop.store(true, Ordering::Relaxed);
            began.elapsed()
        });
        println!("stopped after {took:?}");
        assert!(took < LONGEST_STOP + Duration::from_secs(1), "{took:?}:\n{}", serving.log());
        server.thaw();
    }
    // What is not recorded is told by the next start, which is stopped in order.
    let mut serving = folder.start(&["serve"]);
    serving.address("the gateway listens");
    serving.signal("TERM");
    assert!(serving.wait().success(), "{}", serving.log());
    let usage = folder.json(&["usage", "shop"]);
    let units = usage["hours"].as_array().unwrap().iter().filter_map(|hour| hour["units"].as_u64());
    assert_eq!(units.sum::<u64>(), answered.load(Ordering::SeqCst));
    let open = "SELECT (SELECT sum(units) FROM portolan.leases WHERE kind = 'month')
                    - (SELECT sum(units) FROM portolan.usage)";
    assert_eq!(server.sql("postgres", open).unwrap(), "0");

    // A start is not waited for either, and gives up by itself.
    server.freeze();
    let mut starting = folder.start(&["serve"]);
    thread::sleep(Duration::from_secs(1));
    let began = Instant::now();
    starting.signal("TERM");
    assert!(starting.wait().success(), "{}", starting.log());
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    let began = Instant::now();
    let started = folder.run(&["serve"]);
    println!("{} after {:?}", started.err.lines().last().unwrap(), began.elapsed());
    assert!(started.code == 1 && started.err.contains("has not answered"), "{started:?}");
    assert!(began.elapsed() < LONGEST_STOP, "{:?}", began.elapsed());
    server.thaw();
}
