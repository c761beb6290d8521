//! A meter whose accounts, keys and recorded usage are in a PostgreSQL that is changed, stopped and
//! started under it, and copies from and to it.

use std::thread;
use std::time::{Duration, Instant};

use meter::{
    Admin, Clock, CopyError, KeyOptions, Meter, OpenError, PlanConfig, Reason, Service, Storage,
    StoreError, copy,
};
use testkit::Postgres;

use crate::rig::*;

const NOON: &str = "2026-11-28T12:00:00Z";

fn rig(server: &Postgres, name: &str, lab: PlanConfig) -> Rig {
    Rig::on(Some(database(server, name)), lab, NOON, KeyOptions::default())
}

/// Another command line on the same store, as on another machine.
fn elsewhere(rig: &Rig, dir: &tempfile::TempDir) -> Admin {
    Admin::over(storage(dir.path(), &rig.postgres), rig.plans.clone(), rig.clock.clone())
}

/// Looks again and again, for a minute at most.
fn until(what: &str, mut holds: impl FnMut() -> bool) -> Duration {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(60), "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
    started.elapsed()
}

#[test]
fn changes_of_another_machine_are_in_force_soon_and_usage_is_seen_there() {
    let server = Postgres::start().unwrap();
    let rig = rig(&server, "changes", wide());
    let dir = tempfile::tempdir().unwrap();
    let admin = elsewhere(&rig, &dir);
    rig.admit(3, 3).unwrap();
    // A new key is looked up when it comes.
    let new = admin.add_key("acme", KeyOptions::default()).unwrap().key;
    assert_eq!(rig.caller_of(new.reveal(), GATEWAY).unwrap().key_id(), 2);
    let mut slowest = Duration::ZERO;
    for _ in 0..5 {
        let key = admin.add_key("acme", KeyOptions::default()).unwrap();
        rig.caller_of(key.key.reveal(), GATEWAY).unwrap();
        admin.revoke(&key.id).unwrap();
        let refused = || {
            let caller = rig.caller_of(key.key.reveal(), GATEWAY);
            caller.is_err_and(|denial| denial.reason == Reason::KeyRevoked)
        };
        slowest = slowest.max(until("revoked", refused));
    }
    println!("slowest revocation: {slowest:?}");
    admin.suspend("acme").unwrap();
    until("suspended", || rig.caller_of(&rig.key, GATEWAY).is_err());
    rig.meter().record().unwrap();
    assert_eq!(admin.usage("acme", None).unwrap().gateway.today, 3);
}

#[test]
fn an_absence_costs_known_keys_nothing_and_no_unit_counts_twice() {
    let mut server = Postgres::start().unwrap();
    let mut rig = rig(&server, "absence", PlanConfig { daily: Some(1000), ..wide() });
    rig.admit(10, 10).unwrap();
    rig.meter().record().unwrap();
    let lent = "SELECT units FROM portolan.leases WHERE kind = 'day' AND service = 'gateway'";
    let lent = |server: &Postgres| -> u64 { server.sql("absence", lent).unwrap().parse().unwrap() };
    let stranger = {
        let dir = tempfile::tempdir().unwrap();
        let admin = Admin::open(dir.path(), rig.plans.clone(), Clock::system()).unwrap();
        admin.add_account("a", None, None).unwrap();
        admin.add_key("a", KeyOptions::default()).unwrap().key
    };
    for round in 1..=3_u64 {
        until("enough is lent", || lent(&server) >= rig.used().0 + 57);
        server.stop();
        until("it is missed", || !rig.meter().store_answers());
        for _ in 0..50 {
            rig.admit(1, 1).unwrap().refund(0);
        }
        // A refund of what is recorded already is taken back there too, later.
        rig.admit(7, 7).unwrap().refund(7);
        assert!(rig.meter().record().is_err());
        assert!(rig.meter().serves());
        let caller = rig.caller_of(stranger.reveal(), GATEWAY);
        assert_eq!(reason(caller), (Reason::StoreUnavailable, Some(5)));
        assert!(rig.admin.suspend("acme").is_err());
        server.start_again().unwrap();
        until("it is back", || rig.meter().store_answers());
        // The store is left alone for a moment after an error.
        rig.hands.advance(Duration::from_secs(1));
        let caller = rig.caller_of(stranger.reveal(), GATEWAY);
        assert_eq!(reason(caller), (Reason::InvalidApiKey, None));
        let used = 10 + 50 * round;
        until("recorded", || rig.meter().record().is_ok());
        assert_eq!(rig.used(), (used, used, used));
        let sum = server.sql("absence", "SELECT sum(units) FROM portolan.usage").unwrap();
        assert_eq!(sum, used.to_string());
    }
    rig.restart();
    assert_eq!(rig.used().0, 160);
    assert_eq!(rig.admit(1, 1).unwrap().remains().daily_remaining, Some(839));
    // It is the cap that ends it, to the unit.
    rig.admit(839, 839).unwrap();
    assert_eq!(reason(rig.admit(1, 1)).0, Reason::DailyQuota);
}

#[test]
fn machines_count_beside_each_other_and_a_copy_of_a_folder_does_not() {
    let server = Postgres::start().unwrap();
    let mut rig = rig(&server, "beside", PlanConfig { daily: Some(9), ..wide() });
    rig.admit(4, 4).unwrap();
    let open = |dir: &tempfile::TempDir| {
        let storage = storage(dir.path(), &rig.postgres);
        Meter::over(storage, &[GATEWAY], rig.plans.clone(), rig.clock.clone())
    };
    let copy = tempfile::tempdir().unwrap();
    let map = "usage-gateway.map";
    std::fs::copy(rig.dir.path().join(map), copy.path().join(map)).unwrap();
    let refused = open(&copy).unwrap_err();
    assert!(matches!(refused, OpenError::Store(StoreError::Counted { .. })), "{refused}");
    let text = refused.to_string();
    assert!(text.contains("gateway is counted for this store by portolan"), "{text}");
    // Another machine gets what is left.
    let dir = tempfile::tempdir().unwrap();
    let other = open(&dir).unwrap();
    let caller = block_on(other.caller(Some(&rig.key), GATEWAY, HOME, None)).unwrap();
    until("the rest is returned", || {
        rig.hands.advance(Duration::from_millis(1));
        block_on(other.admit(&caller, btc(), 4, 4)).is_ok()
    });
    drop(other);
    // And back: rows of both machines are summed.
    until("nothing is lent elsewhere", || rig.admit(1, 1).is_ok());
    rig.restart();
    assert_eq!(reason(rig.admit(1, 1)).0, Reason::DailyQuota);
    assert_eq!(rig.used().0, 9);
    let replicas = "SELECT count(DISTINCT replica) FROM portolan.usage WHERE service = 'gateway'";
    assert_eq!(server.sql("beside", replicas).unwrap(), "2");
}

#[test]
fn a_store_is_copied_there_and_back_and_counting_goes_on() {
    let server = Postgres::start().unwrap();
    let address = database(&server, "copies");
    let mut rig = Rig::new(PlanConfig { daily: Some(50_000), ..wide() }, NOON);
    // More rows than are copied at once, of hours, keys and chains.
    for key in 0..60 {
        let options = KeyOptions { label: Some(format!("№ {key}")), ..KeyOptions::default() };
        let key = rig.admin.add_key("acme", options).unwrap();
        for hour in 0..8 {
            rig.hands.set_utc(utc(NOON) + hour * 3600);
            let caller = rig.caller_of(key.key.reveal(), GATEWAY).unwrap();
            for chain in chain::ALL {
                at_once(rig.meter().admit(&caller, chain, 1, 2)).unwrap();
            }
        }
    }
    rig.admin.revoke("key_5").unwrap();
    rig.admin.add_account("№ 2", Some("none"), Some("Pro")).unwrap();
    let used = rig.used();
    assert_eq!(used.0, 60 * 8 * 9 * 2);
    let folder = || Storage::embedded(rig.dir.path()).unwrap();
    let shared = |dir: &std::path::Path| Storage::postgres(dir, address.clone()).unwrap();
    // A server runs on it.
    let running = copy(&folder(), &shared(rig.dir.path()), &rig.clock).unwrap_err();
    assert!(matches!(running, CopyError::Open(OpenError::Locked { .. })), "{running}");
    // Ended without a word: the last rows are in the usage file alone.
    std::mem::forget(rig.meter.take());
    let map = rig.dir.path().join("usage-gateway.map");
    let home = tempfile::tempdir().unwrap();
    for file in
        ["portolan.sqlite", "portolan.sqlite-wal", "usage-gateway.map", "usage-explorer.map"]
    {
        std::fs::copy(rig.dir.path().join(file), home.path().join(file)).unwrap();
    }
    assert!(map.exists());
    let from = Storage::embedded(home.path()).unwrap();
    let copied = copy(&from, &shared(home.path()), &rig.clock).unwrap();
    assert_eq!((copied.accounts, copied.keys), (2, 61));
    assert_eq!((copied.usage_rows, copied.gateway_units), (60 * 8 * 9, used.0));
    assert_eq!(copied.explorer_units, 0);
    drop(from);
    let again = copy(&Storage::embedded(home.path()).unwrap(), &shared(home.path()), &rig.clock);
    assert!(matches!(again.unwrap_err(), CopyError::Store(StoreError::NotEmpty)));

    // The same folder counts on for the copy, and every sum is what it was.
    let admin = Admin::over(shared(home.path()), rig.plans.clone(), rig.clock.clone());
    assert_eq!(admin.usage("acme", None).unwrap(), rig.admin.usage("acme", None).unwrap());
    assert_eq!(admin.list_keys("acme").unwrap(), rig.admin.list_keys("acme").unwrap());
    let meter =
        Meter::over(shared(home.path()), &Service::ALL, rig.plans.clone(), rig.clock.clone());
    let meter = meter.unwrap();
    let caller = block_on(meter.caller(Some(&rig.key), GATEWAY, HOME, None)).unwrap();
    block_on(meter.admit(&caller, btc(), 5, 5)).unwrap();
    assert_eq!(admin.add_account("three", None, None).unwrap().id, "acc_3");
    let serving = copy(&shared(home.path()), &folder(), &rig.clock).unwrap_err();
    assert!(matches!(serving, CopyError::Open(OpenError::Locked { .. })), "{serving}");
    drop(meter);

    let back = tempfile::tempdir().unwrap();
    let to = Storage::embedded(back.path()).unwrap();
    let copied = copy(&shared(home.path()), &to, &rig.clock).unwrap();
    assert_eq!((copied.accounts, copied.gateway_units), (3, used.0 + 5));
    drop(to);
    let returned = Admin::open(back.path(), rig.plans.clone(), rig.clock.clone()).unwrap();
    assert_eq!(returned.usage("acme", None).unwrap(), admin.usage("acme", None).unwrap());
    assert_eq!(returned.add_account("four", None, None).unwrap().id, "acc_4");
    let meter =
        Meter::open(back.path(), &Service::ALL, rig.plans.clone(), rig.clock.clone()).unwrap();
    let caller = block_on(meter.caller(Some(&rig.key), GATEWAY, HOME, None)).unwrap();
    let left = 50_000 - (60 * 8 * 9 * 2 + 5) - 1;
    let permit = block_on(meter.admit(&caller, btc(), 1, 1)).unwrap();
    assert_eq!(permit.remains().daily_remaining, Some(left));
}

#[test]
fn a_copy_that_fails_leaves_the_target_empty() {
    let server = Postgres::start().unwrap();
    let address = database(&server, "failing");
    let rig = {
        let mut rig = Rig::new(wide(), NOON);
        rig.admit(1, 1).unwrap();
        rig.meter = None;
        rig
    };
    let from = Storage::embedded(rig.dir.path()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let to = Storage::postgres(dir.path(), address).unwrap();
    let refuse = "ALTER TABLE portolan.usage ADD CHECK (units > 1)";
    server.sql("failing", refuse).unwrap();
    let failed = copy(&from, &to, &rig.clock).unwrap_err().to_string();
    assert!(failed.contains("constraint"), "{failed}");
    let count = "SELECT count(*) FROM portolan.accounts";
    assert_eq!(server.sql("failing", count).unwrap(), "0");
    let lift = "ALTER TABLE portolan.usage DROP CONSTRAINT usage_units_check";
    server.sql("failing", lift).unwrap();
    assert_eq!(copy(&from, &to, &rig.clock).unwrap().gateway_units, 1);
}
