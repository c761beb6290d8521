//! What becomes of the log when nobody can take it, and of results when nobody reads them: nothing
//! that a client or an operator would feel.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, Stdio};

use replay::{Replay, ReplayOptions};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::program::{Folder, call, http, wait};

const TIP: &str = r#"{"method":"getblockcount","id":1}"#;
/// Enough lines to fill a pipe several times.
const CALLS: usize = 2000;

/// A server whose log goes into a pipe.
struct Piped {
    _nodes: (Runtime, Replay),
    child: Child,
    log: Option<BufReader<ChildStderr>>,
    _folder: Folder,
    gateway: SocketAddr,
    metrics: SocketAddr,
    key: String,
}

impl Drop for Piped {
    fn drop(&mut self) {
        // It has ended, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Piped {
    /// Starts it, and reads its log until it listens.
    fn start() -> Piped {
        let runtime = Runtime::new().unwrap();
        let node = runtime.block_on(Replay::start("btc", ReplayOptions::default())).unwrap();
        let folder = Folder::with(&format!(
            "[serve]\ndrain_grace_secs = 0\n[log]\nlevel = \"debug\"\n[gateway]\nlisten = \"127.0.0.1:0\"\n\
             [metrics]\nlisten = \"127.0.0.1:0\"\n[plan.Pro]\nrequests_per_second = 100000\n\
             [chain.btc]\nnetwork = \"regtest\"\nnodes = [{{ url = \"{}\" }}]\n",
            node.url()
        ));
        folder.json(&["account", "add", "shop", "--gateway-plan", "Pro"]);
        let key = folder.json(&["key", "add", "shop"])["key"].as_str().unwrap().to_owned();
        let mut command = folder.command(&["serve", "--only", "gateway"]);
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let gateway = address(&mut log, "the gateway listens");
        let metrics = address(&mut log, "metrics and health listen");
        let _nodes = (runtime, node);
        Piped { _nodes, child, log: Some(log), _folder: folder, gateway, metrics, key }
    }

    fn call(&self) {
        let answer = call(self.gateway, "btc", &self.key, TIP);
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    fn lost(&self) -> u64 {
        let page = http(self.metrics, "GET", "/metrics", "", "").unwrap().body;
        let line =
            page.lines().find_map(|line| line.strip_prefix("portolan_log_lines_lost_total "));
        line.unwrap_or_else(|| panic!("{page}")).parse().unwrap()
    }

    fn ends_well(&mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
        let status = wait("the end of the program", || self.child.try_wait().unwrap());
        assert!(status.success(), "{status}");
    }
}

fn address(log: &mut BufReader<ChildStderr>, what: &str) -> SocketAddr {
    loop {
        let mut line = String::new();
        assert!(log.read_line(&mut line).unwrap() > 0, "the log ended before {what:?}");
        if line.contains(what) {
            let (_, address) = line.split_once("address=").unwrap();
            return address.split_whitespace().next().unwrap().parse().unwrap();
        }
    }
}

#[test]
fn reader_of_the_log_that_is_gone_is_felt_by_nobody() {
    let mut server = Piped::start();
    server.call();
    // The read end of the pipe closes.
    server.log = None;
    (0..20).for_each(|_| server.call());
    wait("lines that are lost", || (server.lost() >= 20).then_some(()));
    server.ends_well();
}

#[test]
fn reader_of_the_log_that_stalls_holds_up_nobody() {
    let mut server = Piped::start();
    (0..CALLS).for_each(|_| server.call());
    server.ends_well();
}

#[test]
fn full_disk_under_the_log_is_felt_by_nobody() {
    let folder = Folder::with("[log]\nlevel = \"debug\"\n");
    let mut command = folder.command(&["demo", "-c", "portolan.toml", "--json"]);
    command.env("TMPDIR", folder.path());
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut child = command.stdout(Stdio::piped()).stderr(full).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let gateway = ready["gateway"].as_str().unwrap().trim_start_matches("http://");
    let key = ready["key"].as_str().unwrap();
    for _ in 0..20 {
        assert_eq!(call(gateway.parse().unwrap(), "btc", key, TIP).status, 200);
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
    let status = wait("the end of the demo", || child.try_wait().unwrap());
    assert!(status.success(), "{status}");
}

/// Runs a command whose standard output or error nobody reads any more.
fn unread(folder: &Folder, words: &[&str], out: bool) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = folder.command(words);
    if out {
        command.stdout(writer).stderr(Stdio::piped());
    } else {
        command.stderr(writer).stdout(Stdio::piped());
    }
    let said = command.output().unwrap();
    (said.status.code(), String::from_utf8(said.stderr).unwrap())
}

#[test]
fn command_whose_results_nobody_reads_ends_in_silence() {
    let folder = Folder::with("");
    folder.json(&["account", "add", "shop"]);
    let commands: [&[&str]; 7] = [
        &["plan", "list"],
        &["plan", "list", "--json"],
        &["account", "list"],
        &["key", "add", "shop"],
        &["usage", "shop"],
        &["--help"],
        &["--version"],
    ];
    for words in commands {
        assert_eq!(unread(&folder, words, true), (Some(0), String::new()), "{words:?}");
    }
    for words in [&["key", "list", "nobody", "--json"] as &[&str], &["usage", "nobody"]] {
        let (code, err) = unread(&folder, words, true);
        assert_eq!((code, err.starts_with("portolan: ")), (Some(1), true), "{words:?}: {err}");
    }
}

#[test]
fn complaint_that_nobody_reads_changes_no_exit_code() {
    let folder = Folder::with("");
    for (words, code) in [(&["usage", "nobody"] as &[&str], 1), (&["nonsense"], 2)] {
        assert_eq!(unread(&folder, words, false).0, Some(code), "{words:?}");
    }
}

#[test]
fn results_that_cannot_be_written_are_a_failure() {
    let folder = Folder::with("");
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let said = folder.command(&["plan", "list"]).stdout(full).stderr(Stdio::piped()).output();
    let said = said.unwrap();
    assert_eq!(said.status.code(), Some(1));
    assert!(String::from_utf8(said.stderr).unwrap().contains("No space left"), "it says why");
}
