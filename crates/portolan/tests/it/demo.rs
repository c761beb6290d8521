//! `portolan demo`: nine chains at once, and nothing left behind.

use std::fs;
use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::program::{Folder, ask, call, http, wait};

const TIPS: [(&str, &str); 9] = [
    ("btc", r#"{"method":"getblockcount","id":1}"#),
    ("ltc", r#"{"method":"getblockcount","id":1}"#),
    ("doge", r#"{"method":"getblockcount","id":1}"#),
    ("bch", r#"{"method":"getblockcount","id":1}"#),
    ("xec", r#"{"method":"getblockcount","id":1}"#),
    ("zec", r#"{"jsonrpc":"2.0","method":"getblockcount","params":[],"id":1}"#),
    ("dcr", r#"{"jsonrpc":"1.0","method":"getblockcount","params":[],"id":1}"#),
    ("eth", r#"{"jsonrpc":"2.0","method":"eth_blockNumber","params":[],"id":1}"#),
    ("xmr", r#"{"jsonrpc":"2.0","method":"get_block_count","id":1}"#),
];

fn address(url: &Value) -> SocketAddr {
    url.as_str().unwrap().strip_prefix("http://").unwrap().parse().unwrap()
}

/// The recipient of a recorded transaction sees what it was paid.
fn check_outputs(explorer: SocketAddr, key: &str) {
    let tx = "e7e38837ca0c1a3562db17c86ce0acf2fefd2a3d3b5a2417b3f670f4dfe499f3";
    let claim = json!({
        "address": "42hRbwbMjoMLEds8GEKjsFa7iGrWGjKaAV7H24RhsQtaTYUo9EDKw9j4HzHqzwSrabSgwmtxy2nD3ed4MDTPvAnL5xLv1S3",
        "kind": "viewkey",
        "key": "90a72965bc1d317c164d63b3dcc6b2e05b5e60a99b015016e93ba8090ae16e08",
    });
    let path = format!("/api/v1/xmr/tx/{tx}/outputs/check");
    let answer = http(explorer, "POST", &path, key, &claim.to_string()).unwrap();
    assert_eq!((answer.status, &answer.json()["total"]), (200, &json!("3000000000000")));
}

/// A configuration of one's own may name the recorded nodes, which lack nothing that their chains have.
fn check_nodes(nodes: &Value) {
    let mut config = String::new();
    for (chain, node) in nodes.as_object().unwrap() {
        config += &format!(
            "[chain.{chain}]\nnetwork = {}\nnodes = [{{ url = {} }}]\n",
            node["network"], node["url"]
        );
    }
    let folder = Folder::with(&config);
    let checked = folder.json(&["check"]);
    let checked = checked.as_array().unwrap();
    assert_eq!(checked.len(), 9, "{config}");
    for node in checked {
        assert_eq!((&node["ok"], &node["missing"]), (&json!(true), &json!([])), "{node}");
        // What a recorded node was not asked tells nothing.
        let advice = node["advice"].to_string();
        assert!(!advice.contains("set txindex") && !advice.contains("set --txindex"), "{advice}");
        assert!(!advice.contains("newer release"), "{advice}");
    }
}

#[test]
fn each_of_nine_chains_answers_with_the_key() {
    let folder = Folder::with("unknown = \"the demo reads no file unless told to\"");
    let temporary = folder.path().join("temporary");
    fs::create_dir(&temporary).unwrap();
    let mut command = folder.command(&["demo", "--json", "--explorer", "127.0.0.1:0"]);
    command.env("TMPDIR", &temporary);
    let mut demo = folder.start_command(command);
    let line = demo.line();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let names: Vec<&String> = ready.as_object().unwrap().keys().collect();
    assert_eq!(names, ["explorer", "gateway", "key", "nodes"]);
    let (gateway, key) = (address(&ready["gateway"]), ready["key"].as_str().unwrap());
    let explorer = address(&ready["explorer"]);
    for (chain, _) in TIPS {
        let status = ask(explorer, &format!("/api/v1/{chain}/status"), key);
        assert_eq!(status.status, 200, "{chain}: {status:?}");
        let status = status.json();
        assert_eq!(status["in_sync"], true, "ready means in sync: {status}");
        let block = ask(explorer, &format!("/api/v1/{chain}/block/{}", status["height"]), key);
        assert_eq!(block.json()["hash"], status["best_hash"], "{block:?}");
    }
    check_outputs(explorer, key);
    for (chain, tip) in TIPS {
        let answer = call(gateway, chain, key, tip);
        assert_eq!(answer.status, 200, "{chain}: {answer:?}");
        assert!(!answer.json()["result"].is_null(), "{chain}: {answer:?}");
    }
    check_nodes(&ready["nodes"]);
    for (chain, _) in TIPS {
        let of_chain = format!("chain=\"{chain}\"");
        wait("each index to be told to be in sync", || {
            let log = demo.log();
            let mut told = log.lines().filter(|line| line.contains("the index is in sync"));
            told.any(|line| line.contains(&of_chain)).then_some(())
        });
    }
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 1);
    demo.signal("TERM");
    assert!(demo.wait().success());
    assert_eq!(demo.rest(), "", "more than one value");
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "the folder is left behind");
    assert!(!demo.log().contains(&key[4..20]), "the key is in the log");
}

#[test]
fn folder_that_was_given_stays_and_every_start_has_a_new_key() {
    let folder = Folder::with("");
    let mut keys = Vec::new();
    for _ in 0..2 {
        let mut demo = folder.start(&["demo", "--json", "--dir", "kept"]);
        let ready: Value = serde_json::from_str(&demo.line()).unwrap();
        let key = ready["key"].as_str().unwrap().to_owned();
        assert_eq!(call(address(&ready["gateway"]), "eth", &key, TIPS[7].1).status, 200);
        demo.signal("INT");
        assert!(demo.wait().success());
        keys.push(key);
    }
    assert_ne!(keys[0], keys[1]);
    assert!(folder.path().join("kept").is_dir());
}

#[test]
fn people_are_told_what_to_try() {
    let folder = Folder::with("");
    let mut demo = folder.start(&["demo"]);
    let mut text = String::new();
    while !text.contains("Control-C") {
        let line = demo.line();
        assert!(!line.is_empty(), "{text}");
        text += &line;
    }
    assert_eq!(text.matches("/v1/rpc/").count(), 9, "{text}");
    let word = |name: &str| {
        let (_, behind) = text.split_once(name).unwrap();
        behind.split_whitespace().next().unwrap()
    };
    let (key, api) = (word("export KEY="), word("API=http://"));
    assert!(key.starts_with("ptl_") && word("URL=http://").contains(':'), "{text}");
    // Who asks for more than was recorded knows why it fails, and where to point a configuration.
    let nodes = text.lines().find(|line| line.contains("answer recorded calls alone")).unwrap();
    for (chain, network) in [("btc", "regtest"), ("dcr", "simnet"), ("eth", "dev")] {
        let shown = format!("{chain} {network} http://127.0.0.1:");
        assert!(nodes.contains(&shown), "{nodes}");
    }
    let (host, base) = api.split_once('/').unwrap();
    let shown: Vec<&str> = text.split("$API").skip(1).collect();
    assert!(shown.len() >= 15, "{text}");
    // A chain without addresses shows a transaction and the block that it is in, and says why.
    assert!(text.contains("$API/xmr/tx/") && text.contains("$API/xmr/block/"), "{text}");
    assert!(text.contains("addresses are in no block of xmr"), "{text}");
    for shown in shown {
        let path = shown.split_whitespace().next().unwrap();
        let answer = ask(host.parse().unwrap(), &format!("/{base}{path}"), key);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
    }
    demo.signal("INT");
    assert!(demo.wait().success());
}
