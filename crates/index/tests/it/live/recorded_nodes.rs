//! An index follows recorded nodes over HTTP, through a reorganisation.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chain::{Network, NetworkKind};
use index::Memory;
use index::utxo::{HashKey, Index, Store, SyncOptions};
use node::{NodeConfig, Pool, PoolConfig, Tried};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use replay::{Phase, Replay, ReplayOptions, Tls};
use testkit::{Chaos, Mischief};

const CHAINS: [&str; 7] = ["btc", "ltc", "doge", "bch", "xec", "zec", "dcr"];

/// An index in `dir` that follows the node at `url`.
fn start(slug: &str, url: &str, dir: &Path, bulk: bool) -> (Arc<Index>, Arc<Pool>) {
    start_on(slug, NodeConfig::new(url), dir, bulk)
}

fn start_on(slug: &str, node: NodeConfig, dir: &Path, bulk: bool) -> (Arc<Index>, Arc<Pool>) {
    let chain = chain::find(slug).unwrap();
    let regtest = |network: &&Network| network.kind == NetworkKind::Regtest;
    let network = chain.networks.iter().find(regtest).unwrap();
    let key = HashKey::new([7; 16]);
    let store = Store::open_with_key(dir, chain, network, &Memory::default(), key).unwrap();
    let config = PoolConfig { nodes: vec![node], ..PoolConfig::default() };
    let pool = Pool::new(chain, network, config).unwrap();
    pool.start();
    let options = SyncOptions {
        poll: Duration::from_millis(50),
        bulk_from: if bulk { 1 } else { u32::MAX },
        ..SyncOptions::default()
    };
    (Index::start(store, Arc::clone(&pool), options), pool)
}

async fn in_sync(index: &Index, height: u32) {
    for _ in 0..1200 {
        let standing = index.standing();
        if standing.in_sync && standing.height == height {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{} is not in sync: {:?}", index.chain().slug, index.standing());
}

async fn end(index: Arc<Index>, pool: Arc<Pool>) {
    index.stop().await;
    pool.stop();
    drop(index);
}

fn assert_same(first: &Index, second: &Index) {
    let (first, second) = (first.store().lock().unwrap(), second.store().lock().unwrap());
    assert_eq!(first.same_rows(&second).unwrap(), None, "{}", first.chain().slug);
}

/// Every block of the node is as the rows say; of an earlier tip too.
async fn read_again(slug: &str, pool: &Arc<Pool>, dir: &Path) {
    let (chain, network) = (pool.chain(), pool.network());
    let store = Store::open_read_only(dir, chain, network, &Memory::default()).unwrap();
    let node = pool.pick(&Tried::new()).unwrap();
    let again = store.read_again(&node, |_| ()).await.unwrap();
    assert_eq!(again.faults, Vec::<String>::new(), "{slug}");
    let tip = store.tip().unwrap();
    assert_eq!(again.blocks, u64::from(tip.height) + 1, "{slug}");
    assert!(again.transactions >= tip.next_txnum, "{slug}");
}

/// Height of the tip of a phase.
fn tip(slug: &str, phase: Phase) -> u32 {
    testkit::expected(slug, phase)["tip"].as_u64().unwrap() as u32
}

#[tokio::test(flavor = "multi_thread")]
async fn both_phases_are_followed_with_and_without_a_restart() {
    for slug in CHAINS {
        let (a, b) = (tip(slug, Phase::A), tip(slug, Phase::B));
        let node = Replay::start(slug, ReplayOptions::default()).await.unwrap();
        let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let (index, pool) = start(slug, &node.url(), dirs[0].path(), false);
        in_sync(&index, a).await;
        let pooled = index.standing().mempool_count;
        assert!(pooled > 0, "{slug} has waiting transactions");
        let view = index.view().unwrap();
        assert_eq!(view.mempool().unwrap().count(), pooled);
        let (other, other_pool) = start(slug, &node.url(), dirs[1].path(), true);
        in_sync(&other, a).await;
        end(other, other_pool).await;
        node.set_phase(Phase::B);
        in_sync(&index, b).await;
        let (other, other_pool) = start(slug, &node.url(), dirs[1].path(), true);
        in_sync(&other, b).await;
        assert_eq!(other.view().unwrap().hash(), index.view().unwrap().hash());
        assert_eq!(view.height(), a, "an old view stays");
        assert_same(&index, &other);
        read_again(slug, &pool, dirs[1].path()).await;
        end(other, other_pool).await;
        end(index, pool).await;
    }
}

/// dcrd as it comes: over TLS, with a certificate of its own, and a connection for each answer.
async fn first_load_over_tls(websocket: bool) -> (Replay, Duration) {
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let ca = dirs[0].path().join("rpc.cert");
    std::fs::write(&ca, &certificate).unwrap();
    let tls = Some(Tls::from_pem(&certificate, &key.serialize_pem()).unwrap());
    let options = ReplayOptions { tls, websocket, ..ReplayOptions::default() };
    let node = Replay::start("dcr", options).await.unwrap();
    let config = NodeConfig { ca: Some(ca), ..NodeConfig::new(node.url()) };
    let began = Instant::now();
    let (index, pool) = start_on("dcr", config, dirs[1].path(), true);
    in_sync(&index, tip("dcr", Phase::A)).await;
    let took = began.elapsed();
    end(index, pool).await;
    (node, took)
}

#[tokio::test(flavor = "multi_thread")]
async fn first_load_of_dcr_takes_one_handshake_and_those_of_probes() {
    let blocks = u64::from(tip("dcr", Phase::A)) + 1;
    let (with, fast) = first_load_over_tls(true).await;
    let (without, slow) = first_load_over_tls(false).await;
    let handshakes = (with.connections(), without.connections());
    println!("{} calls, {handshakes:?} handshakes, {fast:?} and {slow:?}", with.calls());
    // One is the websocket's; a probe asks by HTTP.
    assert!(handshakes.0 * 4 < handshakes.1, "{handshakes:?}");
    assert!(handshakes.1 > blocks, "{handshakes:?}");
    assert!(with.calls() > blocks);
}

#[tokio::test(flavor = "multi_thread")]
async fn websocket_that_is_cut_again_and_again_costs_no_row() {
    let node = Replay::start("dcr", ReplayOptions::default()).await.unwrap();
    let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let (index, pool) = start("dcr", &node.url(), dirs[0].path(), false);
    let height = tip("dcr", Phase::A);
    in_sync(&index, height).await;
    pool.stop();
    for (dir, bulk) in [(&dirs[1], false), (&dirs[2], true)] {
        // In the middle of an answer, whichever it is then.
        let chaos = Chaos::start(node.address(), Mischief::ResetAfter(150_000)).await.unwrap();
        let (cut, pool) = start("dcr", &chaos.url(), dir.path(), bulk);
        until("it was cut", || chaos.connections() >= 8).await;
        chaos.set(Mischief::Pass);
        in_sync(&cut, height).await;
        assert_same(&index, &cut);
        end(cut, pool).await;
    }
    index.stop().await;
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..1200 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("waited too long until {what}");
}
