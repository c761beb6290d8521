//! `portolan serve` on recorded nodes: what reaches it while it runs, and how it ends.

use std::io::{Read, Write};
use std::net::TcpStream;

use replay::{Mock, MockOptions, Replay, ReplayOptions};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::program::{Folder, LONG, Running, call, http, wait};

const TIP: &str = r#"{"method":"getblockcount","id":1}"#;

/// A recorded node and the runtime that it lives on.
fn node(slug: &str) -> (Runtime, Replay) {
    let runtime = Runtime::new().unwrap();
    let node = runtime.block_on(Replay::start(slug, ReplayOptions::default())).unwrap();
    (runtime, node)
}

fn config(grace_secs: u64, chains: &[(&str, &str)], more: &str) -> String {
    let mut text = format!(
        "[serve]\ndrain_grace_secs = {grace_secs}\n[log]\nlevel = \"debug\"\n[gateway]\nlisten = \"127.0.0.1:0\"\n[metrics]\nlisten = \"127.0.0.1:0\"\n"
    );
    for (slug, url) in chains {
        text +=
            &format!("[chain.{slug}]\nnetwork = \"regtest\"\nnodes = [{{ url = \"{url}\" }}]\n");
    }
    text + more
}

fn new_key(folder: &Folder, account: &str) -> String {
    folder.json(&["account", "add", account, "--gateway-plan", "Pro"]);
    folder.json(&["key", "add", account])["key"].as_str().unwrap().to_owned()
}

/// Waits until the nodes were probed.
fn ready(serving: &Running) {
    let metrics = serving.address("metrics and health listen");
    wait("readiness", || (http(metrics, "GET", "/readyz", "", "")?.status == 200).then_some(()));
}

#[test]
fn calls_are_forwarded_and_changes_of_the_store_are_seen_at_once() {
    let (_runtime, node) = node("btc");
    let folder = Folder::with(&config(0, &[("btc", &node.url())], ""));
    let mut serving = folder.start(&["serve"]);
    let gateway = serving.address("the gateway listens");
    let key = new_key(&folder, "shop");
    let answer = call(gateway, "btc", &key, TIP);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.json()["result"].is_u64(), "{answer:?}");
    assert_eq!(answer.header("x-ratelimit-limit"), Some("40"));
    assert_eq!(
        call(gateway, "ltc", &key, TIP).json()["error"]["data"]["reason"],
        "CHAIN_NOT_FOUND"
    );
    folder.json(&["account", "suspend", "shop"]);
    let reason = |answer: &crate::program::Answer| answer.json()["error"]["data"]["reason"].clone();
    wait("the suspension", || {
        (reason(&call(gateway, "btc", &key, TIP)) == "ACCOUNT_SUSPENDED").then_some(())
    });
    folder.json(&["account", "resume", "shop"]);
    wait("the resumption", || (call(gateway, "btc", &key, TIP).status == 200).then_some(()));
    let id = folder.json(&["key", "list", "shop"])[0]["id"].as_str().unwrap().to_owned();
    folder.json(&["key", "revoke", &id]);
    wait("the revocation", || {
        (reason(&call(gateway, "btc", &key, TIP)) == "KEY_REVOKED").then_some(())
    });
    assert!(folder.json(&["usage", "shop"])["gateway"]["today"].as_u64().unwrap() >= 2);
    let path = format!("/v1/rpc/btc/{key}");
    assert_eq!(http(gateway, "POST", &path, "", TIP).unwrap().status, 403);
    serving.signal("TERM");
    assert!(serving.wait().success());
    assert_eq!(serving.rest(), "");
    let log = serving.log();
    assert!(log.contains("request_id"), "no request was logged: {log}");
    assert!(!log.contains(&key) && !log.contains(&key[4..20]), "the key is in the log");
    assert!(folder.json(&["usage", "shop"])["gateway"]["today"].as_u64().unwrap() >= 2);
}

#[test]
fn hangup_takes_a_good_configuration_and_refuses_a_bad_one() {
    let ((_runtime, btc), (_other, ltc)) = (node("btc"), node("ltc"));
    let folder = Folder::with(&config(0, &[("btc", &btc.url())], ""));
    let mut serving = folder.start(&["serve"]);
    let gateway = serving.address("the gateway listens");
    let key = new_key(&folder, "shop");
    assert_eq!(call(gateway, "ltc", &key, TIP).status, 404);
    folder.configure(&config(
        0,
        &[("ltc", &ltc.url())],
        "[chain.doge]\nnodes = [{ url = \"nonsense\" }]",
    ));
    serving.signal("HUP");
    serving.wait_for_log("kept the old configuration");
    assert_eq!(call(gateway, "btc", &key, TIP).status, 200);
    assert_eq!(call(gateway, "ltc", &key, TIP).status, 404);
    let plan = "[plan.Pro]\nrequests_per_second = 77\n";
    folder.configure(&config(0, &[("ltc", &ltc.url())], plan));
    serving.signal("HUP");
    serving.wait_for_log("took the new configuration");
    let answer = call(gateway, "ltc", &key, TIP);
    assert_eq!((answer.status, answer.header("x-ratelimit-limit")), (200, Some("77")));
    assert_eq!(call(gateway, "btc", &key, TIP).status, 404);
    serving.signal("INT");
    assert!(serving.wait().success());
}

#[test]
fn health_and_metrics_tell_what_is_so() {
    let (_runtime, node) = node("btc");
    let dead = "http://127.0.0.1:1";
    let folder = Folder::with(&config(2, &[("btc", &node.url()), ("ltc", dead)], ""));
    let mut serving = folder.start(&["serve"]);
    let gateway = serving.address("the gateway listens");
    let metrics = serving.address("metrics and health listen");
    ready(&serving);
    let page = |path: &str| http(metrics, "GET", path, "", "").unwrap();
    assert_eq!(page("/healthz").status, 200);
    let readiness = wait("both probes", || {
        let readiness = page("/readyz").json();
        (readiness["chains"][1]["nodes"][0]["state"] == "unreachable").then_some(readiness)
    });
    serving.wait_for_log("node=\"127.0.0.1:1\" state=\"unreachable\"");
    assert_eq!(readiness["chains"][0]["chain"], "btc");
    assert_eq!(readiness["chains"][0]["usable"], true);
    assert_eq!(readiness["chains"][1]["usable"], false);
    let key = new_key(&folder, "shop");
    assert_eq!(call(gateway, "btc", &key, TIP).status, 200);
    assert_eq!(call(gateway, "btc", "", TIP).status, 401);
    let text = page("/metrics").body;
    assert!(
        text.contains(r#"portolan_gateway_calls_total{chain="btc",method="getblockcount"} 1"#),
        "{text}"
    );
    assert!(
        text.contains(r#"portolan_gateway_refusals_total{reason="MISSING_API_KEY"} 1"#),
        "{text}"
    );
    assert!(text.contains(r#"portolan_node_usable{chain="btc",node="0"} 1"#), "{text}");
    assert!(text.contains(r#"portolan_node_usable{chain="ltc",node="0"} 0"#), "{text}");
    let odd = page("/other");
    assert!(odd.status == 404 && odd.header("x-request-id").is_some());
    serving.signal("TERM");
    serving.wait_for_log("draining");
    let draining = wait("readiness to fail", || {
        let page = page("/readyz");
        (page.status == 503).then_some(page)
    });
    assert_eq!(draining.json()["draining"], true);
    let answer = call(gateway, "btc", &key, TIP);
    assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    assert!(serving.wait().success());
}

#[test]
fn node_that_refuses_us_is_told_everywhere_in_one_word() {
    let runtime = Runtime::new().unwrap();
    let refusing = || {
        let options = MockOptions { status: 401, answer: "".into(), ..MockOptions::default() };
        runtime.block_on(Mock::start(options)).unwrap()
    };
    // One chain of each family.
    let (btc, eth, xmr) = (refusing(), refusing(), refusing());
    let folder = Folder::with("");
    let cookie = folder.path().join("gone/.cookie");
    let chains = format!(
        "[chain.btc]\nnetwork = \"regtest\"\nnodes = [{{ url = \"{}\", cookie = {cookie:?} }}]\n\
         [chain.eth]\nnetwork = \"dev\"\nnodes = [{{ url = \"{}\" }}]\n",
        btc.url(),
        eth.url()
    );
    folder.configure(&config(0, &[("xmr", &xmr.url())], &chains));
    let mut serving = folder.start(&["serve"]);
    let metrics = serving.address("metrics and health listen");
    let explorer = serving.address("the explorer listens");
    let page = wait("the probe", || {
        let page = http(metrics, "GET", "/readyz", "", "")?;
        (page.json()["chains"][0]["nodes"][0]["state"] == "refused").then_some(page)
    });
    assert_eq!((page.status, &page.json()["chains"][0]["usable"]), (503, &Value::Bool(false)));
    assert!(page.body.contains("the node answered 401") && !page.body.contains(".cookie"));
    let text = http(metrics, "GET", "/metrics", "", "").unwrap().body;
    let rows = [
        r#"portolan_node_usable{chain="btc",node="0"} 0"#,
        r#"portolan_node_state{chain="btc",node="0",state="refused"} 1"#,
        r#"portolan_node_state{chain="btc",node="0",state="ready"} 0"#,
    ];
    assert!(rows.iter().all(|row| text.contains(row)), "{text}");
    let log = serving.wait_for_log("state=\"refused\"");
    let line = |word: &str| log.lines().find(|line| line.contains(word)).unwrap().to_owned();
    assert!(line("state=\"refused\"").contains("WARN"), "{log}");
    let unread = line("cannot be read");
    assert!(unread.contains("WARN") && unread.contains(cookie.to_str().unwrap()), "{unread}");
    assert!(unread.contains("No such file or directory"), "{unread}");
    // The explorer says what it waits for.
    folder.json(&["account", "add", "shop"]);
    let key = folder.json(&["key", "add", "shop"])["key"].as_str().unwrap().to_owned();
    folder.json(&["account", "plan", "shop", "--explorer-plan", "Pro"]);
    for chain in ["btc", "eth", "xmr"] {
        wait("the explorer's word", || {
            let answer = crate::program::ask(explorer, &format!("/api/v1/{chain}/blocks"), &key);
            assert!([429, 503].contains(&answer.status), "{chain}: {answer:?}");
            answer.body.contains("it refuses us").then_some(())
        });
    }
    let said = folder.run(&["check"]);
    assert_eq!(said.code, 1);
    assert!(said.out.contains("refused") && said.out.contains("the node answered 401"), "{said:?}");
    assert!(said.out.contains(cookie.to_str().unwrap()), "{said:?}");
    serving.signal("TERM");
    assert!(serving.wait().success());
}

#[test]
fn check_tells_good_nodes_from_bad_ones() {
    let ((_runtime, btc), (_other, ltc)) = (node("btc"), node("ltc"));
    let folder = Folder::with(&config(0, &[("btc", &btc.url())], ""));
    let findings = folder.json(&["check"]);
    assert_eq!(findings[0]["chain"], "btc");
    assert_eq!(
        (&findings[0]["ok"], &findings[0]["right_chain"]),
        (&Value::Bool(true), &Value::Bool(true))
    );
    assert!(folder.run(&["check"]).out.contains("ready"));
    folder.configure(&config(0, &[("btc", &ltc.url()), ("ltc", "http://127.0.0.1:1")], ""));
    let said = folder.run(&["check", "--json"]);
    assert_eq!(said.code, 1);
    let findings = said.json();
    assert_eq!(findings[0]["state"], "wrong chain");
    assert_eq!(findings[1]["state"], "unreachable");
    for finding in findings.as_array().unwrap() {
        assert!(finding["advice"][0].is_string(), "{finding}");
    }
}

#[test]
fn unreadable_request_gets_a_refusal_with_an_id() {
    let (_runtime, node) = node("btc");
    let folder = Folder::with(&config(0, &[("btc", &node.url())], ""));
    let serving = folder.start(&["serve"]);
    let mut stream = TcpStream::connect(serving.address("the gateway listens")).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(b"nonsense\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("x-request-id: "), "{answer}");
    assert!(answer.contains("\"INVALID_REQUEST\""), "{answer}");
}

#[test]
fn store_is_served_by_one_process() {
    let (_runtime, node) = node("btc");
    let folder = Folder::with(&config(0, &[("btc", &node.url())], ""));
    let serving = folder.start(&["serve"]);
    serving.address("the gateway listens");
    let second = folder.run(&["serve", "--only", "gateway"]);
    assert_eq!(second.code, 1, "{second:?}");
    assert!(second.err.contains("gateway is already served"), "{second:?}");
}

#[test]
fn taken_address_is_named() {
    let (_runtime, node) = node("btc");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = Folder::with(&config(0, &[("btc", &node.url())], ""));
    let mut command = folder.command(&["serve"]);
    let output = command.env("PORTOLAN__GATEWAY__LISTEN", &address).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains(&format!("gateway cannot listen on {address}")), "{err}");
}

#[test]
fn check_fails_where_serve_would() {
    let (_runtime, node) = node("btc");
    let folder = Folder::with(&config(0, &[("btc", &node.url())], ""));
    std::fs::write(folder.path().join("file"), "no folder, no certificate").unwrap();
    let cases = [
        ("PORTOLAN__STORE__DIR", "file/data", "file"),
        ("PORTOLAN__GATEWAY__LISTEN", "192.0.2.1:8480", "gateway cannot listen on 192.0.2.1"),
        ("PORTOLAN__METRICS__LISTEN", "192.0.2.1:8480", "metrics cannot listen on 192.0.2.1"),
        ("PORTOLAN__EXPLORER__TLS_CERT", "file", "explorer: certificate"),
        ("PORTOLAN__CHAIN__BTC__NODES__0__ZMQ", "nonsense", "zmq"),
    ];
    for (variable, value, told) in cases {
        for words in [&["check"] as &[&str], &["check", "--json"], &["serve"]] {
            let mut command = folder.command(words);
            command.env(variable, value).env("PORTOLAN__EXPLORER__TLS_KEY", "file");
            if !variable.contains("TLS") {
                command.env_remove("PORTOLAN__EXPLORER__TLS_KEY");
            }
            let said = command.output().unwrap();
            let err = String::from_utf8(said.stderr).unwrap();
            assert_eq!(said.status.code(), Some(1), "{variable} {words:?}: {err}");
            assert!(err.contains(told), "{variable} {words:?}: {err}");
            if words.contains(&"--json") {
                let value: Value = serde_json::from_slice(&said.stdout).unwrap();
                assert!(value["error"].as_str().unwrap().contains(told), "{value}");
            }
        }
    }
}

/// The whole content of a folder, by name.
fn content(dir: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(content(&path)),
            false => found.push((path.clone(), std::fs::read(&path).unwrap())),
        }
    }
    found.sort();
    found
}

/// `check` and `serve` refuse this folder with the same words, and `check` leaves it as it is.
fn both_refuse(folder: &Folder, told: &str) {
    let before = content(folder.path());
    for words in [&["check"] as &[&str], &["check", "--json"]] {
        let said = folder.run(words);
        assert!(said.code == 1 && said.err.contains(told), "{told}, {words:?}: {said:?}");
    }
    assert!(content(folder.path()) == before, "{told}: check has changed something");
    let said = folder.run(&["serve"]);
    assert!(said.code == 1 && said.err.contains(told), "{told}: {said:?}");
}

#[test]
fn check_fails_where_the_store_keeps_serve_from_its_start() {
    let (_runtime, node) = node("btc");
    let well = config(0, &[("btc", &node.url())], "");
    let fresh = |config: &str| {
        let folder = Folder::with(config);
        std::fs::create_dir(folder.path().join("data")).unwrap();
        folder
    };
    let write = |folder: &Folder, name: &str, text: &str| {
        std::fs::write(folder.path().join("data").join(name), text).unwrap();
    };
    let idle = fresh(&format!("{well}\ngateway = false\nexplorer = false\n"));
    both_refuse(&idle, "no chain is configured for the gateway");
    let folder = fresh(&well);
    write(&folder, "portolan.sqlite", "no database, and long enough to be none of any kind at all");
    both_refuse(&folder, "it is no SQLite file");
    let folder = fresh(&well);
    write(&folder, "usage-gateway.map", &"no usage file ".repeat(400));
    let before = folder.json(&["account", "add", "shop"]);
    assert_eq!(before["store"], "data");
    both_refuse(&folder, "it is no usage file");
    // One of another store.
    let other = fresh(&well);
    let mut serving = other.start(&["serve"]);
    serving.address("the explorer listens");
    // Beside a running server nothing is in the way, and nothing else is touched.
    assert_eq!(other.run(&["check"]).code, 0);
    serving.signal("TERM");
    assert!(serving.wait().success());
    assert_eq!(other.run(&["check"]).code, 0);
    let map = "data/usage-gateway.map";
    std::fs::copy(other.path().join(map), folder.path().join(map)).unwrap();
    both_refuse(&folder, "it belongs to another store");
    // One that a newer program brought up.
    let folder = fresh(&well);
    folder.json(&["account", "add", "shop"]);
    let database = folder.path().join("data/portolan.sqlite");
    let mut bytes = std::fs::read(&database).unwrap();
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    std::fs::write(&database, bytes).unwrap();
    both_refuse(&folder, "the store has schema 99");
}

#[test]
fn check_fails_where_the_postgresql_cannot_be_had() {
    let (_runtime, node) = node("btc");
    let accounts = |more: &str| {
        let chain = config(0, &[("btc", &node.url())], "");
        Folder::with(&format!("[store]\naccounts = \"postgres://u@127.0.0.1:1/p{more}\n{chain}"))
    };
    both_refuse(&accounts("\""), "PostgreSQL");
    both_refuse(&accounts("\"\naccounts_password_file = \"gone/password\""), "gone/password");
    both_refuse(&accounts("?sslmode=require\"\naccounts_ca = \"gone/ca.pem\""), "gone/ca.pem");
}

#[test]
fn the_first_line_of_the_log_names_version_and_configuration() {
    let (_runtime, node) = node("btc");
    let folder = Folder::with(&config(0, &[("btc", &node.url())], ""));
    let mut serving = folder.start(&["serve", "--only", "gateway"]);
    let log = serving.wait_for_log("the gateway listens");
    let first = log.lines().next().unwrap();
    assert!(first.contains("Portolan starts"), "{first}");
    assert!(first.contains(&format!("version=\"{}\"", env!("CARGO_PKG_VERSION"))), "{first}");
    assert!(first.contains("/portolan.toml") && first.contains("services=\"gateway\""), "{first}");
    serving.signal("TERM");
    assert!(serving.wait().success());
}

#[test]
fn services_that_can_serve_nothing_are_refused_or_warned_of() {
    let (_runtime, node) = node("eth");
    let text = config(0, &[], "");
    let folder = Folder::with(&text);
    let said = folder.run(&["serve"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("no chain is configured for the gateway"), "{said:?}");
    let only_gateway =
        format!("{text}[chain.btc]\nexplorer = false\nnodes = [{{ url = \"{}\" }}]\n", node.url());
    folder.configure(&only_gateway);
    let said = folder.run(&["serve", "--only", "explorer"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("no chain is configured for the explorer"), "{said:?}");
    let mut serving = folder.start(&["serve"]);
    let log = serving.wait_for_log("the explorer listens");
    let warned = log.lines().any(|line| line.contains("WARN") && line.contains("answer nothing"));
    assert!(warned, "{log}");
    serving.signal("TERM");
    assert!(serving.wait().success());
}

#[test]
fn a_node_that_always_fails_is_one_warning_in_a_minute() {
    let runtime = Runtime::new().unwrap();
    let options = MockOptions {
        status: 500,
        answer: "trouble".into(),
        echo_ids: false,
        ..Default::default()
    };
    let node = runtime.block_on(Mock::start(options)).unwrap();
    let folder = Folder::with(&config(0, &[("btc", &node.url())], ""));
    let mut serving = folder.start(&["serve", "--only", "gateway"]);
    let gateway = serving.address("the gateway listens");
    let key = new_key(&folder, "shop");
    // Long enough for some probes, with each of which it comes back.
    for _ in 0..45 {
        assert!(call(gateway, "btc", &key, TIP).status >= 502);
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    serving.signal("TERM");
    assert!(serving.wait().success());
    let log = serving.log();
    let host = node.url().replace("http://", "");
    let of_node = |line: &&str| line.contains("WARN") && line.contains(&host);
    let warnings: Vec<&str> = log.lines().filter(of_node).collect();
    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    for state in ["state=\"ejected\"", "state=\"unprobed\""] {
        assert!(log.matches(state).count() <= 1, "{log}");
    }
}

#[test]
fn the_log_counts_units_as_the_bill_does_and_failures_of_a_node_in_one_line() {
    let (_runtime, node) = node("btc");
    let dead = "http://127.0.0.1:1";
    let folder = Folder::with(&config(0, &[("btc", &node.url()), ("ltc", dead)], ""));
    let mut serving = folder.start(&["serve"]);
    let gateway = serving.address("the gateway listens");
    let explorer = serving.address("the explorer listens");
    let key = new_key(&folder, "shop");
    for _ in 0..10 {
        assert_eq!(call(gateway, "btc", &key, TIP).status, 200);
        assert_eq!(call(gateway, "ltc", &key, TIP).status, 503);
    }
    // The index of a chain whose node is dead has nothing to show, which costs nothing.
    assert_eq!(crate::program::ask(explorer, "/api/v1/ltc/blocks", &key).status, 503);
    assert_eq!(crate::program::ask(explorer, "/api/v1/doge/blocks", &key).status, 404);
    let log = serving.wait_for_log("calls to a node failed");
    assert_eq!(log.matches("calls to a node failed").count(), 1, "{log}");
    serving.signal("TERM");
    assert!(serving.wait().success());
    let log = serving.log();
    let told = |route: &str| -> u64 {
        let lines = log.lines().filter(|line| line.contains(route) && line.contains(" units="));
        let units = lines.map(|line| line.split_once(" units=").unwrap().1);
        units.map(|rest| rest.split_whitespace().next().unwrap().parse::<u64>().unwrap()).sum()
    };
    let usage = folder.json(&["usage", "shop"]);
    assert_eq!(
        (&usage["gateway"]["today"], told("service=\"gateway\"")),
        (&10.into(), 10),
        "{log}"
    );
    assert_eq!(
        (&usage["explorer"]["today"], told("service=\"explorer\"")),
        (&1.into(), 1),
        "{log}"
    );
    let failures = log.lines().filter(|line| line.contains("WARN") && line.contains("ltc"));
    assert!(failures.count() <= 3, "one failed call is no line: {log}");
}
