//! B1, B10, B12, B16, B19: which keys are taken, from whom, for what.

use std::time::Duration;

use meter::{KeyOptions, PlanConfig, Plans, Reason, Scopes, Utc};

use crate::rig::*;

const NOON: &str = "2026-11-28T12:00:00Z";

/// A key of the right form that no store has.
fn unknown() -> String {
    let dir = tempfile::tempdir().unwrap();
    let admin = meter::Admin::open(dir.path(), Plans::default(), meter::Clock::system()).unwrap();
    admin.add_account("a", None, None).unwrap();
    admin.add_key("a", KeyOptions::default()).unwrap().key.reveal().to_owned()
}

#[test]
fn missing_malformed_and_unknown_keys_are_told_apart() {
    let rig = Rig::new(wide(), NOON);
    let missing = block_on(rig.meter().caller(None, GATEWAY, HOME, None));
    assert_eq!(reason(missing), (Reason::MissingApiKey, None));
    let typo = rig.key.replace("ptl_", "ptl-");
    for odd in ["", "?", "ptl_", &typo, &rig.key[1..], &unknown()] {
        assert_eq!(reason(rig.caller_of(odd, GATEWAY)), (Reason::InvalidApiKey, None));
    }
    assert_eq!(rig.caller().account_id(), 1);
    assert_eq!(rig.caller().key_id(), 1);
}

#[test]
fn forged_keys_from_many_addresses_are_all_told_so() {
    let rig = Rig::new(wide(), NOON);
    let (key, meter) = (unknown(), rig.meter());
    let together = std::sync::Barrier::new(64);
    std::thread::scope(|scope| {
        for number in 0..64_u8 {
            let (key, together) = (&key, &together);
            scope.spawn(move || {
                together.wait();
                for _ in 0..10 {
                    let client = std::net::IpAddr::from([10, 0, 0, number]);
                    let denied = block_on(meter.caller(Some(key), GATEWAY, client, None));
                    assert_eq!(reason(denied), (Reason::InvalidApiKey, None));
                }
            });
        }
    });
}

#[test]
fn twenty_invalid_keys_throttle_the_next_ones_on_both_services_but_no_valid_key() {
    let rig = Rig::new(wide(), NOON);
    for round in 0..20 {
        let service = [GATEWAY, EXPLORER][round % 2];
        assert_eq!(reason(rig.caller_of("ptl_nonsense", service)).0, Reason::InvalidApiKey);
        // A missing key does not count.
        let missing = block_on(rig.meter().caller(None, service, HOME, None));
        assert_eq!(reason(missing).0, Reason::MissingApiKey);
    }
    rig.hands.advance(Duration::from_secs(15));
    for key in ["ptl_nonsense", &unknown()] {
        let denied = reason(rig.caller_of(key, EXPLORER));
        assert_eq!(denied, (Reason::TooManyInvalidKeys, Some(45)));
    }
    rig.caller_of(&rig.key, EXPLORER).unwrap();
    let elsewhere =
        block_on(rig.meter().caller(Some("x"), GATEWAY, "10.0.0.7".parse().unwrap(), None));
    assert_eq!(reason(elsewhere).0, Reason::InvalidApiKey);
    rig.hands.advance(Duration::from_secs(45));
    assert_eq!(reason(rig.caller_of("ptl_nonsense", GATEWAY)).0, Reason::InvalidApiKey);
}

#[test]
fn a_scope_miss_is_an_invalid_key_that_does_not_count() {
    let scopes = Scopes {
        networks: vec!["10.0.0.0/8".parse().unwrap()],
        origins: vec!["https://app.example".into()],
        ..Scopes::default()
    };
    let rig = Rig::with(wide(), NOON, KeyOptions { scopes, ..KeyOptions::default() });
    let page = Some("https://app.example");
    let from = |client: &str, origin| {
        let client = client.parse().unwrap();
        block_on(rig.meter().caller(Some(&rig.key), GATEWAY, client, origin))
    };
    for _ in 0..50 {
        assert_eq!(reason(from("127.0.0.1", page)), (Reason::InvalidApiKey, None));
        assert_eq!(reason(from("10.0.0.1", None)), (Reason::InvalidApiKey, None));
    }
    assert_eq!(reason(rig.caller_of("ptl_nonsense", GATEWAY)).0, Reason::InvalidApiKey);
    from("10.0.0.1", page).unwrap();
    // Who may not present it learns nothing of its state.
    rig.admin.revoke("key_1").unwrap();
    assert_eq!(reason(from("127.0.0.1", page)).0, Reason::InvalidApiKey);
    assert_eq!(reason(from("10.0.0.1", page)), (Reason::KeyRevoked, None));
}

#[test]
fn chains_and_methods_outside_the_scope_are_refused() {
    let scopes = Scopes {
        chains: vec!["btc".into(), "xmr".into()],
        methods: vec!["getblockcount".into()],
        ..Scopes::default()
    };
    let lab = PlanConfig { chains: Some(vec!["btc".into(), "eth".into()]), ..wide() };
    let rig = Rig::with(lab, NOON, KeyOptions { scopes, ..KeyOptions::default() });
    let caller = rig.caller();
    caller.may_use(btc()).unwrap();
    for slug in ["xmr", "eth", "doge"] {
        let chain = chain::find(slug).unwrap();
        assert_eq!(reason(caller.may_use(chain)), (Reason::ChainNotInPlan, None));
        // Also where the caller forgot to ask.
        assert_eq!(
            reason(at_once(rig.meter().admit(&caller, chain, 1, 1))).0,
            Reason::ChainNotInPlan
        );
    }
    caller.may_call("getblockcount").unwrap();
    assert_eq!(reason(caller.may_call("getblock")), (Reason::MethodNotAllowed, None));
    assert_eq!(rig.used(), (0, 0, 0));
}

#[test]
fn a_key_ends_at_its_time() {
    let end = Some(Utc::from_secs(utc(NOON) + 60));
    let rig = Rig::with(wide(), NOON, KeyOptions { expires_at: end, ..KeyOptions::default() });
    rig.hands.advance(Duration::from_secs(59));
    rig.caller();
    rig.hands.advance(Duration::from_secs(1));
    assert_eq!(reason(rig.caller_of(&rig.key, GATEWAY)), (Reason::KeyRevoked, None));
}

#[test]
fn a_rotated_key_works_beside_its_successor_for_the_overlap() {
    let rig = Rig::new(wide(), NOON);
    let new = rig.admin.rotate("key_1", Duration::from_secs(300)).unwrap();
    rig.caller_of(new.key.reveal(), GATEWAY).unwrap();
    rig.caller();
    rig.hands.advance(Duration::from_secs(300));
    assert_eq!(reason(rig.caller_of(&rig.key, GATEWAY)).0, Reason::KeyRevoked);
    rig.caller_of(new.key.reveal(), GATEWAY).unwrap();
}

#[test]
fn an_account_without_a_plan_or_with_a_retired_one_is_refused_by_service() {
    let rig = Rig::new(wide(), NOON);
    let check = || {
        let gateway = rig.caller_of(&rig.key, GATEWAY);
        assert_eq!(reason(gateway), (Reason::PlanUnavailable, None));
        let explorer = rig.caller_of(&rig.key, EXPLORER).unwrap();
        assert_eq!(reason(explorer.may_use(btc())), (Reason::ChainNotInPlan, None));
        assert_eq!(
            reason(at_once(rig.meter().admit(&explorer, btc(), 1, 1))).0,
            Reason::ChainNotInPlan
        );
    };
    // Retired: the configuration names it no more.
    rig.meter().set_plans(Plans::default());
    check();
    rig.meter().set_plans(rig.plans.clone());
    rig.caller();
    rig.admin.set_plans("acme", Some("none"), Some("NONE")).unwrap();
    check();
    rig.admin.set_plans("acme", Some("LAB"), Some("free")).unwrap();
    assert_eq!(rig.caller().plan().name, "lab");
    assert_eq!(rig.caller_of(&rig.key, EXPLORER).unwrap().plan().name, "Free");
}

#[test]
fn a_changed_plan_counts_for_the_next_request() {
    let rig = Rig::new(PlanConfig { daily: Some(5), ..wide() }, NOON);
    rig.admit(5, 5).unwrap();
    assert_eq!(reason(rig.admit(1, 1)).0, Reason::DailyQuota);
    rig.meter().set_plans(plans(PlanConfig { daily: Some(7), ..wide() }));
    assert_eq!(rig.admit(1, 1).unwrap().remains().daily_remaining, Some(1));
    rig.meter().set_plans(plans(PlanConfig { daily: Some(3), ..wide() }));
    assert_eq!(reason(rig.admit(1, 1)).0, Reason::DailyQuota);
    assert_eq!(rig.admit(1, 0).unwrap().remains().daily_remaining, Some(0));
    rig.meter().set_plans(plans(wide()));
    assert_eq!(rig.admit(1, 1).unwrap().remains().daily_remaining, None);
}

#[test]
fn no_debug_output_holds_a_key() {
    let rig = Rig::new(wide(), NOON);
    let caller = rig.caller();
    let permit = at_once(rig.meter().admit(&caller, btc(), 1, 1)).unwrap();
    let shown = format!("{:?} {caller:?} {permit:?} {:?}", rig.meter(), rig.admin);
    assert!(!shown.contains(&rig.key[4..]), "{shown}");
    assert!(!shown.contains("digest"), "{shown}");
}
