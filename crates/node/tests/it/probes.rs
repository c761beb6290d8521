//! What the probes make of a node, dialect by dialect.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use node::{NodeConfig, NodeState, Pool, Tried, Unusable, Verdict, Weight};

use crate::scripted::*;

/// A pool of one node that answers by method, probed once.
async fn probed<F>(slug: &str, network: &str, answer: F) -> (Scripted, Arc<Pool>, NodeState)
where
    F: Fn(&str, &Heard) -> Vec<u8> + Send + Sync + 'static,
{
    let server = Scripted::answering(move |heard| answer(&heard.method(), heard)).await;
    let pool = pool_with(slug, network, vec![NodeConfig::new(server.url())], |config| {
        config.probe_interval = millis(10);
    });
    pool.start();
    pool.probed().await;
    let state = pool.states().remove(0);
    (server, pool, state)
}

fn genesis(slug: &str, network: &str) -> String {
    let network = chain::find(slug).unwrap().network(network).unwrap();
    format!("\"{}\"", network.genesis.unwrap_or(&format!("0x{}", "ab".repeat(32))))
}

fn chain_info(blocks: u64, headers: u64, initial: bool) -> Vec<u8> {
    result(&format!(
        "{{\"chain\":\"main\",\"blocks\":{blocks},\"headers\":{headers},\"initialblockdownload\":{initial},\"difficulty\":1e-10}}"
    ))
}

fn network_info(agent: &str) -> Vec<u8> {
    result(&format!("{{\"version\":280100,\"subversion\":\"{agent}\",\"connections\":0}}"))
}

/// A node of the Core family with everything in order.
fn core(slug: &'static str, network: &'static str, method: &str, heard: &Heard) -> Vec<u8> {
    let agent = match slug {
        "bch" => "/Bitcoin Cash Node:28.0.1(EB32.0)/",
        "xec" => "/Bitcoin ABC:0.33.10(EB32.0)/",
        _ => "/Satoshi:28.1.0/",
    };
    match method {
        "getblockchaininfo" => chain_info(1000, 1000, false),
        "getblockhash" if heard.text().contains("[0]") => result(&genesis(slug, network)),
        "getblockhash" => {
            let network = chain::find(slug).unwrap().network(network).unwrap();
            result(&format!("\"{}\"", network.fork_block.unwrap().hash))
        }
        "getnetworkinfo" => network_info(agent),
        _ => rpc_error(-32601, "Method not found"),
    }
}

#[tokio::test]
async fn core_family_is_recognised() {
    for slug in ["btc", "ltc", "doge", "bch", "xec"] {
        let (_server, pool, state) =
            probed(slug, "regtest", move |method, heard| core(slug, "regtest", method, heard))
                .await;
        assert_eq!((state.verdict, state.identity), (Verdict::Ready, Some(true)), "{slug}");
        assert_eq!((state.height, state.reachable), (Some(1000), Some(true)));
        assert!(state.version.unwrap().starts_with('/') && state.note.is_none());
        assert_eq!(pool.tip(), Some(1000));
        let node = pool.pick(&Tried::new()).unwrap();
        assert_eq!(node.speaks_v2(), slug == "btc");
    }
}

#[tokio::test]
async fn old_core_does_not_speak_v2() {
    let (_server, pool, _) = probed("btc", "regtest", |method, heard| match method {
        "getnetworkinfo" => result("{\"version\":270200,\"subversion\":\"/Satoshi:27.2.0/\"}"),
        _ => core("btc", "regtest", method, heard),
    })
    .await;
    assert!(!pool.pick(&Tried::new()).unwrap().speaks_v2());
}

#[tokio::test]
async fn wrong_genesis_takes_out_even_the_last_node() {
    let (_server, pool, state) =
        probed("ltc", "mainnet", |method, heard| core("btc", "mainnet", method, heard)).await;
    assert_eq!((state.verdict, state.identity), (Verdict::Foreign, Some(false)));
    assert!(state.note.unwrap().contains("genesis"));
    assert_eq!(pool.pick(&Tried::new()).unwrap_err(), Unusable::Unavailable);
    assert_eq!(pool.tip(), None);
}

#[tokio::test]
async fn fork_block_tells_chains_with_one_genesis_apart() {
    // Below the fork nobody can tell; above it a btc node is no bch node.
    for (height, verdict) in [(1000, Verdict::Ready), (900_000, Verdict::Foreign)] {
        let (_server, _pool, state) = probed("bch", "mainnet", move |method, heard| match method {
            "getblockchaininfo" => chain_info(height, height, false),
            "getblockhash" if !heard.text().contains("[0]") => {
                result(&format!("\"{}\"", "0".repeat(64)))
            }
            _ => core("bch", "mainnet", method, heard),
        })
        .await;
        assert_eq!(state.verdict, verdict, "{:?}", state.note);
    }
    let (_server, _pool, state) = probed("bch", "mainnet", |method, heard| match method {
        "getblockchaininfo" => chain_info(900_000, 900_000, false),
        _ => core("bch", "mainnet", method, heard),
    })
    .await;
    assert_eq!(state.verdict, Verdict::Ready);
}

#[tokio::test]
async fn user_agent_tells_chains_apart_on_test_networks() {
    let (_server, _pool, state) = probed("bch", "regtest", |method, heard| match method {
        "getnetworkinfo" => network_info("/Bitcoin ABC:0.33.10(EB32.0)/"),
        _ => core("bch", "regtest", method, heard),
    })
    .await;
    assert_eq!(state.verdict, Verdict::Foreign);
    assert!(state.note.unwrap().contains("Bitcoin ABC"));
}

#[tokio::test]
async fn syncing_needs_initial_download_and_headers_above() {
    let cases = [
        (100, 100, true, Verdict::Ready),
        (100, 200, false, Verdict::Ready),
        (100, 200, true, Verdict::Syncing),
    ];
    for (blocks, headers, initial, verdict) in cases {
        let (_server, pool, state) = probed("btc", "mainnet", move |method, heard| match method {
            "getblockchaininfo" => chain_info(blocks, headers, initial),
            _ => core("btc", "mainnet", method, heard),
        })
        .await;
        assert_eq!(state.verdict, verdict, "{blocks} {headers} {initial}");
        let picked = pool.pick(&Tried::new());
        assert_eq!(picked.err(), (verdict == Verdict::Syncing).then_some(Unusable::Syncing));
    }
}

#[tokio::test]
async fn warming_up_counts_as_syncing_until_it_is_over() {
    let warm = Arc::new(AtomicBool::new(false));
    let is_warm = warm.clone();
    let (_server, pool, state) =
        probed("doge", "regtest", move |method, heard| match is_warm.load(Ordering::SeqCst) {
            true => core("doge", "regtest", method, heard),
            false => rpc_error(-28, "Loading block index..."),
        })
        .await;
    assert_eq!((state.verdict, state.reachable), (Verdict::Syncing, Some(true)));
    assert_eq!(pool.pick(&Tried::new()).unwrap_err(), Unusable::Syncing);
    warm.store(true, Ordering::SeqCst);
    until("the node is ready", || pool.states()[0].verdict == Verdict::Ready).await;
}

#[tokio::test]
async fn text_of_an_expired_node_is_kept() {
    let (_server, pool, state) = probed("bch", "regtest", |_, _| {
        rpc_error(-100, "RPC is disabled. This version of Bitcoin Cash Node is old")
    })
    .await;
    assert_eq!(state.verdict, Verdict::Unprobed);
    assert!(state.note.unwrap().contains("RPC is disabled"));
    assert!(pool.pick(&Tried::new()).is_ok());
}

#[tokio::test]
async fn answers_of_the_wrong_shape_count_as_unprobed() {
    for shape in [
        "[]",
        "{}",
        "null",
        "\"x\"",
        "{\"blocks\":\"12\"}",
        "{\"blocks\":-1}",
        "{\"blocks\":1e400}",
    ] {
        let (_server, pool, state) = probed("btc", "regtest", move |_, _| result(shape)).await;
        assert_eq!((state.verdict, state.height), (Verdict::Unprobed, None), "{shape}");
        assert!(pool.pick(&Tried::new()).is_ok());
    }
    let (_server, pool, state) = probed("btc", "regtest", |method, heard| match method {
        "getblockhash" => result("\"not a hash\""),
        _ => core("btc", "regtest", method, heard),
    })
    .await;
    assert_eq!((state.verdict, state.identity), (Verdict::Unprobed, None));
    assert!(pool.pick(&Tried::new()).is_ok());
    let (_server, _pool, state) = probed("btc", "regtest", |_, _| ok("<html>hello</html>")).await;
    assert_eq!(state.verdict, Verdict::Unprobed);
}

#[tokio::test]
async fn unreachable_node_counts_as_usable_and_says_why() {
    let server = Scripted::answering(|_| ok("1")).await;
    let pool = pool("btc", "regtest", vec![NodeConfig::new(server.url())]);
    drop(server);
    pool.start();
    pool.probed().await;
    let state = pool.states().remove(0);
    assert_eq!((state.reachable, state.probed, state.identity), (Some(false), true, None));
    assert!(state.note.unwrap().contains("cannot connect"));
    assert!(pool.pick(&Tried::new()).is_ok());
}

#[tokio::test]
async fn zebrad_is_recognised() {
    for (network, estimated, verdict) in [
        ("regtest", 6_655_222, Verdict::Ready),
        ("mainnet", 1_050, Verdict::Ready),
        ("mainnet", 3_000_000, Verdict::Syncing),
    ] {
        let (server, _pool, state) = probed("zec", network, move |method, _| match method {
            "getblockchaininfo" => result(&format!(
                "{{\"chain\":\"test\",\"blocks\":1000,\"headers\":1000,\"estimatedheight\":{estimated}}}"
            )),
            "getblockhash" => result(&genesis("zec", network)),
            "getnetworkinfo" => result("{\"version\":7000000,\"subversion\":\"/Zebra:7.0.0/\"}"),
            _ => rpc_error(-32601, "Method not found"),
        })
        .await;
        assert_eq!(state.verdict, verdict, "{network} {estimated}: {:?}", state.note);
        assert_eq!(state.version.as_deref(), Some("/Zebra:7.0.0/"));
        assert!(server.heard()[0].text().contains("\"jsonrpc\":\"2.0\""));
    }
}

#[tokio::test]
async fn dcrd_is_recognised_over_connections_that_close() {
    let server = Scripted::start(|mut peer| async move {
        let heard = peer.hear().await.unwrap();
        let id = heard.id().unwrap();
        let json = match heard.method().as_str() {
            "getblockchaininfo" => "{\"blocks\":262,\"headers\":262,\"syncheight\":262,\"initialblockdownload\":false,\"difficulty\":545259519}".to_owned(),
            "getblockhash" => genesis("dcr", "simnet"),
            "version" => "{\"dcrd\":{\"versionstring\":\"2.2.0-pre\"},\"dcrdjsonrpcapi\":{\"versionstring\":\"8.3.0\"}}".to_owned(),
            other => panic!("asked {other}"),
        };
        peer.say(format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n{{\"jsonrpc\":\"1.0\",\"result\":{json},\"error\":null,\"id\":{id}}}\n")).await;
        peer.close().await;
    })
    .await;
    let pool = pool("dcr", "simnet", vec![NodeConfig::new(server.url())]);
    pool.start();
    pool.probed().await;
    let state = pool.states().remove(0);
    assert_eq!((state.verdict, state.height), (Verdict::Ready, Some(262)), "{:?}", state.note);
    assert_eq!(state.version.as_deref(), Some("2.2.0-pre"));
}

#[tokio::test]
async fn geth_is_recognised() {
    let archive =
        "{\"currentBlock\":\"0x1\",\"highestBlock\":\"0x0\",\"stateIndexRemaining\":\"0x1\"}";
    let behind = "{\"currentBlock\":\"0x1\",\"highestBlock\":\"0xff\"}";
    for (syncing, chain_id, verdict) in [
        ("false", "0x1", Verdict::Ready),
        (archive, "0x1", Verdict::Ready),
        (behind, "0x1", Verdict::Syncing),
        ("false", "0x38", Verdict::Foreign),
    ] {
        let (_server, _pool, state) = probed("eth", "mainnet", move |method, _| match method {
            "eth_blockNumber" => result("\"0x10\""),
            "eth_syncing" => result(syncing),
            "eth_chainId" => result(&format!("\"{chain_id}\"")),
            "eth_getBlockByNumber" => {
                result(&format!("{{\"hash\":{},\"number\":\"0x0\"}}", genesis("eth", "mainnet")))
            }
            "web3_clientVersion" => result("\"Geth/v1.17.10-stable/linux-amd64/go1.26.8\""),
            _ => rpc_error(-32601, "no"),
        })
        .await;
        assert_eq!((state.verdict, state.height), (verdict, Some(16)), "{syncing} {chain_id}");
        assert!(state.version.unwrap().starts_with("Geth/"));
    }
}

#[tokio::test]
async fn monerod_is_recognised() {
    let info = |nettype: &str, synchronized: bool, target: u64| {
        result(&format!(
            "{{\"height\":171,\"target_height\":{target},\"nettype\":\"{nettype}\",\"synchronized\":{synchronized},\"status\":\"OK\",\"version\":\"\"}}"
        ))
    };
    for (network, nettype, synchronized, target, verdict) in [
        ("regtest", "fakechain", true, 0, Verdict::Ready),
        ("regtest", "fakechain", false, 0, Verdict::Ready),
        ("regtest", "mainnet", true, 0, Verdict::Foreign),
        ("mainnet", "mainnet", true, 0, Verdict::Ready),
        ("mainnet", "mainnet", false, 900, Verdict::Syncing),
    ] {
        let (server, _pool, state) = probed("xmr", network, move |method, _| match method {
            "get_info" => info(nettype, synchronized, target),
            "get_block" => {
                result(&format!("{{\"block_header\":{{\"hash\":{}}}}}", genesis("xmr", network)))
            }
            _ => rpc_error(-32601, "Method not found"),
        })
        .await;
        assert_eq!(state.verdict, verdict, "{network} {nettype}: {:?}", state.note);
        assert_eq!((state.height, state.version), (Some(170), None), "the tip is one below");
        assert!(server.heard().iter().all(|heard| heard.path() == "/json_rpc"));
    }
    let (_server, _pool, state) =
        probed("xmr", "regtest", |_, _| result("{\"height\":0,\"status\":\"BUSY\"}")).await;
    assert_eq!(state.verdict, Verdict::Syncing);
}

#[tokio::test]
async fn node_that_becomes_another_chain_is_taken_out() {
    let other = Arc::new(AtomicBool::new(false));
    let is_other = other.clone();
    let (_server, pool, state) = probed("btc", "regtest", move |method, heard| {
        match (is_other.load(Ordering::SeqCst), method) {
            (true, "getblockhash") => result(&genesis("btc", "mainnet")),
            _ => core("btc", "regtest", method, heard),
        }
    })
    .await;
    assert_eq!(state.verdict, Verdict::Ready);
    other.store(true, Ordering::SeqCst);
    until("the node is taken out", || pool.states()[0].verdict == Verdict::Foreign).await;
    other.store(false, Ordering::SeqCst);
    until("the node is back", || pool.states()[0].verdict == Verdict::Ready).await;
}

#[tokio::test]
async fn probes_get_through_while_customers_hold_what_they_may() {
    let height = Arc::new(AtomicU64::new(1000));
    let now = height.clone();
    let (_server, pool, _) = probed("btc", "regtest", move |method, heard| match method {
        "getblockchaininfo" => {
            let height = now.load(Ordering::SeqCst);
            chain_info(height, height, false)
        }
        _ => core("btc", "regtest", method, heard),
    })
    .await;
    let node = pool.pick(&Tried::new()).unwrap();
    let mut held = Vec::new();
    for account in 0..14 {
        held.push(node.lease(account, Weight::Light).await.unwrap());
    }
    assert!(node.lease(99, Weight::Light).await.is_err());
    height.store(1001, Ordering::SeqCst);
    until("the probe sees the block", || pool.tip() == Some(1001)).await;
}

#[tokio::test]
async fn cookie_is_read_again_by_the_probe() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(".cookie");
    std::fs::write(&path, "__cookie__:one").unwrap();
    let seen = Arc::new(Mutex::new(String::new()));
    let last = seen.clone();
    let server = Scripted::answering(move |heard| {
        *last.lock().unwrap() = heard.header("authorization").unwrap_or_default();
        core("btc", "regtest", &heard.method(), heard)
    })
    .await;
    let config = NodeConfig { cookie: Some(path.clone()), ..NodeConfig::new(server.url()) };
    let pool = pool_with("btc", "regtest", vec![config], |config| {
        config.probe_interval = millis(10);
    });
    pool.start();
    pool.probed().await;
    std::fs::write(&path, "__cookie__:three").unwrap();
    until("the new cookie is presented", || {
        *seen.lock().unwrap() == "Basic X19jb29raWVfXzp0aHJlZQ=="
    })
    .await;
}
