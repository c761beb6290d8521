//! Indexes that cannot be opened: their own chains stand still, and nothing else.

use std::fs;
use std::net::SocketAddr;

use crate::program::stage::{BLOCKS, Stage};
use crate::program::{Running, call, http, wait};

const TIP: &str = r#"{"method":"getblockcount","id":1}"#;

/// Ends a server that has made an index.
fn made() -> Stage {
    let stage = Stage::new();
    let mut serving = stage.serve();
    serving.signal("TERM");
    assert!(serving.wait().success());
    stage
}

/// Changes a byte in the middle of the engine's list of files.
fn damage(stage: &Stage) {
    let entries = fs::read_dir(stage.folder.path().join("data/btc")).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    let manifest = paths.find(|path| path.to_str().unwrap().contains("MANIFEST")).unwrap();
    let mut bytes = fs::read(&manifest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    fs::write(manifest, bytes).unwrap();
}

fn page(address: SocketAddr, path: &str) -> String {
    http(address, "GET", path, "", "").unwrap().body
}

/// The gateway answers, the explorer does not, and everybody who asks is told why.
fn stands_still(stage: &Stage, serving: &Running) {
    let gateway = serving.address("the gateway listens");
    assert_eq!(call(gateway, "btc", &stage.key, TIP).status, 200);
    let status = stage.status(serving);
    assert_eq!(status.status, 503, "{status:?}");
    assert!(status.body.contains("is stopped"), "{status:?}");
    let metrics = serving.address("metrics and health listen");
    let text = page(metrics, "/metrics");
    assert!(text.contains("portolan_index_stopped{chain=\"btc\"} 1"), "{text}");
    assert!(text.contains("portolan_index_in_sync{chain=\"btc\"} 0"), "{text}");
    assert!(page(metrics, "/readyz").contains("\"index\":\"stopped\""));
}

#[test]
fn a_damaged_index_stops_its_own_chain_until_it_is_rebuilt() {
    let stage = made();
    damage(&stage);
    let mut serving = stage.folder.start(&["serve"]);
    stands_still(&stage, &serving);
    let log = serving.wait_for_log("the index cannot be opened");
    let line = log.lines().find(|line| line.contains("the index cannot be opened")).unwrap();
    for word in ["ERROR", "state=\"stopped\"", "damaged", "portolan index rebuild btc", "SIGHUP"] {
        assert!(line.contains(word), "{word}: {line}");
    }
    assert!(!line.contains("another process"), "{line}");
    assert_eq!(stage.folder.json(&["index", "rebuild", "btc"])["in_place"], true);
    serving.signal("HUP");
    serving.wait_for_log("the index goes on");
    stage.in_sync(&serving);
    serving.signal("TERM");
    assert!(serving.wait().success());
}

#[test]
fn another_networks_index_stops_its_own_chain_and_is_left_as_it_is() {
    let stage = made();
    stage.configure("testnet", "");
    let mut serving = stage.folder.start(&["serve"]);
    let log = serving.wait_for_log("the index cannot be opened");
    assert!(log.contains("holds an index of btc regtest") && log.contains("btc testnet"), "{log}");
    let text = page(serving.address("metrics and health listen"), "/metrics");
    assert!(text.contains("portolan_index_stopped{chain=\"btc\"} 1"), "{text}");
    stage.configure("regtest", "");
    serving.signal("HUP");
    stage.in_sync(&serving);
    serving.signal("TERM");
    assert!(serving.wait().success());
}

#[test]
fn an_index_that_somebody_has_open_is_served_as_it_is_and_goes_on_by_itself() {
    let stage = made();
    let btc = chain::find("btc").unwrap();
    let memory = index::Memory::new(8 << 20, 8 << 20);
    let (dir, network) = (stage.folder.path().join("data/btc"), btc.network("regtest").unwrap());
    let held = index::utxo::Store::open(&dir, btc, network, &memory).unwrap();
    let mut serving = stage.folder.start(&["serve"]);
    let log = serving.wait_for_log("the index cannot be opened");
    assert!(log.contains("is in use by another process"), "{log}");
    let status = wait("the explorer", || {
        let status = stage.status(&serving);
        (status.status == 200).then(|| status.json())
    });
    assert_eq!((&status["height"], &status["in_sync"]), (&BLOCKS.into(), &false.into()));
    drop(held);
    serving.wait_for_log("the index goes on");
    stage.in_sync(&serving);
    serving.signal("TERM");
    assert!(serving.wait().success());
}
