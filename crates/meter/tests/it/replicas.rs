//! Several meters on one PostgreSQL: a cap is served to the unit, and never passed, whatever is killed,
//! cut off or lost (decision B13).
//!
//! Where processes are killed the test runs itself as the children, which serve from a folder each and
//! write one byte to a pipe for each answer; what is in the pipe outlives them.
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use meter::{Caller, Clock, KeyOptions, Meter, PlanConfig, PostgresAddress, Reason, Service};
use testkit::Postgres;

use crate::rig::*;

const NOON: &str = "2026-11-28T12:00:00Z";
const REPLICAS: usize = 3;
/// Threads of a child, each with one request in flight.
const THREADS: usize = 4;
const FOLDER: &str = "METER_REPLICA_FOLDER";
const KEY: &str = "METER_REPLICA_KEY";
const POSTGRES: [&str; 2] = ["METER_REPLICA_POSTGRES", "METER_REPLICA_PASSWORD_FILE"];
const CAP: &str = "METER_REPLICA_CAP";
/// What a child writes before its first answer; the test harness writes text before it.
const READY: &[u8] = b"\x01READY\x01";

fn lab(daily: u64) -> PlanConfig {
    PlanConfig { daily: Some(daily), monthly: Some(daily * 10), ..wide() }
}

/// Meters on one store, each with a folder of its own; the first is the rig's.
struct Fleet {
    rig: Rig,
    others: Vec<(tempfile::TempDir, Option<Arc<Meter>>)>,
}

impl Fleet {
    fn start(server: &Postgres, name: &str, lab: PlanConfig, options: KeyOptions) -> Fleet {
        let rig = Rig::on(Some(database(server, name)), lab, NOON, options);
        let others = (1..REPLICAS).map(|_| (tempfile::tempdir().unwrap(), None)).collect();
        let mut fleet = Fleet { rig, others };
        for place in 1..REPLICAS {
            fleet.open(place);
        }
        fleet
    }

    fn open(&mut self, place: usize) {
        let storage = storage(self.others[place - 1].0.path(), &self.rig.postgres);
        let (plans, clock) = (self.rig.plans.clone(), self.rig.clock.clone());
        let meter = Meter::over(storage, &Service::ALL, plans, clock).unwrap();
        self.others[place - 1].1 = Some(meter);
    }

    fn meter(&self, place: usize) -> &Arc<Meter> {
        match place {
            0 => self.rig.meter(),
            _ => self.others[place - 1].1.as_ref().unwrap(),
        }
    }

    fn caller(&self, place: usize) -> Caller {
        let caller = self.meter(place).caller(Some(&self.rig.key), GATEWAY, HOME, None);
        block_on(caller).unwrap()
    }

    /// Calls on one replica until it is refused; says how many were admitted.
    fn drain(&self, place: usize) -> u64 {
        let caller = self.caller(place);
        let mut served = 0;
        loop {
            self.rig.hands.advance(Duration::from_millis(1));
            match block_on(self.meter(place).admit(&caller, btc(), 1, 1)) {
                Ok(_) => served += 1,
                Err(denial) if denial.reason == Reason::DailyQuota => return served,
                // The store was slow to answer.
                Err(denial) => assert_eq!(denial.reason, Reason::StoreUnavailable),
            }
        }
    }

    /// Calls on all until nothing is left anywhere, also of what is returned late.
    fn drain_all(&self) -> u64 {
        let (mut served, mut since) = (0, Instant::now());
        // Leases that rest are returned after seconds.
        while since.elapsed() < Duration::from_secs(8) {
            let more: u64 = (0..REPLICAS).map(|place| self.drain(place)).sum();
            if more > 0 {
                (served, since) = (served + more, Instant::now());
            }
            thread::sleep(Duration::from_millis(100));
        }
        served
    }
}

#[test]
fn three_replicas_serve_a_cap_to_the_unit() {
    const CALLS: u64 = 100_000;
    const DAILY: u64 = 50_000;
    let server = Postgres::start().unwrap();
    let fleet = Fleet::start(&server, "exact", lab(DAILY), KeyOptions::default());
    let [next, served, late] = [0, 0, 0].map(AtomicU64::new);
    thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let callers: Vec<_> = (0..REPLICAS).map(|place| fleet.caller(place)).collect();
                let mut runtime = tokio::runtime::Builder::new_current_thread();
                let runtime = runtime.enable_time().build().unwrap();
                // As a balancer does it: one after the other in turn.
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    if number >= CALLS {
                        return;
                    }
                    let place = number as usize % REPLICAS;
                    let admit = fleet.meter(place).admit(&callers[place], btc(), 1, 1);
                    match runtime.block_on(admit) {
                        Ok(mut permit) if number % 97 == 0 => permit.refund(1),
                        Ok(permit) => {
                            assert!(permit.remains().daily_remaining.unwrap() < DAILY);
                            served.fetch_add(1, Ordering::SeqCst);
                        }
                        Err(denial) if denial.reason == Reason::DailyQuota => {}
                        Err(denial) => {
                            assert_eq!(denial.reason, Reason::StoreUnavailable);
                            late.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                }
            });
        }
    });
    println!("late: {}", late.load(Ordering::SeqCst));
    assert_eq!(served.load(Ordering::SeqCst), DAILY);
    assert_eq!(fleet.drain_all(), 0);
    (0..REPLICAS).for_each(|place| fleet.meter(place).record().unwrap());
    assert_eq!(fleet.rig.used().0, DAILY);
}

#[test]
fn what_remains_is_the_truth_but_for_open_leases() {
    let server = Postgres::start().unwrap();
    let options = KeyOptions { daily_cap: Some(800), ..KeyOptions::default() };
    let fleet = Fleet::start(&server, "remains", lab(1000), options);
    let callers: Vec<_> = (0..REPLICAS).map(|place| fleet.caller(place)).collect();
    let admit = |place: usize, units| {
        fleet.rig.hands.advance(Duration::from_millis(1));
        block_on(fleet.meter(place).admit(&callers[place], btc(), units, units)).unwrap()
    };
    let mut used = 0;
    for round in 0..30 {
        let place = round % REPLICAS;
        used += 7;
        let remains = *admit(place, 7).remains();
        (0..REPLICAS).for_each(|place| fleet.meter(place).record().unwrap());
        for (kind, cap, shown) in [
            ("day", 1000, remains.daily_remaining),
            ("month", 10_000, remains.monthly_remaining),
            ("key-day", 800, remains.key_daily_remaining),
        ] {
            let lent = format!("SELECT sum(units) FROM portolan.leases WHERE kind = '{kind}'");
            let lent: u64 = server.sql("remains", &lent).unwrap().parse().unwrap();
            let (truth, open) = (cap - used, lent - used);
            let shown = shown.unwrap();
            assert!(
                shown <= truth + open && truth <= shown + open,
                "{kind} {shown} {truth} {open}"
            );
        }
    }
    // A refund is in what remains.
    let mut permit = admit(0, 5);
    let before = permit.remains().daily_remaining.unwrap();
    permit.refund(3);
    assert_eq!(permit.remains().daily_remaining, Some(before + 3));
    // What ends in order leaves nothing behind.
    drop(permit);
    let mut fleet = fleet;
    fleet.rig.meter = None;
    fleet.others.iter_mut().for_each(|(_, meter)| *meter = None);
    let lent = "SELECT sum(units) FROM portolan.leases WHERE kind = 'day'";
    assert_eq!(server.sql("remains", lent).unwrap(), (used + 2).to_string());
}

#[test]
fn an_absence_is_bridged_by_leases_over_midnight_too_and_ends_in_503() {
    let mut server = Postgres::start().unwrap();
    let fleet = Fleet::start(&server, "away", lab(900), KeyOptions::default());
    let callers: Vec<_> = (0..REPLICAS).map(|place| fleet.caller(place)).collect();
    let admit = |place: usize| {
        fleet.rig.hands.advance(Duration::from_millis(1));
        block_on(fleet.meter(place).admit(&callers[place], btc(), 1, 1)).map(drop)
    };
    fleet.rig.hands.set_utc(utc("2026-11-28T23:59:00Z"));
    (0..REPLICAS).for_each(|place| admit(place).unwrap());
    let until = Instant::now() + Duration::from_secs(60);
    let ahead = "SELECT count(*) FROM portolan.leases
                 WHERE kind = 'day' AND units > 30 AND stamp = 20786";
    while server.sql("away", ahead).unwrap() != "3" {
        assert!(Instant::now() < until, "nothing is borrowed ahead of midnight");
        (0..REPLICAS).for_each(|place| admit(place).unwrap());
        thread::sleep(Duration::from_millis(50));
    }
    server.stop();
    while (0..REPLICAS).any(|place| fleet.meter(place).store_answers()) {
        thread::sleep(Duration::from_millis(5));
    }
    fleet.rig.hands.set_utc(utc("2026-11-29T00:00:01Z"));
    let mut served = 0;
    for place in 0..REPLICAS {
        (0..30).for_each(|_| admit(place).unwrap());
        served += 30;
        let denial = loop {
            match admit(place) {
                Ok(()) => served += 1,
                Err(denial) => break denial,
            }
            assert!(served <= 900);
        };
        // It is not known whether there is more.
        assert_eq!((denial.reason, denial.retry_after_secs), (Reason::StoreUnavailable, Some(5)));
    }
    server.start_again().unwrap();
    while (0..REPLICAS).any(|place| !fleet.meter(place).store_answers()) {
        thread::sleep(Duration::from_millis(5));
    }
    served += fleet.drain_all();
    assert_eq!(served, 900);
    (0..REPLICAS).for_each(|place| fleet.meter(place).record().unwrap());
    assert_eq!(fleet.rig.used().0, 900);
}

#[test]
fn a_cap_that_is_lowered_holds_for_what_was_lent_before() {
    let server = Postgres::start().unwrap();
    let fleet = Fleet::start(&server, "lowered", lab(1000), KeyOptions::default());
    let mut served = 0;
    for place in 0..REPLICAS {
        let caller = fleet.caller(place);
        for _ in 0..20 {
            fleet.rig.hands.advance(Duration::from_millis(1));
            block_on(fleet.meter(place).admit(&caller, btc(), 1, 1)).unwrap();
            served += 1;
        }
    }
    (0..REPLICAS).for_each(|place| fleet.meter(place).set_plans(plans(lab(100))));
    served += fleet.drain_all();
    assert_eq!(served, 100);
    (0..REPLICAS).for_each(|place| fleet.meter(place).set_plans(plans(lab(130))));
    assert_eq!(fleet.drain_all(), 30);
}

#[test]
fn a_rate_is_shared_out_over_those_that_are_live() {
    let server = Postgres::start().unwrap();
    let lab = PlanConfig { requests_per_second: 40, ..PlanConfig::default() };
    let mut fleet = Fleet::start(&server, "rate", lab, KeyOptions::default());
    // Even load: each second every replica gets as much as it takes.
    let burst = |fleet: &Fleet, live: usize| -> usize {
        let admitted = |place: usize| {
            let caller = fleet.caller(place);
            let admit = || block_on(fleet.meter(place).admit(&caller, btc(), 1, 1));
            std::iter::repeat_with(admit).take_while(Result::is_ok).count()
        };
        (0..live).map(admitted).sum()
    };
    let settles = |fleet: &Fleet, live: usize, share: &[u32]| {
        let until = Instant::now() + Duration::from_secs(60);
        let has = |place: usize| {
            fleet.rig.hands.advance(Duration::from_secs(2));
            let permit = block_on(fleet.meter(place).admit(&fleet.caller(place), btc(), 1, 1));
            permit.unwrap().remains().remaining + 1
        };
        while {
            let mut all: Vec<u32> = (0..live).map(has).collect();
            all.sort_unstable();
            all != share
        } {
            assert!(Instant::now() < until, "shares do not settle");
            thread::sleep(Duration::from_millis(20));
        }
    };
    settles(&fleet, 3, &[13, 13, 14]);
    let mut served = 0;
    for _ in 0..30 {
        fleet.rig.hands.advance(Duration::from_secs(1));
        served += burst(&fleet, 3);
    }
    assert_eq!(served, 40 * 30);
    // Those that end leave their part to the others.
    fleet.others[1].1 = None;
    settles(&fleet, 2, &[20, 20]);
    fleet.others[0].1 = None;
    settles(&fleet, 1, &[40]);
}

/// Runs only as the child; alone it does nothing.
#[test]
fn child() {
    let (Ok(folder), Ok(key)) = (std::env::var(FOLDER), std::env::var(KEY)) else { return };
    let (clock, hands) = Clock::test(utc(NOON));
    let [url, password] = POSTGRES.map(|name| std::env::var(name).unwrap());
    let address = PostgresAddress::new(&url, Some(password.as_ref()), None).unwrap();
    let cap = std::env::var(CAP).unwrap().parse().unwrap();
    // A server that is not there yet is waited for, as a supervisor does.
    let meter = loop {
        let storage = meter::Storage::postgres(folder.as_ref(), address.clone());
        let plans = plans(lab(cap));
        let opened = storage.and_then(|s| Meter::over(s, &[GATEWAY], plans, clock.clone()));
        match opened {
            Ok(meter) => break meter,
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    };
    let output = Mutex::new(std::io::stdout());
    output.lock().unwrap().write_all(READY).unwrap();
    output.lock().unwrap().flush().unwrap();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for round in 0_u64.. {
                    hands.advance(Duration::from_millis(1));
                    let pace = Duration::from_millis(10);
                    thread::sleep(pace);
                    let caller = block_on(meter.caller(Some(&key), GATEWAY, HOME, None));
                    let Ok(caller) = caller else { continue };
                    let Ok(mut permit) = block_on(meter.admit(&caller, btc(), 1, 1)) else {
                        continue;
                    };
                    // Every fifth call fails and is given back: no answer, nothing billed.
                    if round % 5 == 4 {
                        permit.refund(1);
                        continue;
                    }
                    let mut output = output.lock().unwrap();
                    output.write_all(b"\x02").unwrap();
                    output.flush().unwrap();
                }
            });
        }
    });
}

/// A child that serves, and what it has answered so far.
struct Serving {
    child: Child,
    answered: Arc<AtomicU64>,
    reader: JoinHandle<()>,
}

impl Serving {
    fn start(server: &Postgres, rig: &Rig, folder: &Path, cap: u64) -> Serving {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "replicas::child", "--nocapture", "--test-threads=1"])
            .env(POSTGRES[0], rig.postgres.as_ref().unwrap().url())
            .env(POSTGRES[1], server.password_file())
            .env(FOLDER, folder)
            .env(KEY, &rig.key)
            .env(CAP, cap.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pipe = child.stdout.take().unwrap();
        let answered = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&answered);
        let reader = thread::spawn(move || {
            let mut is_ready = false;
            let mut last = Vec::new();
            for byte in std::io::BufReader::new(pipe).bytes().map_while(Result::ok) {
                last.push(byte);
                is_ready = is_ready || last.ends_with(READY);
                counted.fetch_add(u64::from(is_ready && byte == 2), Ordering::SeqCst);
            }
        });
        Serving { child, answered, reader }
    }

    fn answered(&self) -> u64 {
        self.answered.load(Ordering::SeqCst)
    }

    /// Waits until it has answered something.
    fn answers(&self) {
        let until = Instant::now() + Duration::from_secs(60);
        while self.answered() == 0 {
            assert!(Instant::now() < until, "no answer");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// SIGKILL; says what was answered in all.
    fn kill(mut self) -> u64 {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.reader.join().unwrap();
        self.answered.load(Ordering::SeqCst)
    }
}

/// Kills and restarts children and stops and starts the server between; says what was answered and how
/// many were killed.
fn disturb(server: &mut Postgres, fleet: &Fleet, dirs: &[&Path], cap: u64) -> (u64, u64) {
    let start =
        |server: &Postgres, place: usize| Serving::start(server, &fleet.rig, dirs[place], cap);
    let mut serving: Vec<_> = (0..REPLICAS).map(|place| start(server, place)).collect();
    serving.iter().for_each(Serving::answers);
    let (mut answered, mut kills) = (0, 0);
    for round in 0..9_usize {
        thread::sleep(Duration::from_millis(150 + 40 * round as u64));
        match round % 3 {
            // Killed, and started again at once.
            0 | 1 => {
                let place = round / 2 % REPLICAS;
                answered += serving.remove(place).kill();
                serving.insert(place, start(server, place));
            }
            // The server goes while all work, and one of them is killed and started meanwhile.
            _ => {
                server.stop();
                thread::sleep(Duration::from_millis(300));
                let place = round % REPLICAS;
                answered += serving.remove(place).kill();
                serving.insert(place, start(server, place));
                server.start_again().unwrap();
            }
        }
        kills += 1;
    }
    for one in serving {
        answered += one.kill();
        kills += 1;
    }
    (answered, kills)
}

#[test]
fn killed_and_cut_off_replicas_never_pass_a_cap_and_strand_nothing_that_comes_back() {
    const DAILY: u64 = 20_000;
    let mut server = Postgres::start().unwrap();
    let mut fleet = Fleet::start(&server, "killed", lab(DAILY), KeyOptions::default());
    fleet.rig.meter = None;
    fleet.others.iter_mut().for_each(|(_, meter)| *meter = None);
    let dirs: Vec<_> = fleet.others.iter().map(|(dir, _)| dir.path().to_owned()).collect();
    let dirs: Vec<&Path> =
        [fleet.rig.dir.path()].into_iter().chain(dirs.iter().map(|dir| &**dir)).collect();
    let (answered, kills) = disturb(&mut server, &fleet, &dirs, DAILY);
    println!("answered under disturbance: {answered}, kills: {kills}");
    assert!(answered > 300 && answered < DAILY, "{answered}");
    // They come back with their folders, and the rest is served.
    let mut fleet = Fleet { others: fleet.others, ..fleet };
    fleet.rig.restart();
    (1..REPLICAS).for_each(|place| fleet.open(place));
    let rest = fleet.drain_all();
    (0..REPLICAS).for_each(|place| fleet.meter(place).record().unwrap());
    assert_eq!(fleet.rig.used().0, DAILY);
    let total = answered + rest;
    let in_flight = kills * THREADS as u64;
    assert!(total <= DAILY && total + in_flight >= DAILY, "{total}");
}

#[test]
fn a_machine_that_is_lost_for_good_strands_what_it_was_lent_and_no_more() {
    const DAILY: u64 = 6000;
    let server = Postgres::start().unwrap();
    let mut fleet = Fleet::start(&server, "lost", lab(DAILY), KeyOptions::default());
    fleet.others[1].1 = None;
    let folder = tempfile::tempdir().unwrap();
    let lost = Serving::start(&server, &fleet.rig, folder.path(), DAILY);
    lost.answers();
    let early: u64 = (0..2)
        .map(|place| {
            let caller = fleet.caller(place);
            (0..200)
                .filter(|_| {
                    fleet.rig.hands.advance(Duration::from_millis(1));
                    block_on(fleet.meter(place).admit(&caller, btc(), 1, 1)).is_ok()
                })
                .count() as u64
        })
        .sum();
    let lost = lost.kill();
    drop(folder);
    fleet.open(2);
    let served = early + lost + fleet.drain_all();
    (0..REPLICAS).for_each(|place| fleet.meter(place).record().unwrap());
    let recorded = fleet.rig.used().0;
    let open = "SELECT sum(units) FROM portolan.leases WHERE kind = 'day'";
    let lent: u64 = server.sql("lost", open).unwrap().parse().unwrap();
    // All of the cap is lent, and what is not recorded is the open lease of the lost one.
    assert_eq!(lent, DAILY);
    println!("served {served}, recorded {recorded} of {DAILY}");
    assert!(served <= DAILY);
    // Half of an equal share of those that were live.
    assert!(DAILY - recorded <= DAILY / 4, "{recorded}");
}
