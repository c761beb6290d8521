//! What `check` finds out about a node and advises.

use node::{Auth, Inspection, NodeConfig, Secret, Tried, Verdict, inspect};

use crate::scripted::*;

async fn inspected<F>(slug: &str, network: &str, answer: F) -> (Scripted, Inspection)
where
    F: Fn(&str, &Heard) -> Vec<u8> + Send + Sync + 'static,
{
    let server = Scripted::answering(move |heard| {
        let method = match heard.path().trim_start_matches('/') {
            "" | "json_rpc" => heard.method(),
            path => path.to_owned(),
        };
        answer(&method, heard)
    })
    .await;
    let pool = pool(slug, network, vec![NodeConfig::new(server.url())]);
    let inspection = inspect(&pool.pick(&Tried::new()).unwrap()).await;
    (server, inspection)
}

fn litecoind(method: &str, heard: &Heard) -> Vec<u8> {
    let network = chain::find("ltc").unwrap().network("regtest").unwrap();
    match method {
        "getblockchaininfo" => result("{\"blocks\":5,\"headers\":5,\"initialblockdownload\":true}"),
        "getblockhash" if heard.text().contains("[0]") => {
            result(&format!("\"{}\"", network.genesis.unwrap()))
        }
        "getblockhash" => result(&format!("\"{}\"", "1".repeat(64))),
        "getblock" => result(&format!("{{\"tx\":[\"{}\"]}}", "2".repeat(64))),
        "getrawtransaction" => rpc_error(-5, "No such mempool transaction. Use -txindex"),
        "getnetworkinfo" => {
            result("{\"version\":210201,\"subversion\":\"/LitecoinCore:0.21.2.1/\"}")
        }
        "help" if heard.text().contains("[]") => {
            let methods = chain::find("ltc").unwrap().methods();
            let listed = methods.iter().filter(|m| !["joinpsbts", "getblock"].contains(&m.name));
            let lines: Vec<String> =
                listed.map(|m| format!("{} \\\"argument\\\" ( other )", m.name)).collect();
            result(&format!("\"== Blockchain ==\\n{}\\n\"", lines.join("\\n")))
        }
        "help" if heard.text().contains("\"getblock\"") => result("\"getblock \\\"blockhash\\\"\""),
        "help" => result("\"help: unknown command: joinpsbts\""),
        _ => rpc_error(-32601, "Method not found"),
    }
}

#[tokio::test]
async fn help_tells_which_methods_are_there() {
    let (_server, found) = inspected("ltc", "regtest", litecoind).await;
    assert_eq!((found.state.verdict, found.state.identity), (Verdict::Ready, Some(true)));
    assert_eq!(found.missing().collect::<Vec<_>>(), ["joinpsbts"]);
    assert_eq!(found.offers.len(), chain::find("ltc").unwrap().methods().len());
    assert!(found.advice.iter().any(|advice| advice.contains("txindex=1")), "{:?}", found.advice);
    assert!(found.advice.iter().any(|advice| advice.contains("joinpsbts")));
}

#[tokio::test]
async fn geth_is_asked_for_its_modules() {
    let (server, found) = inspected("eth", "dev", |method, _| match method {
        "eth_blockNumber" => result("\"0x1\""),
        "eth_syncing" => result("false"),
        "eth_getBlockByNumber" => result(&format!("{{\"hash\":\"0x{}\"}}", "1".repeat(64))),
        "eth_chainId" => result("\"0x539\""),
        "web3_clientVersion" => result("\"Geth/v1.17.10\""),
        "rpc_modules" => result("{\"eth\":\"1.0\",\"net\":\"1.0\",\"web3\":\"1.0\"}"),
        "eth_getProof" => rpc_error(-32601, "the method eth_getProof does not exist"),
        _ => rpc_error(-32602, "missing value for required argument 0"),
    })
    .await;
    assert_eq!(found.missing().collect::<Vec<_>>(), ["eth_getProof"]);
    assert!(found.advice.iter().any(|advice| advice.contains("--http.api")), "{:?}", found.advice);
    let sends =
        server.heard().into_iter().filter(|heard| heard.method() == "eth_sendRawTransaction");
    assert!(sends.into_iter().all(|heard| heard.text().contains("\"params\":[]")));
}

#[tokio::test]
async fn monerod_is_asked_nothing_that_it_would_take_amiss() {
    let network = chain::find("xmr").unwrap().network("regtest").unwrap();
    let (server, found) = inspected("xmr", "regtest", |method, _| match method {
        "get_info" => result("{\"height\":9,\"nettype\":\"fakechain\",\"synchronized\":true,\"status\":\"OK\",\"version\":\"\"}"),
        "get_block" => result(&format!(
            "{{\"block_header\":{{\"hash\":\"{}\"}}}}",
            network.genesis.unwrap()
        )),
        "get_outs" => with_status("404 Not found", ""),
        _ => result("{\"status\":\"OK\"}"),
    })
    .await;
    assert_eq!(found.missing().collect::<Vec<_>>(), ["get_outs"]);
    let unknown = found.offers.iter().find(|offer| offer.method == "send_raw_transaction").unwrap();
    assert_eq!(unknown.there, None);
    let unasked: Vec<_> = found.unasked().collect();
    assert!(unasked.contains(&"send_raw_transaction") && !unasked.contains(&"get_outs"));
    assert!(server.heard().iter().all(|heard| heard.path() != "/send_raw_transaction"));
    assert!(found.advice.iter().any(|advice| advice.contains("restricted")));
}

#[tokio::test]
async fn rest_news_queue_and_pruning_are_looked_at() {
    let zmq = r#"[{"type":"pubhashblock","address":"tcp://127.0.0.1:28332","hwm":1000}]"#;
    let (server, found) = inspected("ltc", "regtest", move |method, heard| match method {
        "getzmqnotifications" => result(zmq),
        "rest/chaininfo.json" => with_status("404 Not Found", ""),
        "getblockchaininfo" => result("{\"blocks\":5,\"headers\":5,\"pruned\":true}"),
        _ => litecoind(method, heard),
    })
    .await;
    for wanted in ["rest=1", "tcp://127.0.0.1:28332", "rpcworkqueue=64", "prune=0"] {
        assert!(found.advice.iter().any(|one| one.contains(wanted)), "{wanted}: {found:?}");
    }
    assert!(!found.advice.iter().any(|advice| advice.contains("txindex=1")), "{found:?}");
    // With zmq set to where nobody publishes, that is said.
    let config =
        NodeConfig { zmq: Some("tcp://127.0.0.1:1".into()), ..NodeConfig::new(server.url()) };
    let found = inspect(&pool("ltc", "regtest", vec![config]).pick(&Tried::new()).unwrap()).await;
    assert!(found.advice.iter().any(|advice| advice.contains("is not heard")), "{found:?}");
    // Bitcoin Core has a long queue and its REST.
    let (_server, found) = inspected("btc", "regtest", |method, heard| match method {
        "rest/chaininfo.json" => ok("{}"),
        "getnetworkinfo" => result("{\"version\":300000,\"subversion\":\"/Satoshi:30.0.0/\"}"),
        "getblockhash" if heard.text().contains("[0]") => {
            let network = chain::find("btc").unwrap().network("regtest").unwrap();
            result(&format!("\"{}\"", network.genesis.unwrap()))
        }
        _ => litecoind(method, heard),
    })
    .await;
    let none = ["rest=1", "rpcworkqueue", "prune"];
    assert!(
        none.iter().all(|word| found.advice.iter().all(|one| !one.contains(word))),
        "{found:?}"
    );
}

/// What a node answers when it is asked for the coinbase of block 1, and what is advised then.
#[tokio::test]
async fn an_answer_that_tells_neither_is_no_reason_for_advice() {
    let core = "No such mempool transaction. Use -txindex or provide a block hash";
    let building = "No such mempool transaction. Blockchain transactions are still in the process of \
                    being indexed";
    for (slug, code, message, set) in [
        ("ltc", -5, core, Some(true)),
        ("ltc", -5, "No information available about transaction", Some(true)),
        ("ltc", -32603, "the transaction index must be enabled (specify --txindex)", Some(true)),
        ("ltc", -5, building, None),
        ("ltc", -1, "not in this recording", Some(false)),
        ("ltc", -28, "Loading\\u0007 wallet", Some(false)),
        ("ltc", -32601, "Method not found", Some(false)),
    ] {
        let (_server, found) = inspected(slug, "regtest", move |method, heard| match method {
            "getrawtransaction" => rpc_error(code, message),
            "rest/chaininfo.json" => with_status("404 Not Found", "some page"),
            _ => litecoind(method, heard),
        })
        .await;
        let says = |words: &str| found.advice.iter().any(|advice| advice.contains(words));
        assert_eq!(says("set txindex=1"), set == Some(true), "{code}: {found:?}");
        assert_eq!(says("still being made"), set.is_none(), "{code}: {found:?}");
        let unknown =
            format!("finds mined transactions (the node answered error {code}: {}", &message[..7]);
        assert_eq!(says(&unknown), set == Some(false), "{code}: {found:?}");
        assert!(!says("rest=1") && says("could not find out whether it has REST"), "{found:?}");
        assert!(found.advice.iter().all(|one| !one.contains(char::is_control)), "{found:?}");
    }
}

/// Help that fails is no answer about a method.
#[tokio::test]
async fn help_that_fails_takes_no_method_away() {
    for (code, message, is_missing) in [
        (-1, "not in this recording", false),
        (-8, "Unknown method: joinpsbts", true),
        (-32601, "Method not found", true),
    ] {
        let (_server, found) = inspected("ltc", "regtest", move |method, heard| match method {
            "help" if heard.text().contains("joinpsbts") => rpc_error(code, message),
            _ => litecoind(method, heard),
        })
        .await;
        let missing: Vec<_> = found.missing().collect();
        assert_eq!(missing.contains(&"joinpsbts"), is_missing, "{code}: {missing:?}");
        assert_eq!(found.unasked().any(|method| method == "joinpsbts"), !is_missing);
    }
}

/// A node whose block at each height is what `block` says.
async fn with_blocks(height: u64, block: impl Fn(u64) -> u8 + Send + Sync + 'static) -> Scripted {
    Scripted::answering(move |heard| match heard.method().as_str() {
        "getblockchaininfo" => result(&format!("{{\"blocks\":{height},\"headers\":{height}}}")),
        "getblockhash" => {
            let call: serde_json::Value = serde_json::from_slice(&heard.body).unwrap();
            let at = call["params"][0].as_u64().unwrap();
            result(&format!("\"{}\"", format!("{:02x}", block(at)).repeat(32)))
        }
        _ => rpc_error(-32601, "Method not found"),
    })
    .await
}

#[tokio::test]
async fn nodes_of_one_chain_that_disagree_are_named() {
    let servers = [
        with_blocks(100, |_| 1).await,
        with_blocks(101, |_| 1).await,
        with_blocks(100, |height| if height > 99 { 2 } else { 1 }).await,
        with_blocks(103, |height| if height > 50 { 3 } else { 1 }).await,
    ];
    let nodes = servers.iter().map(|server| NodeConfig::new(server.url())).collect();
    let pool = pool("btc", "regtest", nodes);
    for node in pool.nodes() {
        inspect(&node).await;
    }
    let found = node::disagreements(&pool.nodes()).await;
    let told: Vec<(usize, bool)> = found.iter().map(|one| (one.place, one.deep)).collect();
    assert_eq!(told, [(2, false), (3, true)], "{found:?}");
    assert!(found[0].text.contains("fork") && found[0].text.contains("block 100"), "{found:?}");
    let first = servers[0].address.to_string();
    assert!(found[1].text.contains("block 94") && found[1].text.contains(&first), "{found:?}");
    assert!(node::disagreements(&pool.nodes()[..2]).await.is_empty());
}

#[tokio::test]
async fn expired_release_is_told() {
    let (_server, found) = inspected("bch", "regtest", |_, _| {
        rpc_error(-100, "RPC is disabled. This version of Bitcoin Cash Node is old")
    })
    .await;
    assert!(found.advice[0].contains("-expire=0"), "{:?}", found.advice);
    assert!(found.offers.is_empty());
}

#[tokio::test]
async fn wrong_chain_is_told() {
    let (_server, found) = inspected("doge", "regtest", litecoind).await;
    assert_eq!(found.state.verdict, Verdict::Foreign);
    assert!(found.advice[0].contains("Dogecoin"), "{:?}", found.advice);
}

#[tokio::test]
async fn trouble_to_get_an_answer_is_explained() {
    let (_server, found) =
        inspected("btc", "regtest", |_, _| with_status("401 Unauthorized", "")).await;
    assert!(found.advice[0].contains("rpcauth"), "{:?}", found.advice);
    let server = Scripted::answering(|_| ok("1")).await;
    let config = NodeConfig::new(server.url());
    drop(server);
    let pool = pool("xmr", "regtest", vec![config]);
    let found = inspect(&pool.pick(&Tried::new()).unwrap()).await;
    assert_eq!(found.state.reachable, Some(false));
    assert!(found.advice[0].contains("--rpc-bind-ip"), "{:?}", found.advice);
}

#[tokio::test]
async fn zebrad_is_told_to_listen_and_to_show_its_cookie() {
    let server = Scripted::answering(|_| ok("1")).await;
    let config = NodeConfig::new(server.url());
    drop(server);
    let gone = pool("zec", "regtest", vec![config]);
    let found = inspect(&gone.pick(&Tried::new()).unwrap()).await;
    assert!(found.advice[0].contains("rpc.listen_addr"), "{:?}", found.advice);
    let auth = replay::Auth::Basic { user: "__cookie__".into(), password: "p".into() };
    let options = replay::ReplayOptions { auth, ..replay::ReplayOptions::default() };
    let replay = replay::Replay::start("zec", options).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let cookie = dir.path().join(".cookie");
    let config = NodeConfig { cookie: Some(cookie.clone()), ..NodeConfig::new(replay.url()) };
    let check = async || {
        let pool = pool("zec", "regtest", vec![config.clone()]);
        inspect(&pool.pick(&Tried::new()).unwrap()).await
    };
    let found = check().await;
    assert!(found.advice.iter().any(|one| one.contains("rpc.cookie_dir")), "{:?}", found.advice);
    assert!(found.advice.iter().any(|one| one.contains("No such file")), "{:?}", found.advice);
    std::fs::write(&cookie, "__cookie__:p").unwrap();
    let found = check().await;
    assert_eq!((found.state.verdict, found.state.unread_file), (Verdict::Ready, None));
    assert!(found.advice.iter().all(|one| !one.contains("cookie")), "{:?}", found.advice);
}

#[tokio::test]
async fn live_monerod_with_digest_is_understood() {
    let Ok(live) = testkit::Monerod::start(Some(("portolan", "hunter2"))).await else {
        eprintln!("monerod is not installed: skipped");
        return;
    };
    live.mine(3).await.unwrap();
    let config = NodeConfig {
        user: Some("portolan".into()),
        password: Some(Secret::new("hunter2")),
        auth: Auth::Digest,
        ..NodeConfig::new(live.url())
    };
    let pool = pool("xmr", "regtest", vec![config]);
    let node = pool.pick(&Tried::new()).unwrap();
    let found = inspect(&node).await;
    assert_eq!((found.state.verdict, found.state.height), (Verdict::Ready, Some(3)), "{found:?}");
    assert!(!found.offers.is_empty() && found.missing().next().is_none(), "{found:?}");
    assert_eq!(node.state().idle_connections, 1);
    // Many calls over a few connections, each with its own nonce.
    let calls = (0..16).map(|_| {
        let node = node.clone();
        tokio::spawn(async move {
            for _ in 0..5 {
                node.call("get_block_count", "{}", node::Weight::Internal).await.unwrap();
            }
        })
    });
    for ended in calls.collect::<Vec<_>>() {
        ended.await.unwrap();
    }
}

#[tokio::test]
async fn live_litecoind_with_a_cookie_is_understood() {
    let Ok(live) = testkit::Litecoind::start(testkit::Login::Cookie, &[]).await else {
        eprintln!("litecoind is not installed: skipped");
        return;
    };
    live.mine(3).await.unwrap();
    let config = NodeConfig { cookie: Some(live.cookie()), ..NodeConfig::new(live.url()) };
    let pool = pool("ltc", "regtest", vec![config]);
    let node = pool.pick(&Tried::new()).unwrap();
    let found = inspect(&node).await;
    assert_eq!((found.state.verdict, found.state.height), (Verdict::Ready, Some(3)), "{found:?}");
    assert!(!found.offers.is_empty() && found.missing().next().is_none(), "{found:?}");
    let says = |words: &str| found.advice.iter().any(|one| one.contains(words));
    let wrong = ["txindex=1", "rest=1", "could not find out"];
    assert!(!wrong.into_iter().any(says), "{found:?}");
    assert_eq!(node.state().idle_connections, 1);
}

#[tokio::test]
async fn live_litecoind_without_its_settings_is_told_of_them() {
    let without = ["-txindex=0", "-rest=0"];
    let Ok(live) = testkit::Litecoind::start(testkit::Login::Cookie, &without).await else {
        eprintln!("litecoind is not installed: skipped");
        return;
    };
    live.mine(3).await.unwrap();
    let config = NodeConfig { cookie: Some(live.cookie()), ..NodeConfig::new(live.url()) };
    let found = inspect(&pool("ltc", "regtest", vec![config]).pick(&Tried::new()).unwrap()).await;
    let says = |words: &str| found.advice.iter().any(|one| one.contains(words));
    assert!(says("set txindex=1") && says("rest=1"), "{found:?}");
    assert!(!says("could not find out"), "{found:?}");
}

#[tokio::test]
async fn live_zebrad_with_its_cookie_is_understood() {
    let Ok(live) = testkit::Zebrad::start().await else {
        eprintln!("zebrad is not installed: skipped");
        return;
    };
    live.mine(3).await.unwrap();
    let config = NodeConfig { cookie: Some(live.cookie()), ..NodeConfig::new(live.url()) };
    let found = inspect(&pool("zec", "regtest", vec![config]).pick(&Tried::new()).unwrap()).await;
    assert_eq!((found.state.verdict, found.state.height), (Verdict::Ready, Some(3)), "{found:?}");
    assert!(!found.offers.is_empty() && found.missing().next().is_none(), "{found:?}");
    let config = NodeConfig::new(live.url());
    let found = inspect(&pool("zec", "regtest", vec![config]).pick(&Tried::new()).unwrap()).await;
    assert_eq!(found.state.word(), "refused", "{found:?}");
    assert!(found.advice.iter().any(|one| one.contains("rpc.cookie_dir")), "{found:?}");
}
