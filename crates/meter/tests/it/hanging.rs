//! A PostgreSQL that hangs: it takes connections and what is sent, and answers nothing. The end of a meter
//! does not wait for it for long, nor does a call, and nothing is counted twice afterwards.

use std::thread;
use std::time::{Duration, Instant};

use meter::{Admin, Clock, KeyOptions, PlanConfig, Reason, Storage};
use testkit::Postgres;

use crate::rig::*;

const NOON: &str = "2026-11-28T12:00:00Z";
/// The longest end of a meter, with some time for a machine that is busy.
const LONGEST_END: Duration = Duration::from_secs(9);

fn rig(server: &Postgres, name: &str) -> Rig {
    let lab = PlanConfig { daily: Some(1000), ..wide() };
    Rig::on(Some(database(server, name)), lab, NOON, KeyOptions::default())
}

/// Ends a meter as a program does, and says how long that took.
fn end(rig: &mut Rig, in_order: bool) -> Duration {
    let (began, meter) = (Instant::now(), rig.meter.take().unwrap());
    if in_order {
        meter.finish().unwrap_err();
    }
    drop(meter);
    began.elapsed()
}

#[test]
fn the_end_of_a_meter_is_soon_and_nothing_counts_twice() {
    let mut server = Postgres::start().unwrap();
    let mut rig = rig(&server, "hangs");
    let mut used = 0;
    for (round, in_order) in [(0, true), (1, true), (2, false), (6, true)] {
        rig.admit(20, 20).unwrap();
        rig.meter().record().unwrap();
        server.freeze();
        // Of what is lent.
        rig.admit(5, 5).unwrap();
        used += 25;
        thread::sleep(Duration::from_millis(700 * round));
        let took = end(&mut rig, in_order);
        println!("after {} ms: {took:?}", 700 * round);
        assert!(took < LONGEST_END, "{took:?}");
        server.thaw();
        rig.restart();
        assert_eq!(rig.used(), (used, used, used));
    }
    let rest = 1000 - used as u32;
    rig.admit(rest, rest).unwrap();
    assert_eq!(reason(rig.admit(1, 1)).0, Reason::DailyQuota);
}

#[test]
fn a_store_that_says_nothing_is_known_to_be_away_soon_and_to_be_back() {
    let mut server = Postgres::start().unwrap();
    let rig = rig(&server, "silent");
    rig.admit(20, 20).unwrap();
    thread::sleep(Duration::from_secs(3));
    assert!(rig.meter().store_answers());
    server.freeze();
    let frozen = Instant::now();
    while rig.meter().store_answers() {
        assert!(frozen.elapsed() < Duration::from_secs(4), "it is still said to answer");
        thread::sleep(Duration::from_millis(20));
    }
    println!("away after {:?}", frozen.elapsed());
    // It stays so while one question after another is given up, and known keys are served.
    while frozen.elapsed() < Duration::from_secs(13) {
        assert!(!rig.meter().store_answers(), "after {:?}", frozen.elapsed());
        assert!(rig.meter().serves());
        thread::sleep(Duration::from_millis(20));
    }
    rig.admit(1, 1).unwrap();
    server.thaw();
    let thawed = Instant::now();
    while !rig.meter().store_answers() {
        assert!(thawed.elapsed() < Duration::from_secs(10), "it is still said to be away");
        thread::sleep(Duration::from_millis(20));
    }
    println!("back after {:?}", thawed.elapsed());
}

#[test]
fn neither_the_end_nor_a_call_waits_for_one_long_reading() {
    let server = Postgres::start().unwrap();
    let mut rig = rig(&server, "locked");
    let stranger = {
        let dir = tempfile::tempdir().unwrap();
        let admin = Admin::open(dir.path(), rig.plans.clone(), Clock::system()).unwrap();
        admin.add_account("a", None, None).unwrap();
        admin.add_key("a", KeyOptions::default()).unwrap().key
    };
    rig.admit(3, 3).unwrap();
    thread::scope(|scope| {
        let lock = "BEGIN; LOCK TABLE portolan.keys IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(100)";
        let held = scope.spawn(|| server.sql("locked", lock));
        thread::sleep(Duration::from_millis(500));
        // Whoever reads what has changed waits for that.
        let raise = "UPDATE portolan.meta SET value = value + 1 WHERE name = 'version'";
        server.sql("locked", raise).unwrap();
        thread::sleep(Duration::from_secs(1));
        let began = Instant::now();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let caller = rig.meter().caller(Some(stranger.reveal()), GATEWAY, HOME, None);
        let (caller, waited) = (runtime.block_on(caller), began.elapsed());
        // Else it waits for the reading.
        runtime.shutdown_background();
        println!("a call: {waited:?}");
        let took = end(&mut rig, false);
        println!("the end: {took:?}");
        let free = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()";
        server.sql("locked", free).unwrap();
        held.join().unwrap().unwrap_err();
        assert_eq!(reason(caller).0, Reason::StoreUnavailable);
        assert!(waited < Duration::from_secs(7), "{waited:?}");
        assert!(took < LONGEST_END, "{took:?}");
    });
    rig.restart();
    assert_eq!(rig.used().0, 3);
}

#[test]
fn a_start_on_a_server_that_hangs_fails_soon() {
    let mut server = Postgres::start().unwrap();
    let rig = rig(&server, "start");
    server.freeze();
    let began = Instant::now();
    let dir = tempfile::tempdir().unwrap();
    let address = rig.postgres.clone().unwrap();
    let error = Storage::postgres(dir.path(), address).unwrap_err();
    println!("{error} after {:?}", began.elapsed());
    assert!(error.to_string().contains("has not answered"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(8));
    server.thaw();
}
