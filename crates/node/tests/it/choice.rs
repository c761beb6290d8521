//! Which of several nodes takes a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use node::{Ejection, NodeConfig, Pool, PoolConfig, PoolError, Tried, Unusable, Verdict, Weight};

use crate::scripted::*;

/// A node of Bitcoin's regtest that can be told its height, and to die on customers or on all.
#[derive(Default)]
struct Mood {
    height: AtomicU64,
    drops_calls: AtomicBool,
    drops_all: AtomicBool,
}

async fn moody() -> (Scripted, Arc<Mood>) {
    let mood = Arc::new(Mood { height: AtomicU64::new(100), ..Mood::default() });
    let of_server = mood.clone();
    let server = Scripted::start(move |mut peer| {
        let mood = of_server.clone();
        async move {
            while let Some(heard) = peer.hear().await {
                let method = heard.method();
                let dies = mood.drops_all.load(Ordering::SeqCst)
                    || (method == "getblockcount" && mood.drops_calls.load(Ordering::SeqCst));
                if dies {
                    return;
                }
                let network = chain::find("btc").unwrap().network("regtest").unwrap();
                peer.say(heard.echo(match method.as_str() {
                    "getblockchaininfo" => {
                        let height = mood.height.load(Ordering::SeqCst);
                        result(&format!("{{\"blocks\":{height},\"headers\":{height}}}"))
                    }
                    "getblockhash" => result(&format!("\"{}\"", network.genesis.unwrap())),
                    "getnetworkinfo" => {
                        result("{\"version\":280000,\"subversion\":\"/Satoshi:28.0.0/\"}")
                    }
                    _ => ok("1"),
                }))
                .await;
            }
        }
    })
    .await;
    (server, mood)
}

fn two(a: &Scripted, b: &Scripted, change: impl FnOnce(&mut PoolConfig)) -> Arc<Pool> {
    let nodes = vec![NodeConfig::new(a.url()), NodeConfig::new(b.url())];
    pool_with("btc", "regtest", nodes, |config| {
        config.probe_interval = millis(20);
        config.ejection = Ejection { failures: 3, first: millis(50), longest: millis(400) };
        change(config);
    })
}

fn picked(pool: &Pool) -> String {
    pool.pick(&Tried::new()).unwrap().host().to_owned()
}

#[tokio::test]
async fn least_loaded_is_picked_and_equals_take_turns() {
    let ((a, _), (b, _)) = (moody().await, moody().await);
    let pool = two(&a, &b, |_| {});
    let turns: Vec<String> = (0..4).map(|_| picked(&pool)).collect();
    assert!(turns[0] != turns[1] && turns[0] == turns[2] && turns[1] == turns[3]);
    let busy = pool.pick(&Tried::new()).unwrap();
    let _lease = busy.lease(1, Weight::Light).await.unwrap();
    for _ in 0..6 {
        assert_ne!(picked(&pool), busy.host());
    }
}

#[tokio::test]
async fn tried_nodes_are_left_out() {
    let ((a, _), (b, _)) = (moody().await, moody().await);
    let pool = two(&a, &b, |_| {});
    let mut tried = Tried::new();
    let first = pool.pick(&tried).unwrap();
    tried.add(&first);
    let second = pool.pick(&tried).unwrap();
    assert_ne!(first.id(), second.id());
    tried.add(&second);
    assert_eq!(pool.pick(&tried).unwrap_err(), Unusable::NoneLeft);
}

#[tokio::test]
async fn lagging_node_is_skipped_while_there_is_another() {
    let ((a, mood_a), (b, mood_b)) = (moody().await, moody().await);
    let pool = two(&a, &b, |_| {});
    mood_b.height.store(103, Ordering::SeqCst);
    pool.start();
    pool.probed().await;
    for _ in 0..6 {
        assert_eq!(picked(&pool), b.address.to_string());
    }
    let mut tried = Tried::new();
    tried.add(&pool.pick(&tried).unwrap());
    assert_eq!(pool.pick(&tried).unwrap().host(), a.address.to_string());
    assert_eq!(pool.tip(), Some(103));
    // Two blocks behind is as good as the tip.
    mood_a.height.store(101, Ordering::SeqCst);
    until("both are picked", || picked(&pool) == a.address.to_string()).await;
}

#[tokio::test]
async fn failing_node_is_ejected_and_comes_back_by_a_probe() {
    let ((a, mood), (b, _)) = (moody().await, moody().await);
    let pool = two(&a, &b, |_| {});
    mood.drops_all.store(true, Ordering::SeqCst);
    pool.start();
    until("the node is ejected", || pool.states()[0].ejected).await;
    for _ in 0..10 {
        assert_eq!(picked(&pool), b.address.to_string());
    }
    mood.drops_all.store(false, Ordering::SeqCst);
    until("the node is back", || !pool.states()[0].ejected).await;
    until("the node is picked", || picked(&pool) == a.address.to_string()).await;
}

#[tokio::test]
async fn calls_that_fail_eject_a_node_whose_probes_do_not() {
    let ((a, mood), (b, _)) = (moody().await, moody().await);
    let pool = two(&a, &b, |config| {
        config.ejection.first = Duration::from_secs(30);
        config.ejection.longest = Duration::from_secs(30);
    });
    pool.start();
    pool.probed().await;
    mood.drops_calls.store(true, Ordering::SeqCst);
    for _ in 0..20 {
        let node = pool.pick(&Tried::new()).unwrap();
        let outcome = call(&node).await;
        assert_eq!(outcome.is_err(), node.host() == a.address.to_string());
    }
    assert!(pool.states()[0].ejected && !pool.states()[1].ejected);
    assert_eq!(pool.states()[0].verdict, Verdict::Ready);
}

#[tokio::test]
async fn last_node_is_never_ejected() {
    let (a, mood) = moody().await;
    mood.drops_all.store(true, Ordering::SeqCst);
    let (pool, node) = lone_with(&a, |config| config.probe_interval = millis(10));
    pool.start();
    for _ in 0..10 {
        assert!(call(&node).await.is_err());
        assert_eq!(picked(&pool), a.address.to_string());
        assert!(!pool.states()[0].ejected);
    }
    mood.drops_all.store(false, Ordering::SeqCst);
    assert!(call(&node).await.is_ok());
}

#[tokio::test]
async fn caller_can_count_a_useless_answer() {
    let ((a, _), (b, _)) = (moody().await, moody().await);
    let pool = two(&a, &b, |_| {});
    let node = pool.pick(&Tried::new()).unwrap();
    (0..3).for_each(|_| node.strike());
    for _ in 0..4 {
        assert_ne!(picked(&pool), node.host());
    }
}

#[tokio::test]
async fn reload_keeps_what_did_not_change() {
    let ((a, _), (b, _)) = (moody().await, moody().await);
    let (pool, node) = lone(&a);
    pool.start();
    pool.probed().await;
    call(&node).await.unwrap();
    let both = vec![NodeConfig::new(b.url()), NodeConfig::new(a.url())];
    pool.reload(PoolConfig { nodes: both.clone(), ..PoolConfig::default() }).unwrap();
    pool.probed().await;
    let ids: Vec<u64> = pool.nodes().iter().map(|node| node.id()).collect();
    assert_eq!(ids[1], node.id());
    assert_ne!(ids[0], node.id());
    assert!(pool.states().iter().all(|state| state.identity == Some(true)));

    let bad = PoolConfig { nodes: vec![NodeConfig::new("nonsense")], ..PoolConfig::default() };
    assert!(matches!(pool.reload(bad), Err(PoolError::Url { index: 0, .. })));
    assert_eq!(pool.nodes().len(), 2, "a bad configuration changes nothing");

    // Other limits hold for every node, so all of them are made anew.
    pool.reload(PoolConfig { nodes: both, response_limit: 1, ..PoolConfig::default() }).unwrap();
    assert!(pool.nodes().iter().all(|node| !ids.contains(&node.id())));
}

#[tokio::test]
async fn probes_end_with_the_pool() {
    let (a, _) = moody().await;
    let (pool, node) = lone_with(&a, |config| config.probe_interval = millis(5));
    drop(node);
    pool.start();
    pool.probed().await;
    pool.stop();
    tokio::time::sleep(millis(20)).await;
    let asked = a.heard().len();
    tokio::time::sleep(millis(50)).await;
    assert_eq!(a.heard().len(), asked);
    pool.start();
    until("it is asked again", || a.heard().len() > asked).await;
    drop(pool);
    tokio::time::sleep(millis(20)).await;
    let asked = a.heard().len();
    tokio::time::sleep(millis(50)).await;
    assert_eq!(a.heard().len(), asked);
}

#[test]
fn unusable_configurations_are_refused() {
    let chain = chain::find("btc").unwrap();
    let make = |nodes| {
        let config = PoolConfig { nodes, ..PoolConfig::default() };
        Pool::new(chain, chain.mainnet(), config).err().unwrap().to_string()
    };
    assert!(make(vec![]).contains("no node"));
    let secret = NodeConfig::new("http://user:hunter2@node:8332/");
    assert!(!make(vec![secret]).contains("hunter2"));
    let user = NodeConfig { user: Some("u".into()), ..NodeConfig::new("http://n:1") };
    assert!(make(vec![NodeConfig::new("http://n:1"), user]).contains("node 1"));
}
