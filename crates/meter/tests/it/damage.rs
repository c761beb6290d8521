//! A store whose file was damaged: a paying key is served or told to come back, never refused.

use std::fs;
use std::path::Path;

use meter::{Admin, Clock, KeyOptions, Meter, Plans, Reason, Scopes, Service};

use crate::rig::*;

const NOON: u64 = 1_795_867_200;
const PAGE: usize = 4096;

/// A store with a page or two of keys, closed, and its keys.
fn store(dir: &Path) -> Vec<String> {
    let (clock, _hands) = Clock::test(NOON);
    let admin = Admin::open(dir, Plans::default(), clock).unwrap();
    let scopes = Scopes { chains: vec!["btc".into()], ..Scopes::default() };
    for account in 0..10 {
        admin.add_account(&format!("account {account}"), Some("Pro"), None).unwrap();
    }
    let add = |number: usize| {
        let options = KeyOptions { scopes: scopes.clone(), ..KeyOptions::default() };
        let key = admin.add_key(&format!("account {}", number % 10), options).unwrap();
        key.key.reveal().to_owned()
    };
    (0..60).map(add).collect()
}

/// What becomes of each key when the file is that; None where the store does not open.
fn denials(bytes: &[u8], keys: &[String]) -> Option<Vec<Reason>> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("portolan.sqlite"), bytes).unwrap();
    let (clock, _hands) = Clock::test(NOON);
    let meter = Meter::open(dir.path(), &[Service::Gateway], Plans::default(), clock).ok()?;
    let denied = |key: &String| {
        let caller = block_on(meter.caller(Some(key), GATEWAY, HOME, None));
        caller.and_then(|caller| caller.may_use(btc())).err().map(|denial| denial.reason)
    };
    Some(keys.iter().filter_map(denied).collect())
}

#[test]
fn damage_of_the_database_never_makes_a_paying_key_an_unknown_one() {
    let dir = tempfile::tempdir().unwrap();
    let keys = store(dir.path());
    let whole = fs::read(dir.path().join("portolan.sqlite")).unwrap();
    assert_eq!(denials(&whole, &keys), Some(Vec::new()));
    let (mut opened, mut busy) = (0, 0);
    let mut check = |bytes: &[u8], what: &str| {
        let Some(denials) = denials(bytes, &keys) else { return };
        opened += 1;
        busy += denials.len();
        let wrong = denials.iter().find(|reason| **reason != Reason::StoreUnavailable);
        assert_eq!(wrong, None, "{what}");
    };
    for page in 0..whole.len() / PAGE {
        for fill in [0, 0xff] {
            let mut bytes = whole.clone();
            bytes[page * PAGE..(page + 1) * PAGE].fill(fill);
            check(&bytes, &format!("page {page} of {fill}"));
        }
        // A flipped bit here and there, cell counts and cells among them.
        for place in [3, 4, 8, 9, 600, 1500, 2500, 3000, 3500, 3800, 4000, 4090] {
            let mut bytes = whole.clone();
            bytes[page * PAGE + place] ^= 0x10;
            check(&bytes, &format!("bit at {place} of page {page}"));
        }
    }
    assert!(opened > 20 && busy > 20, "{opened} opened, {busy} busy");
}
