//! `portolan index export` and `import`: an index goes from one machine to another, or not at all.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use chain::{Chain, Family, Network, NetworkKind};
use index::{ChainIndex, Memory, account, ring, utxo};
use serde_json::{Value, json};
use testkit::{AccountChain, Forge, StubAccounts, StubNode, StubOptions, key_hash_script};

use crate::program::stage::{BLOCKS, Stage};
use crate::program::{Folder, ask, wait};

/// A command that works on a store beside the one of the configuration.
fn elsewhere(folder: &Folder, words: &[&str]) -> Command {
    let mut command = folder.command(words);
    command.env("PORTOLAN__STORE__DIR", "other");
    command
}

/// What is sent.
fn export(folder: &Folder, chain: &str) -> Vec<u8> {
    let output = folder.command(&["index", "export", chain]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains("up to block"), "{output:?}");
    output.stdout
}

/// Gives a stream to the other store.
fn import(folder: &Folder, stream: &[u8], words: &[&str]) -> Output {
    let mut command = elsewhere(folder, &[&["index", "import"], words, &["--json"]].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It may have refused what it has read already.
    let _ = child.stdin.take().unwrap().write_all(stream);
    child.wait_with_output().unwrap()
}

fn taken(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// What lies in the other store of an index.
fn remains(folder: &Folder) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder.path().join("other")) else { return Vec::new() };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("btc") || name.starts_with("eth")).collect()
}

fn of(slug: &str, network: &str) -> (&'static Chain, &'static Network) {
    let chain = chain::find(slug).unwrap();
    (chain, chain.network(network).unwrap())
}

fn same_rows(folder: &Folder) {
    let (chain, network) = of("btc", "regtest");
    let memory = Memory::new(8 << 20, 8 << 20);
    let open = |dir: &str| {
        let dir = folder.path().join(dir);
        utxo::Store::open_read_only(&dir, chain, network, &memory).unwrap()
    };
    let (one, other) = (open("data/btc"), open("other/btc"));
    assert_eq!(one.same_rows(&other).unwrap(), None);
    let mut rows = 0;
    other.rows(|_, _, _| rows += 1).unwrap();
    assert!(rows > BLOCKS * 4, "{rows}");
}

#[test]
fn an_index_is_handed_on_while_its_server_runs_and_follows_the_node() {
    let stage = Stage::new();
    let mut serving = stage.serve();
    let stream = export(&stage.folder, "btc");
    let told = taken(&import(&stage.folder, &stream, &["btc"]));
    let tip = stage.node.tip().1.to_string();
    assert_eq!((&told["height"], &told["best_hash"]), (&json!(BLOCKS), &json!(tip)));
    assert_eq!(told["in_place"], true);
    assert_eq!(remains(&stage.folder), ["btc"]);
    assert!(!stage.folder.path().join("data/btc.export").exists());
    same_rows(&stage.folder);
    // Both follow the node from there, each by itself.
    let mut forge = Forge::new(chain::find("btc").unwrap());
    for _ in 0..BLOCKS {
        forge.mine(50, &key_hash_script(1), &[]);
    }
    stage.node.extend(&forge.mine(50, &key_hash_script(2), &[])).unwrap();
    let words = ["serve", "--only", "explorer"];
    let mut other = elsewhere(&stage.folder, &words);
    other.env("PORTOLAN__METRICS__LISTEN", "127.0.0.1:0");
    let key = elsewhere(&stage.folder, &["account", "add", "shop"]).output().unwrap();
    assert!(key.status.success(), "{key:?}");
    let key = elsewhere(&stage.folder, &["key", "add", "shop", "--json"]).output().unwrap();
    let key: Value = serde_json::from_slice(&key.stdout).unwrap();
    let address = serving.address("the explorer listens");
    let second = Folder::with("");
    let mut second = second.start_command(other);
    let other_address = second.address("the explorer listens");
    for (address, key) in
        [(address, stage.key.as_str()), (other_address, key["key"].as_str().unwrap())]
    {
        wait("both to be in sync", || {
            let status = ask(address, "/api/v1/btc/status", key);
            let status = (status.status == 200).then(|| status.json())?;
            (status["in_sync"] == true && status["height"] == BLOCKS + 1).then_some(())
        });
    }
    for server in [&mut serving, &mut second] {
        server.signal("TERM");
        server.wait();
    }
    same_rows(&stage.folder);
}

/// A stream with a byte changed.
fn bent(stream: &[u8], at: usize) -> Vec<u8> {
    let mut bent = stream.to_vec();
    bent[at] ^= 1;
    bent
}

/// Where an entry's content begins.
fn content(stream: &[u8], name: &str) -> usize {
    let head = stream.windows(name.len()).position(|part| part == name.as_bytes()).unwrap();
    head + 512
}

/// A stream with one entry more, or another one in the place of its first.
fn with_entry(stream: &[u8], name: &[u8], first: bool) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_size(3);
    header.set_mode(0o600);
    header.set_cksum();
    let mut entry = header.as_bytes().to_vec();
    entry.extend([b'a'; 3]);
    entry.resize(1024, 0);
    // Two empty blocks end an archive.
    let end = stream.len() - 1024;
    match first {
        true => [&entry, stream].concat(),
        false => [&stream[..end], &entry, &stream[end..]].concat(),
    }
}

#[test]
fn what_is_not_whole_or_not_ours_is_refused_and_leaves_nothing() {
    let stage = Stage::new();
    let mut serving = stage.serve();
    serving.signal("TERM");
    serving.wait();
    let stream = export(&stage.folder, "btc");
    let (sst, end) = (content(&stream, "index/"), content(&stream, "end.json"));
    let refuse = |stream: &[u8], why: &str| {
        let text = refused(&import(&stage.folder, stream, &["btc"]));
        assert!(text.contains(why), "{why}: {text}");
        assert_eq!(remains(&stage.folder), Vec::<String>::new(), "{why}");
    };
    for length in [0, 1, 511, 512] {
        refuse(&stream[..length], "");
    }
    for length in [700, sst - 512, sst, sst + 100, stream.len() / 2, end - 512, end, end + 20] {
        refuse(&stream[..length], "cut off or damaged");
    }
    for at in [520, sst, sst + (end - sst) / 2, end + 10, end - 200] {
        refuse(&bent(&stream, at), "");
    }
    refuse(&with_entry(&stream, b"index/more", false), "something is behind its end");
    refuse(&with_entry(&stream, b"../../btc", true), "no stream of");
    refuse(b"<html>not found</html>", "no stream of");
    let zeros = vec![0; 4096];
    refuse(&zeros, "no stream of");
    // The manifest names what is written; a name that leads elsewhere is refused there.
    let name = stream[sst - 512..].iter().take_while(|byte| **byte != 0).count();
    let name = String::from_utf8(stream[sst - 512..sst - 512 + name].to_vec()).unwrap();
    let name = name.strip_prefix("index/").unwrap();
    let evil = "../".chars().cycle().take(name.len()).collect::<String>();
    let text = String::from_utf8_lossy(&stream[..sst - 512]).into_owned();
    assert!(text.contains(name), "{text}");
    let bent = [text.replacen(name, &evil, 1).as_bytes(), &stream[sst - 512..]].concat();
    refuse(&bent, "lists what no index has");
    // Another network is another index.
    stage.configure("testnet4", "");
    refuse(&stream, "an index of btc regtest");
    stage.configure("regtest", "");
    taken(&import(&stage.folder, &stream, &["btc"]));
    same_rows(&stage.folder);
}

#[test]
fn an_import_takes_the_place_of_an_index_only_where_it_is_told_to() {
    let stage = Stage::new();
    let said = stage.folder.run(&["index", "export", "btc"]);
    assert!(said.code == 1 && said.err.contains("there is no index of btc"), "{said:?}");
    let mut serving = stage.serve();
    let stream = export(&stage.folder, "btc");
    let said = stage.folder.run(&["index", "export", "btc", "--json"]);
    assert!(said.code == 2 && said.json()["error"].is_string(), "{said:?}");
    assert_eq!(taken(&import(&stage.folder, &stream, &["btc"]))["in_place"], true);
    let text = refused(&import(&stage.folder, &stream, &["btc"]));
    assert!(text.contains("--replace"), "{text}");
    assert_eq!(taken(&import(&stage.folder, &stream, &["btc", "--replace"]))["in_place"], true);
    assert_eq!(remains(&stage.folder), ["btc"]);
    // A running server goes on with what it has, and takes the new one at its next start.
    let replace = || {
        let mut command = stage.folder.command(&["index", "import", "btc", "--replace", "--json"]);
        let stored = stage.folder.path().join("stream");
        fs::write(&stored, &stream).unwrap();
        command.stdin(File::open(stored).unwrap()).output().unwrap()
    };
    assert_eq!(taken(&replace())["in_place"], false);
    assert!(refused(&replace()).contains("btc.new is there"));
    serving.signal("TERM");
    serving.wait();
    drop(stage.serve());
    assert!(!stage.folder.path().join("data/btc.new").exists());
    same_rows(&stage.folder);
}

#[test]
fn a_full_disk_is_told_before_anything_is_written() {
    let stage = Stage::new();
    let mut serving = stage.serve();
    serving.signal("TERM");
    serving.wait();
    let stream = export(&stage.folder, "btc");
    let mut command = elsewhere(&stage.folder, &["index", "import", "btc"]);
    command.env("PORTOLAN__EXPLORER__LEAST_FREE_MB", (1u64 << 40).to_string());
    let stored = stage.folder.path().join("stream");
    fs::write(&stored, &stream).unwrap();
    let text = refused(&command.stdin(File::open(stored).unwrap()).output().unwrap());
    assert!(text.contains("bytes are needed"), "{text}");
    assert_eq!(remains(&stage.folder), Vec::<String>::new());
}

#[test]
fn an_index_of_accounts_is_handed_on_as_well() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let chain = AccountChain::recorded_reorganisation(replay::Phase::A);
    let height = chain.tip().height();
    let node = runtime.block_on(StubAccounts::start(chain));
    let folder = Folder::with(&format!(
        "[serve]\ndrain_grace_secs = 0\n[explorer]\nleast_free_mb = 1\n[chain.eth]\nnetwork = \
         \"dev\"\nhistory_from = 0\nnodes = [{{ url = \"{}\" }}]\n",
        node.url()
    ));
    folder.json(&["account", "add", "shop"]);
    let key = folder.json(&["key", "add", "shop"])["key"].as_str().unwrap().to_owned();
    let mut serving = folder.start(&["serve", "--only", "explorer"]);
    let address = serving.address("the explorer listens");
    wait("the index to be in sync", || {
        let status = ask(address, "/api/v1/eth/status", &key);
        let status = (status.status == 200).then(|| status.json())?;
        (status["in_sync"] == true && status["height"] == height).then_some(())
    });
    let stream = export(&folder, "eth");
    serving.signal("TERM");
    serving.wait();
    assert_eq!(taken(&import(&folder, &stream, &["eth"]))["height"], height);
    let again = export(&folder, "eth");
    assert_eq!(taken(&import(&folder, &again, &["eth", "--replace"]))["in_place"], true);
    let dump = |dir: PathBuf| {
        let (chain, network) = of("eth", "dev");
        let memory = Memory::new(8 << 20, 8 << 20);
        account::Store::open_read_only(&dir, chain, network, &memory).unwrap().dump().unwrap()
    };
    let at = |dir: &str| folder.path().join(dir);
    assert_eq!(dump(at("data/eth")), dump(at("other/eth")));
}

/// Whether the indexes of a chain in two folders have the same rows.
fn are_same(chain: &'static Chain, network: &'static Network, one: &Path, other: &Path) -> bool {
    let memory = Memory::new(8 << 20, 8 << 20);
    match chain.family {
        Family::Utxo(_) => {
            let open = |dir| utxo::Store::open_read_only(dir, chain, network, &memory).unwrap();
            open(one).same_rows(&open(other)).unwrap().is_none()
        }
        Family::Account => {
            let open = |dir| account::Store::open_read_only(dir, chain, network, &memory).unwrap();
            open(one).dump().unwrap() == open(other).dump().unwrap()
        }
        Family::Ring => {
            let open = |dir| ring::Store::open_read_only(dir, chain, network, &memory).unwrap();
            open(one).same_rows(&open(other)).unwrap().is_none()
        }
    }
}

#[test]
fn every_chain_is_handed_on_by_a_server_and_without_one() {
    let private = |chain: &'static Chain| {
        let network = chain.networks.iter().find(|it| it.kind == NetworkKind::Regtest);
        (chain, network.unwrap())
    };
    let kept = chain::ALL.iter().copied().filter(|chain| ChainIndex::is_kept_of(chain));
    let kept: Vec<_> = kept.map(private).collect();
    let chains = kept.iter().map(|(chain, network)| {
        let (slug, name) = (chain.slug, network.name);
        format!("[chain.{slug}]\nnetwork = \"{name}\"\nnodes = [{{ url = \"http://127.0.0.1:1/{slug}\" }}]\n")
    });
    let chains: String = chains.collect();
    let folder = Folder::with(&format!("[explorer]\nleast_free_mb = 1\n{chains}"));
    let mut demo = folder.start(&["demo", "--json", "--dir", "data"]);
    assert!(demo.line().contains("explorer"), "{}", demo.log());
    for (chain, _) in &kept {
        let stream = export(&folder, chain.slug);
        assert_eq!(taken(&import(&folder, &stream, &[chain.slug]))["in_place"], true);
    }
    demo.signal("TERM");
    demo.wait();
    for (chain, network) in kept {
        let stream = export(&folder, chain.slug);
        taken(&import(&folder, &stream, &[chain.slug, "--replace"]));
        let at = |store: &str| folder.path().join(store).join(chain.slug);
        assert!(are_same(chain, network, &at("data"), &at("other")), "{}", chain.slug);
    }
}

#[test]
fn a_process_answers_for_the_chains_that_it_was_given() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let node = |slug| {
        let node = runtime.block_on(StubNode::start(slug, StubOptions::default())).unwrap();
        let mut forge = Forge::new(chain::find(slug).unwrap());
        node.extend(&forge.mine(50, &key_hash_script(1), &[])).unwrap();
        node
    };
    let (btc, ltc) = (node("btc"), node("ltc"));
    let folder = Folder::with(&format!(
        "[serve]\ndrain_grace_secs = 0\n[explorer]\nleast_free_mb = 1\nchains = [\"ltc\"]\n\
         [chain.btc]\nnetwork = \"regtest\"\nnodes = [{{ url = \"{}\" }}]\n\
         [chain.ltc]\nnetwork = \"regtest\"\nnodes = [{{ url = \"{}\" }}]\n",
        btc.url(),
        ltc.url()
    ));
    folder.json(&["account", "add", "shop"]);
    let key = folder.json(&["key", "add", "shop"])["key"].as_str().unwrap().to_owned();
    let serving = folder.start(&["serve", "--only", "explorer"]);
    let address = serving.address("the explorer listens");
    wait("ltc to be in sync", || {
        let status = ask(address, "/api/v1/ltc/status", &key);
        (status.status == 200 && status.json()["in_sync"] == true).then_some(())
    });
    let status = ask(address, "/api/v1/btc/status", &key);
    assert_eq!(
        (status.status, &status.json()["error"]["reason"]),
        (404, &json!("CHAIN_NOT_FOUND"))
    );
    assert!(!Path::new(&folder.path().join("data/btc")).exists());
}
