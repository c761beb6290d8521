//! Keys and addresses that are sent to `outputs/check` reach no log, metric, answer, file or node.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use replay::{Replay, ReplayOptions};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::program::{Folder, Running, ask, http, wait};

/// What clients send: the recorded cases, each also in ways that are refused.
fn cases() -> Vec<Value> {
    let path = "../replay/recordings/xmr/check.json";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let file: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    file["cases"].as_array().unwrap().clone()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// Bodies with the same secrets that are malformed in many ways.
fn malformed(case: &Value) -> Vec<String> {
    let (address, key) = (text(&case["address"]), text(&case["key"]));
    let body = |address: &str, kind: &str, key: &str| {
        json!({"address": address, "kind": kind, "key": key}).to_string()
    };
    let good = body(address, "viewkey", key);
    vec![
        good.replace('}', ""),
        format!("{good}x"),
        good.replace('}', &format!(r#","key":"{key}"}}"#)),
        body(&address[1..], "viewkey", key),
        body(&format!("{}1", &address[..94]), "viewkey", key),
        body(address, key, key),
        body(address, "viewkey", &key[1..]),
        body(address, "txkey", &format!("{key}{key}")),
        body(address, "viewkey", &format!("{}z", &key[1..])),
        body(key, "viewkey", address),
        format!(r#"["{address}","{key}"]"#),
        format!(r#"{{"address":"{address}","key":{{"{key}":1}},"kind":"viewkey"}}"#),
        format!("{good}{}", " ".repeat(5000)),
    ]
}

/// Parts of a secret in every form in which it could be written down.
fn traces(case: &Value) -> BTreeSet<Vec<u8>> {
    let (address, key) = (text(&case["address"]), text(&case["key"]));
    let bytes: Vec<u8> =
        (0..64).step_by(2).map(|at| u8::from_str_radix(&key[at..at + 2], 16).unwrap()).collect();
    // Debug output of bytes.
    let listed = format!("{:?}", &bytes[4..16]);
    BTreeSet::from([
        key.as_bytes()[8..32].to_vec(),
        key[8..32].to_uppercase().into_bytes(),
        bytes[4..20].to_vec(),
        listed.trim_matches(['[', ']']).as_bytes().to_vec(),
        address.as_bytes()[10..40].to_vec(),
    ])
}

/// What is looked for, by its first bytes.
#[derive(Default)]
struct Search(HashMap<[u8; 4], Vec<Vec<u8>>>);

impl Search {
    fn add(&mut self, traces: BTreeSet<Vec<u8>>) {
        for trace in traces {
            let same = self.0.entry(*trace.first_chunk().unwrap()).or_default();
            if !same.contains(&trace) {
                same.push(trace);
            }
        }
    }

    fn finds(&self, haystack: &[u8]) -> bool {
        let mut firsts = vec![false; 1 << 16];
        self.0.keys().for_each(|it| firsts[usize::from(it[0]) << 8 | usize::from(it[1])] = true);
        haystack.windows(4).enumerate().any(|(at, part)| {
            firsts[usize::from(part[0]) << 8 | usize::from(part[1])]
                && self.0.get(part).is_some_and(|traces| {
                    traces.iter().any(|trace| haystack[at..].starts_with(trace))
                })
        })
    }
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

/// The program on a recorded node, telling as much as it can.
fn serve(node: &Replay) -> (Folder, Running, String) {
    let folder = Folder::with(&format!(
        "[serve]\ndrain_grace_secs = 0\n[log]\nlevel = \"trace\"\n[gateway]\nlisten = \"127.0.0.1:0\"\n\
         [metrics]\nlisten = \"127.0.0.1:0\"\n[explorer]\nleast_free_mb = 0\n\
         [plan.Pro]\nrequests_per_second = 100000\n\
         [chain.xmr]\nnetwork = \"regtest\"\nnodes = [{{ url = \"{}\" }}]\n",
        node.url()
    ));
    folder.json(&["account", "add", "shop", "--gateway-plan", "Pro", "--explorer-plan", "Pro"]);
    let key = folder.json(&["key", "add", "shop"])["key"].as_str().unwrap().to_owned();
    let serving = folder.start(&["serve"]);
    (folder, serving, key)
}

fn post(explorer: SocketAddr, key: &str, hash: &str, body: &str) -> crate::program::Answer {
    let path = format!("/api/v1/xmr/tx/{hash}/outputs/check");
    http(explorer, "POST", &path, key, body).unwrap()
}

#[test]
fn what_is_sent_to_a_check_of_outputs_is_found_nowhere() {
    let runtime = Runtime::new().unwrap();
    let node = runtime.block_on(Replay::start("xmr", ReplayOptions::default())).unwrap();
    let (folder, mut serving, key) = serve(&node);
    let explorer = serving.address("the explorer listens");
    let metrics = serving.address("metrics and health listen");
    wait("the index", || {
        let status = ask(explorer, "/api/v1/xmr/status", &key);
        (status.status == 200 && status.json()["in_sync"] == true).then_some(())
    });
    let (mut answers, mut all, mut matches) = (String::new(), Search::default(), 0);
    for (place, case) in cases().iter().enumerate() {
        let hash = text(&case["tx_hash"]);
        let good = json!({"address": case["address"], "kind": case["kind"], "key": case["key"]});
        let answer = post(explorer, &key, hash, &good.to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        matches += answer.json()["matches"].as_array().unwrap().len();
        answers += &format!("{}{}", answer.head, answer.body);
        all.add(traces(case));
        // Refused in every way, but not for each of them.
        if place % 20 == 0 {
            for body in malformed(case) {
                let answer = post(explorer, &key, hash, &body);
                assert_eq!(answer.status, 400, "{answer:?}");
                answers += &format!("{}{}", answer.head, answer.body);
            }
            for (chain, path) in [("xmr", "77"), ("xmr", &"7".repeat(64)), ("btc", hash)] {
                let path = format!("/api/v1/{chain}/tx/{path}/outputs/check");
                let answer = http(explorer, "POST", &path, &key, &good.to_string()).unwrap();
                assert!(matches!(answer.status, 400 | 404), "{answer:?}");
                answers += &format!("{}{}", answer.head, answer.body);
            }
        }
    }
    assert!(matches > 60, "{matches}");
    assert!(!all.finds(answers.as_bytes()));
    for page in ["/metrics", "/readyz", "/livez"] {
        let page = http(metrics, "GET", page, "", "").unwrap();
        assert!(!all.finds(page.body.as_bytes()));
    }
    let metrics = http(metrics, "GET", "/metrics", "", "").unwrap().body;
    assert!(metrics.contains("endpoint=\"outputs_check\""), "{metrics}");
    let asked = format!("{:?}", node.log());
    assert!(!all.finds(asked.as_bytes()));
    serving.signal("TERM");
    assert!(serving.wait().success());
    let log = serving.log();
    assert!(log.matches("route=\"outputs_check\"").count() >= 122, "the log tells of each");
    assert!(!all.finds(log.as_bytes()));
    // Whatever is on the disk: rows, accounts, usage, the log.
    let files = files(folder.path());
    assert!(files.len() > 10, "{files:?}");
    for file in files {
        assert!(!all.finds(&fs::read(&file).unwrap()), "{}", file.display());
    }
    // What is looked for would be found.
    let case = &cases()[0];
    for said in [text(&case["address"]), text(&case["key"])] {
        assert!(all.finds(said.as_bytes()));
    }
}
