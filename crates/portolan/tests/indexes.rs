//! `portolan index`, beside a running server and without one.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    dead_code,
    reason = "tests; each uses a part of program"
)]

mod program;

use program::{Folder, Running, http, wait};
use serde_json::{Value, json};
use testkit::{Forge, StubNode, StubOptions, key_hash_script};
use tokio::runtime::Runtime;

const BLOCKS: u32 = 20;

/// A node, and a folder whose program follows it.
struct Stage {
    runtime: Runtime,
    node: StubNode,
    folder: Folder,
    key: String,
}

impl Stage {
    fn new() -> Stage {
        let runtime = Runtime::new().unwrap();
        let node = runtime.block_on(StubNode::start("btc", StubOptions::default())).unwrap();
        let mut forge = Forge::new(chain::find("btc").unwrap());
        for _ in 0..BLOCKS {
            node.extend(&forge.mine(50, &key_hash_script(1), &[])).unwrap();
        }
        let folder = Folder::with(&format!(
            "[explorer]\nleast_free_mb = 1\npoll_ms = 50\n[gateway]\nlisten = \"127.0.0.1:0\"\n\
             [chain.btc]\nnetwork = \"regtest\"\nnodes = [{{ url = \"{}\" }}]\n",
            node.url()
        ));
        folder.json(&["account", "add", "shop"]);
        let key = folder.json(&["key", "add", "shop"])["key"].as_str().unwrap().to_owned();
        Stage { runtime, node, folder, key }
    }

    /// Serves, and waits until the explorer has every block.
    fn serve(&self) -> Running {
        let serving = self.folder.start(&["serve"]);
        let explorer = serving.address("the explorer listens");
        wait("the index to be in sync", || {
            let status = http(explorer, "GET", "/api/v1/btc/status", &self.key, "")?;
            (status.json()["in_sync"] == true && status.json()["height"] == BLOCKS).then_some(())
        });
        serving
    }

    fn backup(&self, to: &str) -> Value {
        self.folder.json(&["index", "backup", "btc", "--to", to])
    }

    /// What `info` and `verify` say of an index that is whole.
    fn is_whole(&self) {
        let info = self.folder.json(&["index", "info", "btc"]);
        assert_eq!((&info["usable"], &info["height"]), (&json!(true), &json!(BLOCKS)));
        assert_eq!(info["best_hash"], self.node.tip().1.to_string());
        let audit = self.folder.json(&["index", "verify", "btc"]);
        assert_eq!((&audit["ok"], &audit["node"]), (&json!(true), &json!("same")), "{audit}");
        assert_eq!(audit["unspent_outputs"], BLOCKS);
    }
}

#[test]
fn a_backup_of_nothing_is_refused_and_makes_nothing() {
    let stage = Stage::new();
    let said = stage.folder.run(&["index", "backup", "btc", "--to", "copy"]);
    assert_ne!(said.code, 0, "{said:?}");
    assert!(said.err.contains("there is no index of btc"), "{said:?}");
    assert!(!stage.folder.path().join("copy").exists());
    assert!(!stage.folder.path().join("data/btc").exists());
}

#[test]
fn an_index_is_told_of_audited_and_copied_with_and_without_a_server() {
    let stage = Stage::new();
    let info = stage.folder.json(&["index", "info", "btc"]);
    assert_eq!((&info["holds"], &info["usable"]), (&Value::Null, &json!(false)));
    let mut serving = stage.serve();
    stage.is_whole();
    stage.backup("first");
    serving.signal("TERM");
    serving.wait();
    stage.is_whole();
    stage.backup("far/away/second");
    for copy in ["first", "far/away/second"] {
        assert!(stage.folder.path().join(copy).join("CURRENT").exists());
        let again = stage.folder.run(&["index", "backup", "btc", "--to", copy]);
        assert_ne!(again.code, 0, "a folder that is there is left as it is");
    }
}

#[test]
fn a_rebuilt_index_takes_its_place_at_once_or_at_the_next_start() {
    let stage = Stage::new();
    let rebuild = || stage.folder.json(&["index", "rebuild", "btc"])["in_place"].clone();
    assert_eq!(rebuild(), true);
    stage.is_whole();
    let mut serving = stage.serve();
    assert_eq!(rebuild(), false);
    assert!(stage.folder.path().join("data/btc.new").exists());
    serving.signal("TERM");
    serving.wait();
    drop(stage.serve());
    assert!(!stage.folder.path().join("data/btc.new").exists());
    stage.is_whole();
}
