//! `deploy/replicas/run`: three programs with PostgreSQL, Redis and a balancer, as they are deployed.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use replay::{Mock, MockOptions};
use testkit::{Process, free_port};
use tokio::runtime::Runtime;

use crate::program::{Folder, call, http, wait};

const COUNT: &str = r#"{"method":"getblockcount","id":1}"#;
const RATE: f64 = 40.0;
const PORTS: usize = 9;

/// Everything that the script started.
struct Deployed {
    // First, so that it has ended everything when its folder goes.
    script: Process,
    folder: Folder,
    _mock: Mock,
    _runtime: Runtime,
    ports: Vec<u16>,
}

/// A balancer that is installed here, of those that are named.
fn has(program: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

impl Deployed {
    fn start(balancer: &str) -> Option<Deployed> {
        if !has(balancer) || !has("redis-server") {
            println!("skipped: {balancer} or redis-server is not installed here");
            return None;
        }
        let runtime = Runtime::new().unwrap();
        let mock = runtime.block_on(Mock::start(MockOptions::default())).unwrap();
        let config = format!(
            "[serve]\ndrain_grace_secs = 2\n\
             [plan.slow]\nrequests_per_second = {RATE}\nconcurrency = 1000\n\
             [plan.wide]\nrequests_per_second = 100000\nconcurrency = 10000\n\
             [chain.btc]\nnetwork = \"regtest\"\nnodes = [{{ url = \"{}\", slots = 100 }}]\n",
            mock.url()
        );
        let folder = Folder::with(&config);
        let ports: Vec<u16> = (0..PORTS).map(|_| free_port().unwrap()).collect();
        let words: Vec<String> = ports.iter().map(u16::to_string).collect();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/replicas/run");
        let mut command = Command::new(script);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PORTOLAN__")) {
            command.env_remove(name);
        }
        command.args(["portolan.toml", "all"]).current_dir(folder.path());
        command.env("PORTOLAN", env!("CARGO_BIN_EXE_portolan")).env("PORTS", words.join(" "));
        command.env("BALANCER_PROGRAM", balancer);
        let log = folder.path().join("said");
        let mut script =
            Process::start(&mut command, &log, "it is part of the repository").unwrap();
        wait("all to be there", || {
            assert!(!script.has_ended(), "{}", fs::read_to_string(&log).unwrap());
            folder.path().join("all/ready").exists().then_some(())
        });
        let deployed = Deployed { script, folder, _mock: mock, _runtime: runtime, ports };
        for place in 0..3 {
            wait("a replica to be ready", || deployed.is_ready(place).then_some(()));
        }
        Some(deployed)
    }

    fn balancer(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.ports[0]))
    }

    fn metrics(&self, place: usize) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.ports[6 + place]))
    }

    fn is_ready(&self, place: usize) -> bool {
        let page = http(self.metrics(place), "GET", "/readyz", "", "");
        page.is_some_and(|page| page.status == 200)
    }

    /// The value of a metric of each replica.
    fn metric(&self, name: &str) -> Vec<u64> {
        let value = |place| {
            let page = http(self.metrics(place), "GET", "/metrics", "", "").unwrap().body;
            let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.unwrap_or_else(|| panic!("{name}: {page}")).parse().unwrap()
        };
        (0..3).map(value).collect()
    }

    fn pid(&self, name: &str) -> u32 {
        let path = self.folder.path().join("all/pids").join(name);
        // Between two programs there is none.
        wait("its pid", || fs::read_to_string(&path).ok()?.trim().parse().ok())
    }

    fn signal(&self, name: &str, signal: &str) {
        let pid = self.pid(name).to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
    }

    fn key(&self, name: &str, plan: &str) -> String {
        let env = fs::read_to_string(self.folder.path().join("all/env")).unwrap();
        let json = |words: &[&str]| {
            let mut command = self.folder.command(&[words, &["--json"]].concat());
            for line in env.lines().filter_map(|line| line.strip_prefix("export ")) {
                let (name, value) = line.split_once('=').unwrap();
                command.env(name, value);
            }
            let output = command.output().unwrap();
            assert!(output.status.success(), "{output:?}");
            serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
        };
        json(&["account", "add", name, "--gateway-plan", plan]);
        json(&["key", "add", name])["key"].as_str().unwrap().to_owned()
    }

    /// Calls through the balancer on four threads until told to stop; says how many were served.
    /// Anything but 200 and 429 fails.
    fn load(&self, key: &str, pace: Duration, stop: &AtomicBool) -> usize {
        let (served, odd) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        match http(self.balancer(), "POST", "/v1/rpc/btc", key, COUNT) {
                            Some(answer) if answer.status == 200 => {
                                served.fetch_add(1, Ordering::Relaxed);
                            }
                            Some(answer) if answer.status == 429 => {}
                            other => odd.lock().unwrap().push(other),
                        }
                        thread::sleep(pace);
                    }
                });
            }
        });
        let odd = odd.into_inner().unwrap();
        assert!(odd.is_empty(), "{} odd answers: {:?}", odd.len(), odd.first());
        served.into_inner()
    }

    /// As Ctrl-C does it; nothing is left.
    fn end(mut self) {
        let names = ["one", "two", "three", "balancer", "redis", "postgres"];
        let pids = names.map(|name| self.pid(name));
        let script = self.script.id().to_string();
        // Not INT, which a shell cannot trap where it was started in the background.
        assert!(Command::new("kill").args(["-s", "TERM", &script]).status().unwrap().success());
        wait("the end of the script", || self.script.has_ended().then_some(()));
        for (name, pid) in names.iter().zip(pids) {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            assert!(stat.is_empty() || stat.contains(") Z "), "{name} still runs");
        }
        let left = fs::read_dir(self.folder.path().join("all/pids")).unwrap().count();
        assert_eq!(left, 0);
    }
}

#[test]
fn what_is_deployed_keeps_a_rate_through_the_loss_of_redis_and_loses_no_call() {
    let Some(mut deployed) = Deployed::start("haproxy") else { return };
    let slow = deployed.key("slow", "slow");
    let live = "portolan_meter_live_replicas{service=\"gateway\"}";
    wait("all to know of all", || (deployed.metric(live) == [3, 3, 3]).then_some(()));
    assert_eq!(deployed.metric("portolan_meter_buckets_answer"), [1, 1, 1]);
    assert_eq!(call(deployed.balancer(), "btc", &slow, COUNT).status, 200);
    thread::sleep(Duration::from_millis(1100));
    let run = |deployed: &Deployed, time: Duration| {
        let (stop, began) = (AtomicBool::new(false), Instant::now());
        thread::scope(|scope| {
            let load = scope.spawn(|| deployed.load(&slow, Duration::from_millis(10), &stop));
            thread::sleep(time);
            let due = began.elapsed().as_secs_f64() * RATE + RATE;
            stop.store(true, Ordering::Relaxed);
            (load.join().unwrap() as f64, due)
        })
    };
    let (served, due) = run(&deployed, Duration::from_secs(6));
    let losses = deployed.metric("portolan_meter_buckets_losses_total");
    let by_share = deployed.metric("portolan_meter_bucket_calls_total{by=\"share\"}");
    println!("shared: {served} of {due}, {losses:?} losses, {by_share:?} by share");
    assert!((served - due).abs() <= due * 0.03, "{served} of {due}");
    // Frozen first, then gone: shares, and no answer but 200 and 429.
    deployed.signal("redis", "STOP");
    let (served, due) = run(&deployed, Duration::from_secs(4));
    println!("away: {served} of {due}");
    assert!(served <= due + RATE, "{served} of {due}");
    assert!(served >= due * 0.6, "{served} of {due}");
    assert_eq!(deployed.metric("portolan_meter_buckets_answer"), [0, 0, 0]);
    deployed.signal("redis", "CONT");
    wait("its return", || {
        (deployed.metric("portolan_meter_buckets_answer") == [1, 1, 1]).then_some(())
    });
    deployed.signal("redis", "KILL");
    wait("its loss", || {
        (deployed.metric("portolan_meter_buckets_answer") == [0, 0, 0]).then_some(())
    });

    // Replicas end one after the other, in order, and are started again by the script.
    let wide = deployed.key("wide", "wide");
    let stop = AtomicBool::new(false);
    let served = thread::scope(|scope| {
        let (deployed, wide, stop) = (&deployed, &wide, &stop);
        let load = scope.spawn(move || deployed.load(wide, Duration::from_millis(1), stop));
        let _end = EndOfLoad(stop);
        for (place, name) in ["one", "two", "three"].into_iter().enumerate() {
            let before = deployed.pid(name);
            deployed.signal(name, "TERM");
            wait("its end", || (deployed.pid(name) != before).then_some(()));
            wait("it to be ready", || deployed.is_ready(place).then_some(()));
            // The balancer has to see that.
            thread::sleep(Duration::from_millis(1500));
        }
        stop.store(true, Ordering::Relaxed);
        load.join().unwrap()
    });
    println!("served while all were started anew: {served}");
    assert!(served > 100, "{served}");
    assert!(!deployed.script.has_ended());
    deployed.end();
}

/// Ends a load also where the test has failed.
struct EndOfLoad<'a>(&'a AtomicBool);

impl Drop for EndOfLoad<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn nginx_serves_as_well() {
    let Some(deployed) = Deployed::start("nginx") else { return };
    let wide = deployed.key("wide", "wide");
    for _ in 0..30 {
        let answer = call(deployed.balancer(), "btc", &wide, COUNT);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let counted = deployed.metric("portolan_meter_bucket_calls_total{by=\"server\"}");
    assert_eq!(counted.iter().sum::<u64>(), 30, "{counted:?}");
    deployed.end();
}

#[test]
fn the_script_says_what_it_wants() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/replicas/run");
    let output = Command::new(script).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("run CONFIG [FOLDER]"), "{output:?}");
}
