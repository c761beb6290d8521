//! Nodes that are there, but not for us: what becomes of them, and what `check` says.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use node::{Inspection, NodeConfig, NodeState, Pool, Secret, Tried, Unusable, Verdict, inspect};
use rustls::ServerConfig;

use crate::scripted::*;

fn quick(slug: &str, network: &str, nodes: Vec<NodeConfig>) -> Arc<Pool> {
    pool_with(slug, network, nodes, |config| config.probe_interval = millis(10))
}

/// The state after a first probe, what `check` says, and the pool.
async fn met(slug: &str, network: &str, config: NodeConfig) -> (NodeState, Inspection, Arc<Pool>) {
    let pool = quick(slug, network, vec![config]);
    pool.start();
    pool.probed().await;
    let found = inspect(&pool.nodes()[0]).await;
    (pool.states().remove(0), found, pool)
}

fn says(status: &'static str, body: &'static str) -> impl Fn(&Heard) -> Vec<u8> {
    move |_| with_status(status, body)
}

/// A node of Bitcoin's regtest with everything in order.
fn bitcoind(heard: &Heard) -> Vec<u8> {
    let network = chain::find("btc").unwrap().network("regtest").unwrap();
    match heard.method().as_str() {
        "getblockchaininfo" => result("{\"blocks\":5,\"headers\":5}"),
        "getblockhash" => result(&format!("\"{}\"", network.genesis.unwrap())),
        "getnetworkinfo" => result("{\"version\":280000,\"subversion\":\"/Satoshi:28.0.0/\"}"),
        _ => rpc_error(-32601, "Method not found"),
    }
}

#[tokio::test]
async fn wrong_password_is_told_at_once_and_mended_at_once() {
    let lets_in = Arc::new(AtomicBool::new(false));
    let open = lets_in.clone();
    let server = Scripted::answering(move |heard| match open.load(Ordering::SeqCst) {
        true => bitcoind(heard),
        false => with_status("401 Unauthorized", ""),
    })
    .await;
    let config = NodeConfig {
        user: Some("u".into()),
        password: Some(Secret::new("hunter2")),
        ..NodeConfig::new(server.url())
    };
    let (state, found, pool) = met("btc", "regtest", config).await;
    assert_eq!((state.verdict, state.word()), (Verdict::Refused, "refused"));
    assert_eq!((state.reachable, state.usable()), (Some(true), false));
    assert!(state.note.unwrap().contains("the node answered 401"));
    assert!(found.advice[0].contains("401") && found.advice[0].contains("rpcauth"));
    // Where nothing better is left a call may still try: credentials may be right by now.
    assert!(pool.pick(&Tried::new()).is_ok());
    lets_in.store(true, Ordering::SeqCst);
    until("it is ready", || pool.states()[0].word() == "ready").await;
    lets_in.store(false, Ordering::SeqCst);
    until("it refuses us again", || pool.states()[0].word() == "refused").await;
}

#[tokio::test]
async fn node_that_refuses_us_is_passed_over_and_never_waited_for() {
    let bad = Scripted::answering(says("403 Forbidden", "")).await;
    let good = Scripted::answering(bitcoind).await;
    let nodes = vec![NodeConfig::new(bad.url()), NodeConfig::new(good.url())];
    let pool = quick("btc", "regtest", nodes);
    pool.start();
    pool.probed().await;
    for _ in 0..10 {
        assert_eq!(pool.pick(&Tried::new()).unwrap().host(), good.address.to_string());
    }
    let mut tried = Tried::new();
    tried.add(&pool.nodes()[1]);
    let last = pool.pick(&tried).unwrap();
    assert_eq!(last.host(), bad.address.to_string());
    tried.add(&last);
    assert_eq!(pool.pick(&tried).unwrap_err(), Unusable::NoneLeft);
}

#[tokio::test]
async fn file_of_credentials_that_cannot_be_read_is_named() {
    let server = Scripted::answering(|heard| match heard.header("authorization") {
        Some(_) => bitcoind(heard),
        None => with_status("401 Unauthorized", ""),
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("regtest/.cookie");
    let config = NodeConfig { cookie: Some(path.clone()), ..NodeConfig::new(server.url()) };
    let (state, found, pool) = met("btc", "regtest", config).await;
    let named = |text: &str| {
        text.contains(&path.display().to_string()) && text.contains("No such file or directory")
    };
    assert!(named(&state.unread_file.unwrap()), "for the log");
    assert!(found.advice.iter().any(|advice| named(advice)), "{:?}", found.advice);
    assert!(found.advice.iter().any(|advice| advice.contains("the node answered 401")));
    assert!(!state.note.unwrap().contains(".cookie"), "a path is for the operator alone");
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "__cookie__:one").unwrap();
    until("it is ready", || pool.states()[0].word() == "ready").await;
    assert_eq!(pool.states()[0].unread_file, None);
}

#[tokio::test]
async fn host_name_that_geth_does_not_know_is_told() {
    let server = Scripted::answering(says("403 Forbidden", "invalid host specified\n")).await;
    let config = NodeConfig::new(format!("http://localhost:{}", server.address.port()));
    let (state, found, _pool) = met("eth", "dev", config).await;
    assert_eq!((state.word(), state.usable()), ("refused", false));
    assert!(found.advice[0].contains("--http.vhosts=localhost"), "{:?}", found.advice);
    let server = Scripted::answering(says("401 Unauthorized", "missing token\n")).await;
    let (state, found, _pool) = met("eth", "dev", NodeConfig::new(server.url())).await;
    assert_eq!(state.word(), "refused");
    assert!(found.advice[0].contains("8545"), "{:?}", found.advice);
}

#[tokio::test]
async fn address_and_user_that_core_does_not_allow_are_told_apart() {
    for (get, option) in [("403 Forbidden", "rpcallowip"), ("405 No", "rpcwhitelist")] {
        let server = Scripted::answering(move |heard| match heard.head.starts_with("GET") {
            true => with_status(get, ""),
            false => with_status("403 Forbidden", ""),
        })
        .await;
        let (state, found, _pool) = met("ltc", "regtest", NodeConfig::new(server.url())).await;
        assert_eq!(state.word(), "refused");
        assert!(found.advice[0].contains(option), "{:?}", found.advice);
    }
}

#[tokio::test]
async fn zebrad_hangs_up_on_a_wrong_cookie() {
    let server = Scripted::start(|mut peer| async move {
        peer.hear().await;
    })
    .await;
    let (state, found, _pool) = met("zec", "regtest", NodeConfig::new(server.url())).await;
    assert_eq!((state.word(), state.reachable), ("refused", Some(true)));
    assert!(found.advice[0].contains("rpc.cookie_dir"), "{:?}", found.advice);
    let server = Scripted::start(|mut peer| async move {
        peer.hear().await;
    })
    .await;
    let (state, ..) = met("btc", "regtest", NodeConfig::new(server.url())).await;
    assert_eq!(state.word(), "unreachable", "others do no such thing");
}

fn some_tls() -> ServerConfig {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = rustls_pki_types::PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
    ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .unwrap()
}

#[tokio::test]
async fn tls_where_none_is_spoken_and_the_other_way_are_told() {
    let go = "Client sent an HTTP request to an HTTPS server.\n";
    let dcrd = Scripted::answering(says("400 Bad Request", go)).await;
    let (state, found, _pool) = met("dcr", "simnet", NodeConfig::new(dcrd.url())).await;
    assert_eq!((state.word(), state.reachable), ("unreachable", Some(false)));
    assert!(found.advice[0].contains("https://") && found.advice[0].contains("rpc.cert"));

    let tls = Scripted::start_with(Some(some_tls()), |_| async {}).await;
    let (state, found, _pool) = met("btc", "regtest", NodeConfig::new(tls.url())).await;
    assert_eq!(state.word(), "unreachable", "{:?}", state.note);
    assert!(found.advice[0].contains("https://"), "{:?}", found.advice);

    // An alert of TLS; and OpenSSL, which hangs up without a byte.
    let alert = Scripted::start(|mut peer| async move {
        peer.hear().await;
        peer.say([0x15, 3, 3, 0, 2, 2, 40]).await;
        peer.close().await;
    })
    .await;
    let mute = Scripted::start(|mut peer| async move {
        peer.hear().await;
        peer.close().await;
    })
    .await;
    for (server, slug) in [(&alert, "btc"), (&mute, "btc"), (&alert, "zec"), (&mute, "zec")] {
        let (.., found, _pool) = met(slug, "regtest", NodeConfig::new(server.url())).await;
        let names_tls = found.advice.iter().any(|advice| advice.contains("https://"));
        assert!(names_tls, "{slug}: {:?}", found.advice);
    }

    let plain = Scripted::answering(bitcoind).await;
    // A node that reads no handshake answers with words, or hangs up.
    let rude = Scripted::start(|mut peer| async move {
        peer.say("HTTP/1.1 400 Bad Request\r\n\r\n").await;
        peer.close().await;
    })
    .await;
    for server in [plain, rude] {
        let url = server.url().replace("http:", "https:");
        let pool = pool_with("btc", "regtest", vec![NodeConfig::new(url)], |config| {
            config.timeouts.connect = millis(300);
        });
        let found = inspect(&pool.nodes()[0]).await;
        assert_eq!(found.state.word(), "unreachable");
        assert!(found.advice[0].contains("TLS") || found.advice[0].contains("ca"), "{found:?}");
    }
}

#[tokio::test]
async fn name_that_does_not_resolve_is_told() {
    let config = NodeConfig::new("http://node.invalid:8332");
    let (state, found, _pool) = met("btc", "mainnet", config).await;
    assert_eq!(state.word(), "unreachable");
    assert!(state.note.unwrap().contains("does not resolve"));
    assert!(found.advice[0].contains("node.invalid"), "{:?}", found.advice);
}

#[tokio::test]
async fn probe_takes_in_no_more_than_it_may_need() {
    let sent = Arc::<AtomicU64>::default();
    let count = sent.clone();
    let server = Scripted::start(move |mut peer| {
        let count = count.clone();
        async move {
            peer.hear().await;
            peer.say("HTTP/1.1 200 OK\r\n\r\n{\"result\":\"").await;
            let piece = vec![b'x'; 1 << 20];
            while tokio::io::AsyncWriteExt::write_all(&mut peer.stream, &piece).await.is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        }
    })
    .await;
    let pool = pool_with("btc", "regtest", vec![NodeConfig::new(server.url())], |config| {
        config.probe_interval = std::time::Duration::from_secs(3600);
    });
    pool.start();
    pool.probed().await;
    assert!(pool.states()[0].note.as_ref().unwrap().contains("too large"));
    // What the sockets hold comes on top.
    assert!(sent.load(Ordering::SeqCst) < 16, "{} MiB", sent.load(Ordering::SeqCst));
}

#[tokio::test]
async fn nothing_secret_stands_in_what_is_told() {
    let server = Scripted::answering(says("401 Unauthorized", "hunter2 was wrong")).await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("password");
    std::fs::write(&file, "hunter2").unwrap();
    let config = NodeConfig {
        user: Some("u".into()),
        password_file: Some(Path::new(&file).into()),
        ..NodeConfig::new(server.url())
    };
    let (state, found, _pool) = met("dcr", "simnet", config).await;
    let told = format!("{state:?} {found:?}");
    assert!(!told.contains("hunter2"), "{told}");
}
