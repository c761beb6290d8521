//! A start while the store's disk is full: what is known is served.

use std::process::Command;

use crate::program::stage::{BLOCKS, Stage};
use crate::program::{call, wait};

const TIP: &str = r#"{"method":"getblockcount","id":1}"#;

/// Gives the program a disk of its own of 96 MiB in a namespace that ends with it, makes an index,
/// fills the disk to the last byte, and starts the program once more. The file `room` tells when to
/// make room again.
const SCRIPT: &str = r#"
mount -t tmpfs -o size=96m none data || exit 77
"$PROGRAM" account add shop --explorer-plan Pro --json >account && "$PROGRAM" key add shop --json >key || exit 1
"$PROGRAM" serve 2>first &
until grep -q 'the explorer listens' first; do sleep 0.1; done
until grep -q SYNCED go 2>/dev/null; do sleep 0.1; done
kill -TERM $!; wait $!
cat /dev/zero >data/fill 2>/dev/null
"$PROGRAM" serve 2>second &
until [ -e room ]; do sleep 0.1; done
rm data/fill
until [ -e end ]; do sleep 0.1; done
kill -TERM $!; wait $!
"#;

fn lines_of(stage: &Stage, file: &str, what: &str) -> String {
    let path = stage.folder.path().join(file);
    wait(&format!("{what:?} in {file}"), || {
        let log = std::fs::read_to_string(&path).ok()?;
        log.contains(what).then_some(log)
    })
}

fn address(log: &str, what: &str) -> std::net::SocketAddr {
    let line = log.lines().find(|line| line.contains(what)).unwrap();
    let (_, address) = line.split_once("address=").unwrap();
    address.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn a_start_on_a_full_disk_serves_what_is_known() {
    let mut stage = Stage::new();
    std::fs::remove_dir_all(stage.folder.path().join("data")).unwrap();
    std::fs::create_dir(stage.folder.path().join("data")).unwrap();
    let mut command = Command::new("unshare");
    command.args(["-rm", "bash", "-c", SCRIPT]).current_dir(stage.folder.path());
    command.env("PROGRAM", env!("CARGO_BIN_EXE_portolan"));
    command.env("PORTOLAN__EXPLORER__LISTEN", "127.0.0.1:0");
    let Ok(mut script) = command.spawn() else {
        println!("skipped: there is no unshare");
        return;
    };
    let first = wait("the first start", || {
        if let Some(status) = script.try_wait().unwrap() {
            return Some(Err(status));
        }
        let log = std::fs::read_to_string(stage.folder.path().join("first")).ok()?;
        log.contains("the explorer listens").then_some(Ok(log))
    });
    let first = match first {
        Err(status) => {
            println!("skipped: no disk can be had here ({status})");
            return;
        }
        Ok(log) => log,
    };
    let key = std::fs::read_to_string(stage.folder.path().join("key")).unwrap();
    let key: serde_json::Value = serde_json::from_str(&key).unwrap();
    stage.key = key["key"].as_str().unwrap().to_owned();
    let status = |log: &str| {
        let explorer = address(log, "the explorer listens");
        crate::program::ask(explorer, "/api/v1/btc/status", &stage.key)
    };
    let is_in_sync = |log: &str| {
        let status = status(log);
        let status = (status.status == 200).then(|| status.json())?;
        (status["in_sync"] == true && status["height"] == BLOCKS).then_some(())
    };
    wait("the index", || is_in_sync(&first));
    let gateway = address(&first, "the gateway listens");
    assert_eq!(call(gateway, "btc", &stage.key, TIP).status, 200);
    std::fs::write(stage.folder.path().join("go"), "SYNCED").unwrap();
    let second = lines_of(&stage, "second", "the explorer listens");
    assert!(second.contains("the store's disk is full"), "{second}");
    let gateway = address(&second, "the gateway listens");
    wait("the gateway", || (call(gateway, "btc", &stage.key, TIP).status == 200).then_some(()));
    let shown = wait("the explorer", || {
        let status = status(&second);
        (status.status == 200).then(|| status.json())
    });
    assert_eq!(shown["height"], BLOCKS, "{shown}");
    std::fs::write(stage.folder.path().join("room"), "").unwrap();
    wait("the index to go on", || is_in_sync(&second));
    std::fs::write(stage.folder.path().join("end"), "").unwrap();
    let ended = wait("the end", || script.try_wait().unwrap());
    assert!(ended.success(), "{ended}: {}", lines_of(&stage, "second", ""));
}
