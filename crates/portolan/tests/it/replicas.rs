//! Three programs on one PostgreSQL: a cap is served to the unit over HTTP, changes reach all of them,
//! an absence of the database is bridged, and each is started anew under load without a failed call.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use replay::{Mock, MockOptions};
use testkit::{Connection, Postgres};
use tokio::runtime::Runtime;

use crate::program::{Folder, Running, call, http, wait};

const COUNT: &str = r#"{"method":"getblockcount","id":1}"#;
const REPLICAS: usize = 3;
const CAP: u64 = 3000;

fn config(node: &str, server: &Postgres) -> String {
    format!(
        "[store]\naccounts = \"{}\"\naccounts_password_file = \"{}\"\n[serve]\ndrain_grace_secs = 1\n\
         [gateway]\nlisten = \"127.0.0.1:0\"\n[metrics]\nlisten = \"127.0.0.1:0\"\n\
         [plan.capped]\nrequests_per_second = 100000\nconcurrency = 10000\ndaily = {CAP}\n\
         [plan.wide]\nrequests_per_second = 100000\nconcurrency = 10000\nmonthly = 1000000000\n\
         [chain.btc]\nnetwork = \"regtest\"\nnodes = [{{ url = \"{node}\", slots = 100 }}]\n",
        server.url("postgres"),
        server.password_file().display()
    )
}

/// A node, a database, and three programs with a folder each.
struct Fleet {
    _runtime: Runtime,
    _mock: Mock,
    server: Postgres,
    folders: Vec<Folder>,
    serving: Vec<(Running, SocketAddr)>,
}

impl Fleet {
    fn start() -> Fleet {
        let runtime = Runtime::new().unwrap();
        let mock = runtime.block_on(Mock::start(MockOptions::default())).unwrap();
        let server = Postgres::start().unwrap();
        let config = config(&mock.url(), &server);
        let folders: Vec<_> = (0..REPLICAS).map(|_| Folder::with(&config)).collect();
        let serving = folders.iter().map(serve).collect();
        Fleet { _runtime: runtime, _mock: mock, server, folders, serving }
    }

    fn key(&self, name: &str, plan: &str) -> String {
        self.folders[0].json(&["account", "add", name, "--gateway-plan", plan]);
        self.folders[0].json(&["key", "add", name])["key"].as_str().unwrap().to_owned()
    }

    /// Units of an account, once all of them are recorded.
    fn billed(&self, name: &str) -> u64 {
        let usage = self.folders[0].json(&["usage", name]);
        usage["hours"].as_array().unwrap().iter().filter_map(|hour| hour["units"].as_u64()).sum()
    }

    /// Ends all of them in order.
    fn end(&mut self) {
        for (mut serving, _) in self.serving.drain(..) {
            serving.signal("TERM");
            assert!(serving.wait().success(), "{}", serving.log());
        }
    }

    fn store(&self, place: usize) -> String {
        let page = http(metrics(&self.serving[place].0), "GET", "/readyz", "", "").unwrap();
        page.json()["store"].as_str().unwrap().to_owned()
    }
}

fn serve(folder: &Folder) -> (Running, SocketAddr) {
    let serving = folder.start(&["serve", "--only", "gateway"]);
    let gateway = serving.address("the gateway listens");
    (serving, gateway)
}

fn metrics(serving: &Running) -> SocketAddr {
    serving.address("metrics and health")
}

fn is_ready(metrics: SocketAddr) -> bool {
    http(metrics, "GET", "/readyz", "", "").is_some_and(|page| page.status == 200)
}

#[test]
fn a_cap_is_served_to_the_unit_changes_reach_all_and_an_absence_is_bridged() {
    const CALLS: usize = 6000;
    let mut fleet = Fleet::start();
    let key = fleet.key("shop", "capped");
    let next = AtomicUsize::new(0);
    let [served, refused] = [0, 0].map(AtomicUsize::new);
    // As a balancer does it: one after the other in turn, over connections that live on.
    let client = async || {
        let mut connections = Vec::new();
        for (_, gateway) in &fleet.serving {
            connections.push(Connection::open(*gateway).await.unwrap());
        }
        loop {
            let number = next.fetch_add(1, Ordering::SeqCst);
            if number >= CALLS {
                return;
            }
            let connection = &mut connections[number % REPLICAS];
            let headers = [("X-API-Key", key.as_str())];
            let target = "/v1/rpc/btc";
            connection.request("POST", target, &headers, COUNT.as_bytes()).await.unwrap();
            let answer = connection.answer().await.unwrap();
            match answer.status {
                200 => served.fetch_add(1, Ordering::SeqCst),
                429 => refused.fetch_add(1, Ordering::SeqCst),
                503 => 0,
                other => panic!("{other}"),
            };
        }
    };
    thread::scope(|scope| {
        (0..6).for_each(|_| {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.unwrap().block_on(client());
            });
        });
    });
    println!("refused: {}", refused.load(Ordering::SeqCst));
    assert_eq!(served.load(Ordering::SeqCst) as u64, CAP);
    let text = call(fleet.serving[0].1, "btc", &key, COUNT);
    assert_eq!((text.status, text.body.contains("DAILY_QUOTA_EXCEEDED")), (429, true), "{text:?}");

    // A revoked key is refused by every one of them.
    let wide = fleet.key("wide", "wide");
    let gone = fleet.folders[1].json(&["key", "add", "wide"]);
    let (id, gone) = (gone["id"].as_str().unwrap(), gone["key"].as_str().unwrap());
    for (_, gateway) in &fleet.serving {
        assert_eq!(call(*gateway, "btc", gone, COUNT).status, 200);
        assert_eq!(call(*gateway, "btc", &wide, COUNT).status, 200);
    }
    fleet.folders[2].json(&["key", "revoke", id]);
    let revoked = Instant::now();
    let mut answered = 2 * REPLICAS as u64;
    for (_, gateway) in &fleet.serving {
        wait("the revocation", || match call(*gateway, "btc", gone, COUNT).status {
            403 => Some(()),
            200 => {
                answered += 1;
                None
            }
            other => panic!("{other}"),
        });
    }
    println!("revoked everywhere after {:?}", revoked.elapsed());

    // Without the database known keys go on, and what is not known may be new.
    fleet.server.stop();
    for place in 0..REPLICAS {
        wait("the loss", || (fleet.store(place) == "unavailable").then_some(()));
        let gateway = fleet.serving[place].1;
        for _ in 0..20 {
            assert_eq!(call(gateway, "btc", &wide, COUNT).status, 200);
            answered += 1;
        }
        assert_eq!(call(gateway, "btc", gone, COUNT).status, 403);
        let stranger = Folder::with("");
        stranger.json(&["account", "add", "shop"]);
        let stranger = stranger.json(&["key", "add", "shop"]);
        assert_eq!(call(gateway, "btc", stranger["key"].as_str().unwrap(), COUNT).status, 503);
    }
    fleet.server.start_again().unwrap();
    for place in 0..REPLICAS {
        wait("the return", || (fleet.store(place) == "open").then_some(()));
    }
    fleet.end();
    assert_eq!(fleet.billed("shop"), CAP);
    assert_eq!(fleet.billed("wide"), answered);
    // Nothing is lent once all have ended.
    let open = "SELECT (SELECT sum(units) FROM portolan.leases WHERE kind = 'month')
                    - (SELECT sum(units) FROM portolan.usage WHERE account = 2)";
    assert_eq!(fleet.server.sql("postgres", open).unwrap(), "0");
}

/// How long the database is away: 5 s, or what the environment says.
fn away() -> Duration {
    let secs = std::env::var("PORTOLAN_AWAY_SECS").ok().and_then(|secs| secs.parse().ok());
    Duration::from_secs(secs.unwrap_or(5))
}

#[test]
fn known_keys_keep_working_while_the_database_is_away_and_nothing_is_charged_twice() {
    let mut fleet = Fleet::start();
    let key = fleet.key("shop", "wide");
    let stranger = Folder::with("");
    stranger.json(&["account", "add", "shop"]);
    let stranger = stranger.json(&["key", "add", "shop"])["key"].as_str().unwrap().to_owned();
    let gateways: Vec<SocketAddr> = fleet.serving.iter().map(|(_, gateway)| *gateway).collect();
    let pages: Vec<SocketAddr> = fleet.serving.iter().map(|(one, _)| metrics(one)).collect();
    let [answered, refused] = [0, 0].map(AtomicUsize::new);
    let (odd, stop) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let client = |first: usize| {
        for turn in first.. {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            let answer = call(gateways[turn % REPLICAS], "btc", &key, COUNT);
            match answer.status {
                200 => drop(answered.fetch_add(1, Ordering::SeqCst)),
                _ => odd.lock().unwrap().push(answer),
            }
            thread::sleep(Duration::from_millis(20));
        }
    };
    let store = |page: &SocketAddr| http(*page, "GET", "/readyz", "", "").unwrap().json();
    let all = |state: &str| pages.iter().all(|page| store(page)["store"] == state);
    let server = Mutex::new(&mut fleet.server);
    thread::scope(|scope| {
        let client = &client;
        (0..3).for_each(|first| drop(scope.spawn(move || client(first))));
        // So long that its speed is known.
        thread::sleep(Duration::from_secs(4));
        let before = answered.load(Ordering::SeqCst);
        server.lock().unwrap().stop();
        wait("the loss", || all("unavailable").then_some(()));
        let until = Instant::now() + away();
        while Instant::now() < until {
            for gateway in &gateways {
                let answer = call(*gateway, "btc", &stranger, COUNT);
                assert_eq!(answer.status, 503, "{answer:?}");
                refused.fetch_add(1, Ordering::SeqCst);
            }
            assert!(pages.iter().all(|page| is_ready(*page)));
            thread::sleep(Duration::from_millis(200));
        }
        let during = answered.load(Ordering::SeqCst) - before;
        println!("{during} answered while it was away, {refused:?} refused");
        assert!(during > 20, "{during}");
        server.lock().unwrap().start_again().unwrap();
        wait("the return", || all("open").then_some(()));
        for gateway in &gateways {
            assert_eq!(call(*gateway, "btc", &stranger, COUNT).status, 401);
        }
        thread::sleep(Duration::from_secs(1));
        stop.store(true, Ordering::Relaxed);
    });
    let odd = odd.into_inner().unwrap();
    assert!(odd.is_empty(), "{} odd: {:?}", odd.len(), odd[0]);
    fleet.end();
    assert_eq!(fleet.billed("shop"), answered.load(Ordering::SeqCst) as u64);
}

#[test]
fn all_are_started_anew_under_load_and_no_call_fails() {
    let mut fleet = Fleet::start();
    let key = fleet.key("shop", "wide");
    // What a balancer sends to: those whose page says that they are ready.
    let ready = Mutex::new(fleet.serving.iter().map(|(_, gateway)| Some(*gateway)).collect());
    let [answered, again] = [0, 0].map(AtomicUsize::new);
    let (failed, stop) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let client = |first: usize| {
        for turn in first.. {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            let targets: Vec<SocketAddr> = {
                let ready: std::sync::MutexGuard<'_, Vec<Option<SocketAddr>>> =
                    ready.lock().unwrap();
                ready.iter().flatten().copied().collect()
            };
            let target = targets[turn % targets.len()];
            match http(target, "POST", "/v1/rpc/btc", &key, COUNT) {
                Some(answer) if answer.status == 200 => answered.fetch_add(1, Ordering::SeqCst),
                Some(answer) => {
                    failed.lock().unwrap().push(answer);
                    0
                }
                // Nobody listens: the next one is asked.
                None => again.fetch_add(1, Ordering::SeqCst),
            };
        }
    };
    thread::scope(|scope| {
        (0..4).for_each(|first| drop(scope.spawn(move || client(first))));
        for place in 0..REPLICAS {
            let enough = answered.load(Ordering::SeqCst) + 100;
            wait("answers", || (answered.load(Ordering::SeqCst) > enough).then_some(()));
            let (serving, _) = &mut fleet.serving[place];
            let page = metrics(serving);
            serving.signal("TERM");
            wait("the balancer to see it", || (!is_ready(page)).then_some(()));
            ready.lock().unwrap()[place] = None;
            assert!(serving.wait().success(), "{}", serving.log());
            let (anew, gateway) = serve(&fleet.folders[place]);
            let page = metrics(&anew);
            wait("it to be ready", || is_ready(page).then_some(()));
            ready.lock().unwrap()[place] = Some(gateway);
            fleet.serving[place] = (anew, gateway);
        }
        let enough = answered.load(Ordering::SeqCst) + 100;
        wait("answers", || (answered.load(Ordering::SeqCst) > enough).then_some(()));
        stop.store(true, Ordering::Relaxed);
    });
    let (answered, again) = (answered.load(Ordering::SeqCst), again.load(Ordering::SeqCst));
    println!("answered {answered}, asked elsewhere {again}");
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {answered}: {:?}", failed.len(), failed[0]);
    fleet.end();
    assert_eq!(fleet.billed("shop"), answered as u64);
    // Each has a part in it.
    let counted = "SELECT count(DISTINCT replica) FROM portolan.usage";
    assert_eq!(fleet.server.sql("postgres", counted).unwrap(), REPLICAS.to_string());
}
