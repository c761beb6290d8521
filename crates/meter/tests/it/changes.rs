//! B12, and the locks of a store: what a command changes is in force in every process.

use std::thread;
use std::time::{Duration, Instant};

use meter::{Admin, Clock, KeyOptions, Meter, OpenError, PlanConfig, Reason, Service};

use crate::rig::*;

const NOON: &str = "2026-11-28T12:00:00Z";

#[test]
fn every_change_is_in_force_when_the_command_returns() {
    let rig = Rig::new(PlanConfig { daily: Some(5), ..wide() }, NOON);
    rig.admin.suspend("acme").unwrap();
    assert_eq!(reason(rig.caller_of(&rig.key, GATEWAY)), (Reason::AccountSuspended, None));
    rig.admin.resume("acme").unwrap();
    rig.caller();
    rig.admin.set_cap("key_1", Some(2)).unwrap();
    assert_eq!(reason(rig.admit(3, 3)).0, Reason::KeyDailyQuota);
    rig.admin.set_cap("key_1", None).unwrap();
    rig.admit(3, 3).unwrap();
    rig.admin.add_account("new", Some("lab"), None).unwrap();
    let key = rig.admin.add_key("new", KeyOptions::default()).unwrap().key;
    assert_eq!(rig.caller_of(key.reveal(), GATEWAY).unwrap().account_id(), 2);
    rig.admin.revoke("key_2").unwrap();
    assert_eq!(reason(rig.caller_of(key.reveal(), GATEWAY)), (Reason::KeyRevoked, None));
    // What was counted stays with the account through all of it.
    assert_eq!(rig.admit(2, 2).unwrap().remains().daily_remaining, Some(0));
}

/// A command that is killed between its change and telling of it: it raises a word that nobody
/// reads, as the meter has the removed file mapped.
fn change_without_telling(rig: &Rig, change: impl FnOnce(&Admin)) {
    std::fs::remove_file(rig.dir.path().join("epoch")).unwrap();
    change(&Admin::open(rig.dir.path(), rig.plans.clone(), rig.clock.clone()).unwrap());
}

#[test]
fn a_change_that_nobody_told_of_is_found_within_a_second_and_a_new_key_at_once() {
    let rig = Rig::new(wide(), NOON);
    let mut new = None;
    change_without_telling(&rig, |admin| {
        new = Some(admin.add_key("acme", KeyOptions::default()).unwrap().key);
        admin.suspend("acme").unwrap();
        admin.resume("acme").unwrap();
        admin.revoke("key_1").unwrap();
    });
    rig.caller_of(new.unwrap().reveal(), GATEWAY).unwrap();
    let started = Instant::now();
    while rig.caller_of(&rig.key, GATEWAY).is_ok() {
        assert!(started.elapsed() < Duration::from_secs(20), "never found");
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(reason(rig.caller_of(&rig.key, GATEWAY)).0, Reason::KeyRevoked);
}

#[test]
fn many_requests_wait_for_one_reading_and_all_see_the_change() {
    let rig = Rig::new(wide(), NOON);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    for round in 1..20 {
        let key = rig.admin.add_key("acme", KeyOptions::default()).unwrap().key;
        let calls: Vec<_> = (0..50)
            .map(|_| {
                let (meter, key) = (rig.meter().clone(), key.clone());
                runtime.spawn(async move {
                    let caller = meter.caller(Some(key.reveal()), GATEWAY, HOME, None).await;
                    caller.map(|caller| caller.key_id())
                })
            })
            .collect();
        for call in calls {
            assert_eq!(runtime.block_on(call).unwrap(), Ok(round + 1));
        }
    }
}

#[test]
fn a_service_is_served_once_and_commands_need_no_lock() {
    let rig = Rig::new(wide(), NOON);
    let again = |services: &[Service]| {
        Meter::open(rig.dir.path(), services, rig.plans.clone(), rig.clock.clone())
    };
    for service in Service::ALL {
        let error = again(&[service]).unwrap_err();
        assert!(matches!(error, OpenError::Locked { .. }));
        let text = error.to_string();
        assert!(text.contains(service.as_str()), "{text}");
        assert!(text.contains(&format!("process {}", std::process::id())), "{text}");
    }
    let admin = Admin::open(rig.dir.path(), rig.plans.clone(), Clock::system()).unwrap();
    assert_eq!(admin.list_accounts().unwrap().len(), 1);
}

#[test]
fn services_of_one_store_run_in_processes_of_their_own() {
    let mut rig = Rig::new(PlanConfig { daily: Some(9), ..wide() }, NOON);
    rig.meter = None;
    let one = |service| {
        Meter::open(rig.dir.path(), &[service], rig.plans.clone(), rig.clock.clone()).unwrap()
    };
    let (gateway, explorer) = (one(GATEWAY), one(EXPLORER));
    let caller =
        |meter: &Meter, service| block_on(meter.caller(Some(&rig.key), service, HOME, None));
    let by_gateway = caller(&gateway, GATEWAY).unwrap();
    let by_explorer = caller(&explorer, EXPLORER).unwrap();
    at_once(gateway.admit(&by_gateway, btc(), 3, 3)).unwrap();
    at_once(explorer.admit(&by_explorer, btc(), 4, 4)).unwrap();
    // Not this process's service.
    assert_eq!(reason(caller(&gateway, EXPLORER)), (Reason::StoreUnavailable, Some(5)));
    let usage = rig.admin.usage("acme", None).unwrap();
    assert_eq!((usage.gateway.today, usage.explorer.today), (3, 4));
    rig.admin.revoke("key_1").unwrap();
    assert_eq!(reason(caller(&gateway, GATEWAY)).0, Reason::KeyRevoked);
    assert_eq!(reason(caller(&explorer, EXPLORER)).0, Reason::KeyRevoked);
}

#[test]
fn a_store_that_cannot_be_read_refuses_what_it_would_have_to_say() {
    let rig = Rig::new(wide(), NOON);
    rig.caller();
    let database = rig.dir.path().join("portolan.sqlite");
    // A new key, told of, in a database that is damaged by then.
    rig.admin.add_key("acme", KeyOptions::default()).unwrap();
    let length = std::fs::metadata(&database).unwrap().len();
    std::fs::write(rig.dir.path().join("portolan.sqlite-wal"), b"").unwrap();
    std::fs::write(&database, vec![0x55; length as usize]).unwrap();
    assert_eq!(reason(rig.caller_of(&rig.key, GATEWAY)), (Reason::StoreUnavailable, Some(5)));
    assert!(!rig.meter().store_answers());
    assert!(rig.admin.list_accounts().is_err());
}
