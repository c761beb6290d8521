//! `portolan index`, beside a running server and without one.

use replay::{Phase, Replay, ReplayOptions};
use serde_json::{Value, json};

use crate::program::stage::{BLOCKS, Stage};
use crate::program::{Folder, ask, http, wait};

/// What `info` and `verify` say of an index that is whole.
fn is_whole(stage: &Stage) {
    let info = stage.folder.json(&["index", "info", "btc"]);
    assert_eq!((&info["usable"], &info["height"]), (&json!(true), &json!(BLOCKS)));
    assert_eq!(info["best_hash"], stage.node.tip().1.to_string());
    let audit = stage.folder.json(&["index", "verify", "btc", "--blocks"]);
    assert_eq!((&audit["ok"], &audit["node"]), (&json!(true), &json!("same")), "{audit}");
    assert_eq!(
        (&audit["compared_blocks"], &audit["not_compared"]),
        (&json!(BLOCKS + 1), &json!(0))
    );
    assert_eq!(audit["unspent_outputs"], BLOCKS);
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
    is_whole(&stage);
    stage.backup("first");
    serving.signal("TERM");
    serving.wait();
    is_whole(&stage);
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
    is_whole(&stage);
    let mut serving = stage.serve();
    assert_eq!(rebuild(), false);
    assert!(stage.folder.path().join("data/btc.new").exists());
    serving.signal("TERM");
    serving.wait();
    drop(stage.serve());
    assert!(!stage.folder.path().join("data/btc.new").exists());
    is_whole(&stage);
}

#[test]
fn a_first_load_has_its_rows_until_it_is_done() {
    // As many as are loaded in bulk; one of them cannot be read, so that the load waits for it.
    let stage = Stage::of(520);
    stage.node.spoil(&[300]);
    let mut serving = stage.folder.start(&["serve"]);
    let metrics = serving.address("metrics and health listen");
    let page = || http(metrics, "GET", "/metrics", "", "").map(|answer| answer.body);
    let page = wait("the rows of a first load", || {
        page().filter(|text| text.contains(r#"load_target_height{chain="btc"} 520"#))
    });
    let number = |row: &str| -> u64 {
        let row = format!("portolan_index_{row}{{chain=\"btc\"}} ");
        let mut lines = page.lines().filter_map(|line| line.strip_prefix(&row));
        lines.next().unwrap_or_else(|| panic!("{row}: {page}")).parse().unwrap()
    };
    assert_eq!((number("load_target_height"), number("in_sync")), (520, 0));
    assert!(number("height") < 300 && number("load_blocks_per_second") < 1_000_000, "{page}");
    stage.node.spoil(&[]);
    wait("the end of the first load", || {
        let text = http(metrics, "GET", "/metrics", "", "")?.body;
        (text.contains(r#"portolan_index_in_sync{chain="btc"} 1"#)
            && !text.contains("portolan_index_load_"))
        .then_some(())
    });
    serving.signal("TERM");
    serving.wait();
}

/// Every block of a node of rings is read again, and what it has otherwise is told.
#[test]
fn an_index_of_rings_is_held_against_every_block_of_its_node() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let node = runtime.block_on(Replay::start("xmr", ReplayOptions::default())).unwrap();
    let folder = Folder::with(&format!(
        "[serve]\ndrain_grace_secs = 0\n[explorer]\nleast_free_mb = 1\npoll_ms = 50\n\
         [gateway]\nlisten = \"127.0.0.1:0\"\n[metrics]\nlisten = \"127.0.0.1:0\"\n\
         [chain.xmr]\nnetwork = \"regtest\"\nnodes = [{{ url = \"{}\" }}]\n",
        node.url()
    ));
    folder.json(&["account", "add", "shop"]);
    let key = folder.json(&["key", "add", "shop"])["key"].as_str().unwrap().to_owned();
    let mut serving = folder.start(&["serve"]);
    let address = serving.address("the explorer listens");
    wait("the index to be in sync", || {
        // An account without a plan may ask five times a second.
        std::thread::sleep(std::time::Duration::from_millis(300));
        let status = ask(address, "/api/v1/xmr/status", &key);
        (status.status == 200 && status.json()["in_sync"] == true).then_some(())
    });
    let verify = ["index", "verify", "xmr", "--blocks"];
    // Beside the server and without one.
    let audit = folder.json(&verify);
    assert_eq!((&audit["ok"], &audit["node"]), (&json!(true), &json!("same")), "{audit}");
    assert_eq!((&audit["compared_blocks"], &audit["not_compared"]), (&json!(171), &json!(0)));
    serving.signal("TERM");
    serving.wait();
    let text = folder.run(&verify);
    assert!(text.out.contains("Read again: 171 blocks; 0 more"), "{text:?}");
    // Blocks that the node left are not held against the index.
    node.set_phase(Phase::B);
    let audit = folder.json(&verify);
    assert_eq!((&audit["ok"], &audit["not_compared"]), (&json!(true), &json!(3)), "{audit}");
}
