//! The program with its accounts in a PostgreSQL: served, killed under load, cut off, copied.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use replay::{Mock, MockOptions};
use testkit::{Connection, Postgres};
use tokio::runtime::Runtime;

use crate::program::{Folder, Running, call, http, wait};

const COUNT: &str = r#"{"method":"getblockcount","id":1}"#;
/// Clients of the kill, each with one request in flight.
const CLIENTS: u64 = 8;

fn config(node: &str, server: &Postgres) -> String {
    format!(
        "[store]\naccounts = \"{}\"\naccounts_password_file = \"{}\"\n[serve]\ndrain_grace_secs = 0\n\
         [gateway]\nlisten = \"127.0.0.1:0\"\n[metrics]\nlisten = \"127.0.0.1:0\"\n\
         [plan.wide]\nrequests_per_second = 100000\nconcurrency = 10000\n\
         [chain.btc]\nnetwork = \"regtest\"\nnodes = [{{ url = \"{node}\", slots = 100 }}]\n",
        server.url("postgres"),
        server.password_file().display()
    )
}

fn serve(folder: &Folder) -> (Running, SocketAddr) {
    let serving = folder.start(&["serve", "--only", "gateway"]);
    let gateway = serving.address("the gateway listens");
    (serving, gateway)
}

fn billed(folder: &Folder) -> u64 {
    let usage = folder.json(&["usage", "shop"]);
    usage["hours"].as_array().unwrap().iter().filter_map(|hour| hour["units"].as_u64()).sum()
}

/// Calls on a connection of its own until it breaks, and counts the answers.
async fn client(
    gateway: SocketAddr,
    key: Arc<str>,
    answered: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
) {
    let Ok(mut connection) = Connection::open(gateway).await else { return };
    while !stop.load(Ordering::Relaxed) {
        let headers = [("X-API-Key", &*key)];
        let _ = connection.request("POST", "/v1/rpc/btc", &headers, COUNT.as_bytes()).await;
        match connection.answer().await {
            Ok(answer) if answer.status == 200 => answered.fetch_add(1, Ordering::SeqCst),
            _ => return,
        };
    }
}

#[test]
fn served_from_postgresql_killed_cut_off_and_copied() {
    let runtime = Runtime::new().unwrap();
    let options = MockOptions { delay: Some(Duration::from_millis(1)), ..MockOptions::default() };
    let mock = runtime.block_on(Mock::start(options)).unwrap();
    let mut server = Postgres::start().unwrap();
    let folder = Folder::with(&config(&mock.url(), &server));
    let made = folder.json(&["account", "add", "shop", "--gateway-plan", "wide"]);
    assert_eq!(made["store"], server.url("postgres"));
    let key: Arc<str> = folder.json(&["key", "add", "shop"])["key"].as_str().unwrap().into();

    // Killed under load.
    let answered = Arc::new(AtomicU64::new(0));
    for round in 1..=3 {
        let (mut serving, gateway) = serve(&folder);
        let stop = Arc::new(AtomicBool::new(false));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let (key, answered, stop) = (key.clone(), answered.clone(), stop.clone());
                runtime.spawn(client(gateway, key, answered, stop))
            })
            .collect();
        let already = answered.load(Ordering::SeqCst);
        wait("answers", || (answered.load(Ordering::SeqCst) > already + 50).then_some(()));
        std::thread::sleep(Duration::from_millis(100 * round));
        serving.signal("KILL");
        serving.wait();
        stop.store(true, Ordering::Relaxed);
        clients.into_iter().for_each(|client| runtime.block_on(client).unwrap());
        let (answered, billed) = (answered.load(Ordering::SeqCst), billed(&folder));
        let most = answered + CLIENTS * round;
        assert!((answered..=most).contains(&billed), "{answered} {billed} {most}");
    }

    // A copy of its folder may not count beside it; a revoked key is refused soon.
    let (mut serving, gateway) = serve(&folder);
    let before = billed(&folder);
    let other = Folder::with(&config(&mock.url(), &server));
    let map = "data/usage-gateway.map";
    std::fs::create_dir(other.path().join("data")).unwrap();
    std::fs::copy(folder.path().join(map), other.path().join(map)).unwrap();
    let refused = other.run(&["serve", "--only", "gateway"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("gateway is counted for this store by portolan"), "{refused:?}");
    std::fs::remove_dir_all(other.path().join("data")).unwrap();
    let gone = other.json(&["key", "add", "shop"]);
    let (id, gone) = (gone["id"].as_str().unwrap(), gone["key"].as_str().unwrap());
    assert_eq!(call(gateway, "btc", gone, COUNT).status, 200);
    other.json(&["key", "revoke", id]);
    wait("the revocation", || (call(gateway, "btc", gone, COUNT).status == 403).then_some(()));

    // Cut off: known keys go on, and the page says what is missing.
    let metrics = serving.address("metrics and health");
    let page = |path: &str| http(metrics, "GET", path, "", "").unwrap();
    let ready = || page("/readyz").json();
    server.stop();
    wait("the loss", || (ready()["store"] == "unavailable").then_some(()));
    assert_eq!(ready()["ready"], true);
    assert!(page("/metrics").body.contains("portolan_store_answers 0"));
    for _ in 0..20 {
        assert_eq!(call(gateway, "btc", &key, COUNT).status, 200);
    }
    // It may be a key that was made meanwhile.
    let stranger = Folder::with("");
    stranger.json(&["account", "add", "shop"]);
    let stranger = stranger.json(&["key", "add", "shop"]);
    assert_eq!(call(gateway, "btc", stranger["key"].as_str().unwrap(), COUNT).status, 503);
    server.start_again().unwrap();
    wait("the return", || (ready()["store"] == "open").then_some(()));
    serving.signal("TERM");
    assert!(serving.wait().success(), "{}", serving.log());
    // Those of the revoked key before it was besides.
    let used = billed(&folder);
    assert!(used > before + 20, "{used} {before}");
    let sum = server.sql("postgres", "SELECT sum(units) FROM portolan.usage").unwrap();
    assert_eq!(sum, used.to_string());

    // Copied to a folder, by which it is served on.
    let url = server.url("postgres");
    let copied = folder.json(&["store", "copy", "--from", &url, "--to", "embedded"]);
    assert_eq!(copied["gateway_units"], used);
    assert_eq!((&copied["accounts"], &copied["keys"]), (&1.into(), &2.into()));
    let again = folder.run(&["store", "copy", "--from", &url, "--to", "embedded"]);
    assert!(again.code == 1 && again.err.contains("not empty"), "{again:?}");
    let nowhere = folder.run(&["store", "copy", "--from", "nowhere", "--to", &url]);
    assert!(nowhere.code == 1 && nowhere.err.contains("no store in this folder"), "{nowhere:?}");
    folder.configure(
        &config(&mock.url(), &server)
            .replace("accounts", "#accounts")
            .replace("[store]\n", "[store]\ndir = \"embedded\"\n"),
    );
    assert_eq!(billed(&folder), used);
    let (_serving, gateway) = serve(&folder);
    assert_eq!(call(gateway, "btc", &key, COUNT).status, 200);
    assert_eq!(call(gateway, "btc", gone, COUNT).status, 403);
}
