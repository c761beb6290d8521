//! The index of a chain of accounts in the real program: audited, killed at every stage, and the same
//! as one that was never killed.

use index::Memory;
use index::account::Store;
use replay::Take;
use serde_json::{Value, json};
use testkit::{AccountChain, Anvil, StubAccounts};
use tokio::runtime::Runtime;

use crate::program::{Folder, Running, ask, wait};

/// A stub node, and a folder whose program follows it.
struct Stage {
    _runtime: Runtime,
    node: StubAccounts,
    folder: Folder,
    key: String,
}

fn config(url: &str, more: &str) -> String {
    format!(
        "[serve]\ndrain_grace_secs = 0\n[explorer]\nleast_free_mb = 1\npoll_ms = 50\n\
         [gateway]\nlisten = \"127.0.0.1:0\"\n[metrics]\nlisten = \"127.0.0.1:0\"\n\
         [plan.wide]\nrequests_per_second = 1000\n\
         [chain.eth]\nnetwork = \"dev\"\nhistory_from = 0\nnodes = [{{ url = \"{url}\" }}]\n{more}"
    )
}

fn begun(url: &str) -> (Folder, String) {
    let folder = Folder::with(&config(url, ""));
    folder.json(&["account", "add", "shop", "--explorer-plan", "wide"]);
    let key = folder.json(&["key", "add", "shop"])["key"].as_str().unwrap().to_owned();
    (folder, key)
}

impl Stage {
    fn new(chain: AccountChain) -> Stage {
        let runtime = Runtime::new().unwrap();
        let node = runtime.block_on(StubAccounts::start(chain));
        let (folder, key) = begun(&node.url());
        Stage { _runtime: runtime, node, folder, key }
    }
}

/// Waits until the index is at that block, and everything from genesis on is there and traced.
fn whole(serving: &Running, key: &str, tip: &str) {
    let address = serving.address("the explorer listens");
    let whale = AccountChain::whale();
    wait("the index to be whole", || {
        let status = ask(address, "/api/v1/eth/status", key);
        let status = (status.status == 200).then(|| status.json())?;
        (status["in_sync"] == true && status["best_hash"] == tip).then_some(())?;
        let history = ask(address, &format!("/api/v1/eth/address/{whale}/txs?limit=1"), key);
        let coverage = (history.status == 200).then(|| history.json())?["coverage"].clone();
        (coverage["complete"] == true && coverage["traces"] == true).then_some(())
    });
}

/// Every row but that of where the index began.
fn rows(folder: &Folder) -> Vec<String> {
    let chain = chain::find("eth").unwrap();
    let network = chain.network("dev").unwrap();
    let dir = folder.path().join("data/eth");
    let store = Store::open_read_only(&dir, chain, network, &Memory::new(8 << 20, 8 << 20));
    let rows = store.unwrap().dump().unwrap().into_iter();
    // `begun_at`, as it is shown.
    rows.filter(|row| !row.contains("626567756e5f6174")).collect()
}

fn kill(mut serving: Running) {
    serving.signal("KILL");
    serving.wait();
}

/// Serves until a method was called so often more, and kills the process then.
fn serve_until(stage: &Stage, method: &str, calls: usize) {
    let before = stage.node.calls(method);
    let serving = stage.folder.start(&["serve"]);
    wait("the index to be at work", || (stage.node.calls(method) >= before + calls).then_some(()));
    kill(serving);
}

#[test]
fn an_index_that_is_killed_anywhere_is_the_one_that_never_was() {
    let mut chain = AccountChain::grown(300, 6, 1);
    let stage = Stage::new(chain.clone());
    // In the first blocks, in the base pass, in the trace pass: again and again.
    for (method, calls) in [
        ("eth_getBlockReceipts", 5),
        ("eth_getBlockReceipts", 90),
        ("debug_traceBlockByHash", 20),
        ("debug_traceBlockByHash", 50),
    ] {
        serve_until(&stage, method, calls);
    }
    let serving = stage.folder.start(&["serve"]);
    whole(&serving, &stage.key, chain.tip().hash());
    kill(serving);
    // In a reorganisation: while its blocks are fetched, and right after they were.
    for (depth, seed, calls) in [(20, 2, 10), (40, 3, 30), (7, 4, 5)] {
        chain.regrow(depth, depth as u64 + 1, 4, seed);
        stage.node.show(chain.clone());
        serve_until(&stage, "eth_getBlockReceipts", calls);
    }
    let mut serving = stage.folder.start(&["serve"]);
    whole(&serving, &stage.key, chain.tip().hash());
    serving.signal("TERM");
    serving.wait();
    let audit = stage.folder.json(&["index", "verify", "eth", "--blocks"]);
    assert_eq!((&audit["ok"], &audit["node"]), (&json!(true), &json!("same")), "{audit}");
    let (fresh, key) = begun(&stage.node.url());
    let mut serving = fresh.start(&["serve"]);
    whole(&serving, &key, chain.tip().hash());
    serving.signal("TERM");
    serving.wait();
    let (ours, theirs) = (rows(&stage.folder), rows(&fresh));
    assert!(ours == theirs, "{} and {} rows", ours.len(), theirs.len());
}

/// The hash of a live node's best block.
async fn best(node: &Anvil) -> String {
    let block = node.call("eth_getBlockByNumber", json!(["latest", false])).await.unwrap();
    block["hash"].as_str().unwrap().to_owned()
}

#[test]
fn an_index_that_is_killed_while_a_live_node_reorganises_is_a_fresh_one() {
    let runtime = Runtime::new().unwrap();
    let quiet = ["--no-mining", "--order", "fifo", "--hardfork", "prague"];
    let node = runtime.block_on(Anvil::start(&quiet)).unwrap();
    let (folder, key) = begun(&node.url());
    let calls = AccountChain::recorded(Take::Anvil).calls();
    let mut serving = folder.start(&["serve"]);
    for (round, some) in calls.chunks(calls.len().div_ceil(8)).enumerate() {
        let mine = async {
            for call in some {
                // What the contracts were once told may not be possible any more.
                let _ = node.call("eth_sendTransaction", json!([call])).await;
            }
            node.mine(2).await.unwrap();
            if round % 2 == 1 {
                let depth = 1 + round % 3;
                node.call("anvil_reorg", json!([depth, []])).await.unwrap();
                node.mine(1).await.unwrap();
            }
            best(&node).await
        };
        let tip = runtime.block_on(mine);
        // In the middle of what comes of it, or once it is through.
        if round % 3 == 0 {
            whole(&serving, &key, &tip);
        }
        kill(serving);
        serving = folder.start(&["serve"]);
    }
    let tip = runtime.block_on(best(&node));
    whole(&serving, &key, &tip);
    serving.signal("TERM");
    serving.wait();
    let audit = folder.json(&["index", "verify", "eth", "--blocks"]);
    assert_eq!((&audit["ok"], &audit["node"]), (&json!(true), &json!("same")), "{audit}");
    let (fresh, key) = begun(&node.url());
    let mut serving = fresh.start(&["serve"]);
    whole(&serving, &key, &tip);
    serving.signal("TERM");
    serving.wait();
    let (ours, theirs) = (rows(&folder), rows(&fresh));
    assert!(ours == theirs, "{} and {} rows", ours.len(), theirs.len());
}

#[test]
fn an_audit_tells_what_the_node_has_otherwise() {
    let chain = AccountChain::grown(12, 20, 1);
    let stage = Stage::new(chain.clone());
    let mut serving = stage.folder.start(&["serve"]);
    whole(&serving, &stage.key, chain.tip().hash());
    // Beside a server and without one.
    for beside in [true, false] {
        if !beside {
            serving.signal("TERM");
            serving.wait();
        }
        let audit = stage.folder.json(&["index", "verify", "eth"]);
        assert_eq!((&audit["ok"], &audit["node"]), (&json!(true), &json!("same")), "{audit}");
        assert_eq!((&audit["transactions"], &audit["compared_blocks"]), (&json!(240), &json!(13)));
        assert_eq!(audit["compared_traces"], 12);
    }
    let mut other = chain.clone();
    other.blocks[5].body["transactions"][3]["value"] = json!("0xfffff");
    stage.node.show(other);
    let said = stage.folder.run(&["index", "verify", "eth", "--json"]);
    let audit: Value = said.json();
    assert_eq!((said.code, &audit["node"]), (1, &json!("differs")), "{audit}");
    let told = audit["faults"][0].as_str().unwrap();
    assert!(told.starts_with("block 5: "), "{audit}");
    let text = stage.folder.run(&["index", "verify", "eth"]);
    assert!(text.out.contains("block 5: ") && text.out.contains("portolan index rebuild eth"));
}

/// A chain of miners with one uncle in block 5, whose rewards end although difficulty goes on.
fn mined() -> AccountChain {
    let mut chain = AccountChain::grown(12, 3, 1);
    for block in &mut chain.blocks {
        block.body["difficulty"] = json!("0x2");
    }
    chain.blocks[5].body["uncles"] = json!([format!("0x{}", "55".repeat(32))]);
    chain.blocks[5].uncles = vec![json!({"number": "0x4"})];
    chain
}

/// What each block after genesis created, the newest first.
fn issued(serving: &Running, key: &str) -> Vec<String> {
    let address = serving.address("the explorer listens");
    let heights = (1..=12).rev();
    let issued = heights.map(|height| {
        let path = format!("/api/v1/eth/block/{height}");
        let block = wait("a block", || {
            let block = ask(address, &path, key);
            (block.status == 200).then(|| block.json())
        });
        block["issuance"].as_str().unwrap().to_owned()
    });
    issued.collect()
}

#[test]
fn rewards_fall_where_the_operator_of_a_private_network_says() {
    let chain = mined();
    let stage = Stage::new(chain.clone());
    let (url, tip) = (stage.node.url(), chain.tip().hash());
    let own = "reward_forks = { byzantium = 4, constantinople = 7, merge = 10 }\n";
    stage.folder.configure(&config(&url, own));
    let ether = |thousandths: u64| format!("{thousandths}{}", "0".repeat(15));
    let none = || "0".to_owned();
    let mut expected = vec![none(), none(), none(), ether(2000), ether(2000), ether(2000)];
    // Its uncle's miner has seven eighths of 3, and its own a thirty-second more.
    expected.extend([ether(3000), "5718750000000000000".into(), ether(3000)]);
    expected.extend([ether(5000), ether(5000), ether(5000)]);
    let mut serving = stage.folder.start(&["serve"]);
    whole(&serving, &stage.key, tip);
    assert_eq!(issued(&serving, &stage.key), expected);
    serving.signal("TERM");
    serving.wait();
    // The audit goes by the same, whatever the configuration says meanwhile.
    stage.folder.configure(&config(&url, ""));
    let audit = stage.folder.json(&["index", "verify", "eth", "--blocks"]);
    assert_eq!((&audit["ok"], &audit["node"]), (&json!(true), &json!("same")), "{audit}");
    // No row is taken by other rules than those before it.
    let mut serving = stage.folder.start(&["serve"]);
    let log = serving.wait_for_log("the index cannot be opened");
    for word in ["byzantium 4, constantinople 7, merge 10", "portolan index rebuild eth"] {
        assert!(log.contains(word), "{word}: {log}");
    }
    assert_eq!(issued(&serving, &stage.key), expected);
    serving.signal("TERM");
    serving.wait();
    assert_eq!(stage.folder.json(&["index", "rebuild", "eth"])["in_place"], true);
    let serving = stage.folder.start(&["serve"]);
    whole(&serving, &stage.key, tip);
    let as_by_default = issued(&serving, &stage.key);
    assert_eq!((&as_by_default[0], &as_by_default[11]), (&ether(2000), &ether(2000)));
    kill(serving);
}
