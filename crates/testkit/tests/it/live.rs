//! Each live node starts, mines, answers and ends.

use serde_json::json;
use testkit::{Anvil, Geth, Litecoind, Login, Monerod, StartError, cpu_micros, rss_bytes};

#[tokio::test]
async fn litecoind_mines_and_ends() {
    for login in [Login::Cookie, Login::Password("user".to_owned(), "word".to_owned())] {
        let mut node = Litecoind::start(login, &[]).await.unwrap();
        assert_eq!(node.mine(3).await.unwrap().len(), 3);
        assert_eq!(node.call("getblockcount", json!([])).await.unwrap(), json!(3));
        let info = testkit::get(&format!("{}/rest/chaininfo.json", node.url()), &[]).await.unwrap();
        assert_eq!(info.status, 200);
        assert!(
            node.call("getblockhash", json!([9])).await.unwrap_err().to_string().contains("-8")
        );
        assert_eq!(testkit::post(&node.url(), &[], b"{}").await.unwrap().status, 401);
        let pid = node.process().id();
        assert!(rss_bytes(pid).unwrap() > 1_000_000);
        assert!(cpu_micros(pid).is_some());
        drop(node);
        assert_eq!(rss_bytes(pid), None);
    }
}

#[tokio::test]
async fn monerod_mines_with_and_without_digest() {
    for login in [None, Some(("user", "word"))] {
        let node = Monerod::start(login).await.unwrap();
        assert_eq!(node.mine(2).await.unwrap().len(), 2);
        assert_eq!(node.call("get_block_count", json!({})).await.unwrap()["count"], json!(3));
        assert_eq!(node.post("/get_height", b"{}").await.unwrap().status, 200);
        let bare =
            testkit::post(&format!("{}/get_height", node.restricted_url()), &[], b"{}").await;
        assert_eq!(bare.unwrap().status, if login.is_some() { 401 } else { 200 });
    }
}

#[tokio::test]
async fn anvil_mines() {
    let node = Anvil::start(&["--chain-id", "4242"]).await.unwrap();
    node.mine(5).await.unwrap();
    assert_eq!(node.call("eth_blockNumber", json!([])).await.unwrap(), json!("0x5"));
    assert_eq!(node.call("eth_chainId", json!([])).await.unwrap(), json!("0x1092"));
}

#[tokio::test]
async fn geth_answers() {
    let node = match Geth::start(&[]).await {
        Err(StartError::Missing { program, hint }) => {
            println!("SKIPPED geth_answers: no {program} here ({hint})");
            return;
        }
        started => started.unwrap(),
    };
    assert_eq!(node.call("eth_chainId", json!([])).await.unwrap(), json!("0x539"));
    assert!(node.call("eth_nope", json!([])).await.unwrap_err().to_string().contains("-32601"));
}

/// A missing program is an error that says how to get it.
#[test]
fn a_missing_program_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new("portolan-no-such-node");
    let started = testkit::Process::start(&mut command, &folder.path().join("log"), "install it");
    let error = started.unwrap_err();
    assert_eq!(error.to_string(), "portolan-no-such-node is not installed: install it");
}

/// Also a process that does not listen, and its own children, end with a panic.
#[test]
fn a_panic_ends_the_whole_group() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let (send, receive) = std::sync::mpsc::channel();
    let path = log.clone();
    let panicked = std::thread::spawn(move || {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "sleep 1000 & echo $!; wait"]);
        let process = testkit::Process::start(&mut command, &path, "").unwrap();
        let child = loop {
            let text = std::fs::read_to_string(&path).unwrap();
            if let Some(pid) = text.strip_suffix('\n') {
                break pid.parse::<u32>().unwrap();
            }
            std::thread::yield_now();
        };
        send.send((process.id(), child)).unwrap();
        panic!("as a failing test would");
    });
    assert!(panicked.join().is_err());
    let (shell, sleep) = receive.recv().unwrap();
    assert_eq!(rss_bytes(shell), None);
    // The orphan is reaped by whoever adopts it; until then it has no memory left.
    while rss_bytes(sleep).is_some() {
        std::thread::yield_now();
    }
}
