//! A start while the store's disk is full: what is known is served.

use std::io::Write;
use std::process::{Child, Command, Stdio};

use testkit::make_former_usage_file;

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

/// Carries out the lines that it is given, one after another, and notes how each ended.
const LINES: &str = r#"
mount -t tmpfs -o size=40m none data || exit 77
line=0
while read -r words; do eval "$words"; echo $? >ended.new; mv ended.new ended.$line; line=$((line+1)); done
"#;

/// A shell on a small disk of its own, in the folder `data` of a stage.
struct Shell {
    stage: Stage,
    shell: Child,
    lines: u32,
}

impl Shell {
    /// None where no disk can be had.
    fn on_a_small_disk() -> Option<Shell> {
        let stage = Stage::new();
        std::fs::remove_dir_all(stage.folder.path().join("data")).unwrap();
        std::fs::create_dir(stage.folder.path().join("data")).unwrap();
        let mut command = Command::new("unshare");
        command.args(["-rm", "bash", "-c", LINES]).current_dir(stage.folder.path());
        command.env("PROGRAM", env!("CARGO_BIN_EXE_portolan")).stdin(Stdio::piped());
        command.env("PORTOLAN__EXPLORER__LISTEN", "127.0.0.1:0");
        let shell = command.spawn().ok()?;
        let mut shell = Shell { stage, shell, lines: 0 };
        match shell.says("true") {
            Some(0) => Some(shell),
            _ => None,
        }
    }

    /// The exit code of a line; None if the shell has ended.
    fn says(&mut self, line: &str) -> Option<i32> {
        let ended = self.stage.folder.path().join(format!("ended.{}", self.lines));
        self.lines += 1;
        writeln!(self.shell.stdin.as_mut().unwrap(), "{line}").ok()?;
        wait(line, || {
            if self.shell.try_wait().unwrap().is_some() {
                return Some(None);
            }
            std::fs::read_to_string(&ended).ok().map(|code| code.trim().parse().ok())
        })
    }

    fn does(&mut self, line: &str) {
        assert_eq!(self.says(line), Some(0), "{line}");
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.stage.folder.path().join(file)).unwrap()
    }

    /// Adds the account `shop`, whose key is taken from then on.
    fn add_account(&mut self) {
        self.does(
            "\"$PROGRAM\" account add shop >account && \"$PROGRAM\" key add shop --json >key",
        );
        let key: serde_json::Value = serde_json::from_str(&self.read("key")).unwrap();
        self.stage.key = key["key"].as_str().unwrap().to_owned();
    }

    /// Starts the gateway with a log of that name, and makes a call that is answered.
    fn serve(&mut self, log: &str) -> std::net::SocketAddr {
        let gateway = self.start(log);
        self.call(gateway);
        gateway
    }

    /// Starts it with a log of that name; what it answers is to be seen.
    fn start(&mut self, log: &str) -> std::net::SocketAddr {
        self.does(&format!("\"$PROGRAM\" serve 2>{log} & sleep 0.2"));
        let path = self.stage.folder.path().join(log);
        let text = wait(&format!("the start that writes {log}"), || {
            let text = std::fs::read_to_string(&path).ok()?;
            assert!(!text.contains("portolan: "), "{text}");
            text.contains("the explorer listens").then_some(text)
        });
        address(&text, "the gateway listens")
    }

    fn call(&self, gateway: std::net::SocketAddr) {
        wait("an answer", || {
            (call(gateway, "btc", &self.stage.key, TIP).status == 200).then_some(())
        });
    }

    /// What the explorer answers to the question for a block.
    fn block(&self, log: &str) -> u16 {
        let explorer = address(&self.read(log), "the explorer listens");
        crate::program::ask(explorer, "/api/v1/btc/block/5", &self.stage.key).status
    }

    fn fill(&mut self) {
        self.says("cat /dev/zero >data/fill$RANDOM 2>/dev/null").unwrap();
    }

    fn used(&mut self) -> u64 {
        self.does("\"$PROGRAM\" usage shop --json >usage");
        let usage: serde_json::Value = serde_json::from_str(&self.read("usage")).unwrap();
        usage["gateway"]["today"].as_u64().unwrap()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // The program that it may have started ends with it: both have the same process group.
        let _ = self.says("kill %% 2>/dev/null; wait");
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

/// The disk is too small for a reserve, is filled before each start, and the program ends in each of
/// its ways.
#[test]
fn every_start_on_a_full_disk_serves_what_is_known() {
    let Some(mut shell) = Shell::on_a_small_disk() else {
        println!("skipped: no disk can be had here");
        return;
    };
    shell.add_account();
    shell.serve("first");
    shell.does("kill -TERM %% && wait %%");
    for (log, end) in [("second", "TERM"), ("third", "KILL"), ("fourth", "TERM")] {
        shell.fill();
        if log == "fourth" {
            // As a former version left it: longer by what it had no room for.
            shell.does("truncate -s +256K data/usage-explorer.map");
        }
        shell.serve(log);
        assert!(shell.read(log).contains("disk is full"), "{log}: {}", shell.read(log));
        // Its usage file has no row yet, and cannot grow.
        assert_eq!(shell.block(log), 503, "{}", shell.read(log));
        shell.does(&format!("kill -{end} %%; wait %%; true"));
    }
    shell.fill();
    let gateway = shell.serve("fifth");
    // What is known can be read beside it, what is new is refused with the reason.
    shell.does("\"$PROGRAM\" account list --json >list");
    assert!(shell.read("list").contains("\"shop\""));
    assert_eq!(shell.says("\"$PROGRAM\" account add late 2>late"), Some(1));
    assert!(shell.read("late").contains("full"), "{}", shell.read("late"));
    assert_eq!(shell.used(), 5);
    shell.does("rm data/fill*");
    wait("room to be found", || shell.read("fifth").contains("is written again").then_some(()));
    shell.does("\"$PROGRAM\" account add late >late");
    shell.call(gateway);
    wait("the index to go on", || (shell.block("fifth") == 200).then_some(()));
    shell.does("kill -TERM %% && wait %%");
    assert_eq!(shell.used(), 6);
    shell.fill();
    shell.serve("sixth");
    wait("what the index holds", || (shell.block("sixth") == 200).then_some(()));
    shell.does("kill -TERM %% && wait %%");
}

/// Files of the folder are missing at a start on a full disk: of a service that was added, or since
/// somebody took them away. What cannot be counted is refused, all else is served, and so is the rest as
/// soon as there is room.
#[test]
fn a_start_on_a_full_disk_without_its_files_refuses_what_it_cannot_count() {
    let Some(mut shell) = Shell::on_a_small_disk() else {
        println!("skipped: no disk can be had here");
        return;
    };
    shell.add_account();
    shell.serve("whole");
    wait("the index", || (shell.block("whole") == 200).then_some(()));
    shell.does("kill -TERM %% && wait %%");
    let (answered, files) =
        (std::cell::Cell::new(1), ["usage-gateway.map", "usage-explorer.map", "epoch"]);
    // The status of one call; those that are answered are counted.
    let called = |shell: &Shell, gateway| {
        let status = call(gateway, "btc", &shell.stage.key, TIP).status;
        answered.set(answered.get() + u64::from(status == 200));
        status
    };
    for (log, gone) in
        files.map(|file| (file, vec![file])).into_iter().chain([("all", files.to_vec())])
    {
        let gone: String = gone.iter().map(|file| format!(" data/{file}")).collect();
        shell.does(&format!("rm -f{gone}"));
        shell.fill();
        let gateway = shell.start(log);
        let [lacks_gateway, lacks_explorer] = [files[0], files[1]].map(|file| gone.contains(file));
        if lacks_gateway {
            let refused = call(gateway, "btc", &shell.stage.key, TIP);
            assert_eq!(refused.status, 503, "{refused:?} {}", shell.read(log));
            assert!(refused.body.contains("SERVICE_UNAVAILABLE"), "{refused:?}");
            assert!(shell.read(log).contains("no room for"), "{}", shell.read(log));
        } else {
            wait("the gateway", || (called(&shell, gateway) == 200).then_some(()));
        }
        assert_eq!(shell.block(log), if lacks_explorer { 503 } else { 200 }, "{}", shell.read(log));
        shell.does("rm data/fill*");
        wait("the gateway", || (called(&shell, gateway) == 200).then_some(()));
        wait("the explorer", || (shell.block(log) == 200).then_some(()));
        // A change is in force at once, or soon.
        shell.does("\"$PROGRAM\" account suspend shop");
        wait("the change", || (called(&shell, gateway) == 403).then_some(()));
        shell.does("\"$PROGRAM\" account resume shop");
        wait("the change back", || (called(&shell, gateway) == 200).then_some(()));
        shell.does("kill -TERM %% && wait %%");
        assert_eq!(shell.used(), answered.get(), "{log}");
    }
}

/// The first start of this version over usage files of a former one finds no room to write them anew.
/// What they have counted stays in them, counts against quotas, and is recorded once there is room.
#[test]
fn a_start_on_a_full_disk_with_usage_files_of_a_former_format_counts_once_there_is_room() {
    let Some(mut shell) = Shell::on_a_small_disk() else {
        println!("skipped: no disk can be had here");
        return;
    };
    shell.add_account();
    let gateway = shell.serve("whole");
    wait("the index", || (shell.block("whole") == 200).then_some(()));
    for _ in 0..6 {
        shell.call(gateway);
    }
    // Some of it was recorded, and some is in the file alone.
    shell.does("kill -TERM %% && wait %%");
    shell.serve("killed");
    shell.does("kill -KILL %%; wait %%; true");
    assert_eq!(shell.used(), 8);
    // Only the shell sees the small disk. What was recorded then was so without a number.
    shell.does("cp data/portolan.sqlite* .");
    let database = shell.stage.folder.path().join("portolan.sqlite");
    let database = rusqlite::Connection::open(database).unwrap();
    database.execute("UPDATE usage SET replica = 0", []).unwrap();
    database.close().unwrap();
    shell.does("rm data/portolan.sqlite* && cp portolan.sqlite data");
    for service in ["gateway", "explorer"] {
        shell.does(&format!("cp data/usage-{service}.map former-{service}"));
        make_former_usage_file(&shell.stage.folder.path().join(format!("former-{service}")))
            .unwrap();
        shell.does(&format!("cp former-{service} data/usage-{service}.map"));
    }
    let mut ends = ["KILL", "TERM"].into_iter();
    let gateway = loop {
        shell.fill();
        let log = format!("former{}", ends.len());
        let gateway = shell.start(&log);
        // What the index has given back meanwhile.
        shell.fill();
        let refused = call(gateway, "btc", &shell.stage.key, TIP);
        assert_eq!(refused.status, 503, "{refused:?} {}", shell.read(&log));
        assert!(refused.body.contains("SERVICE_UNAVAILABLE"), "{refused:?}");
        assert!(shell.read(&log).contains("no room to write it anew"), "{}", shell.read(&log));
        assert_eq!(shell.block(&log), 503);
        assert_eq!(shell.used(), 8);
        // They are as they were, byte for byte.
        for service in ["gateway", "explorer"] {
            shell.does(&format!("cmp former-{service} data/usage-{service}.map"));
        }
        let Some(end) = ends.next() else { break gateway };
        shell.does(&format!("kill -{end} %%; wait %%; true"));
        shell.does("rm -f data/fill*");
    };
    shell.does("rm data/fill*");
    shell.call(gateway);
    wait("the explorer", || (shell.block("former0") == 200).then_some(()));
    shell.does("! cmp -s former-gateway data/usage-gateway.map");
    assert_eq!(shell.used(), 9);
    shell.does("kill -TERM %% && wait %%");
    assert_eq!(shell.used(), 9);
    shell.serve("after");
    shell.does("kill -KILL %%; wait %%; true");
    assert_eq!(shell.used(), 10);
}

/// Some file systems have no room for a new name either.
#[test]
fn a_start_without_room_for_its_lock_counts_nothing_until_it_has_it() {
    let Some(mut shell) = Shell::on_a_small_disk() else {
        println!("skipped: no disk can be had here");
        return;
    };
    shell.add_account();
    shell.does("ls -A data >files; ! grep -q gateway files");
    shell.fill();
    if shell.says("mount -o remount,nr_inodes=50 data") != Some(0) {
        println!("skipped: the names of the disk cannot be counted");
        return;
    }
    shell.does(
        "for i in {1..60}; do touch data/fill-$i; done 2>/dev/null; ! touch data/one 2>touch",
    );
    let begin = |shell: &mut Shell, log: &str| {
        shell.does(&format!("\"$PROGRAM\" serve --only gateway 2>{log} & sleep 0.2"));
        let path = shell.stage.folder.path().join(log);
        let text = wait("a start", || {
            let text = std::fs::read_to_string(&path).ok()?;
            assert!(!text.contains("portolan: "), "{text}");
            text.contains("the gateway listens").then_some(text)
        });
        address(&text, "the gateway listens")
    };
    let [one, two] = ["one", "two"].map(|log| begin(&mut shell, log));
    for gateway in [one, two] {
        let refused = call(gateway, "btc", &shell.stage.key, TIP);
        assert_eq!(refused.status, 503, "{refused:?}");
    }
    shell.does("rm data/fill*");
    shell.call(one);
    // Somebody counts already.
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(call(two, "btc", &shell.stage.key, TIP).status, 503);
    shell.does("kill -TERM %1 %2; wait");
    assert_eq!(shell.used(), 1);
}
