//! Which outputs belong to an address, against the verdicts of wallets.

use std::collections::HashMap;

use chain::ring::check::{BadKey, KeyKind, SecretKey, check};
use chain::ring::{Address, AddressKind, BadAddress, Hash, Transaction};
use serde_json::{Value, json};

use crate::ring::{beside, network, public, whole_transactions};

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// The answer in the shape of the recorded verdicts, which must not depend on proofs being there.
fn answer(raw: &[u8], case: &Value) -> Vec<Value> {
    let address = Address::parse(text(&case["address"]), network()).unwrap();
    let kind = KeyKind::named(text(&case["kind"])).unwrap();
    let key = SecretKey::parse(text(&case["key"])).ok().unwrap();
    let whole = Transaction::decode(raw).unwrap();
    let pruned = Transaction::decode_pruned(whole.pruned()).unwrap();
    let found = check(&whole, &address, kind, &key);
    assert_eq!(found, check(&pruned, &address, kind, &key));
    let sum: u128 = found.matches.iter().map(|one| u128::from(one.amount.unwrap())).sum();
    assert_eq!(found.total, sum);
    let show = |one: &chain::ring::check::Match| {
        json!({
            "index": one.index,
            "public_key": one.public_key.to_string(),
            "amount": one.amount.unwrap().to_string(),
        })
    };
    found.matches.iter().map(show).collect()
}

fn verdict(expect: &Value) -> Vec<Value> {
    let shown = |one: &Value| {
        json!({
            "index": one["index"],
            "public_key": one["public_key"],
            "amount": one["amount"],
        })
    };
    expect.as_array().unwrap().iter().map(shown).collect()
}

#[test]
fn every_case_is_as_the_wallets_say() {
    let (file, raw) = (beside("check.json"), whole_transactions());
    let mut counts = [0; 2];
    for case in file["cases"].as_array().unwrap() {
        let hash: Hash = text(&case["tx_hash"]).parse().unwrap();
        let expected = verdict(&case["expect"]);
        assert_eq!(answer(&raw[&hash], case), expected, "{}", case["case"]);
        counts[usize::from(expected.is_empty())] += 1;
    }
    let [positive, negative] = counts;
    assert!(positive > 50 && negative > 50, "{counts:?}");
}

#[test]
fn addresses_of_the_wallets_are_read_and_come_back() {
    let file = beside("check.json");
    let mut kinds: HashMap<String, usize> = HashMap::new();
    for wallet in file["wallets"].as_object().unwrap().values() {
        let plain = wallet["addresses"].as_array().unwrap().iter().map(|one| &one["address"]);
        let integrated = wallet["integrated"].as_array().unwrap().iter();
        for one in plain.chain(integrated.clone().map(|one| &one["integrated_address"])) {
            let address = Address::parse(text(one), network()).unwrap();
            assert_eq!(address.encode(network()), text(one));
            *kinds.entry(address.kind.to_string()).or_default() += 1;
        }
        for one in integrated {
            let address = Address::parse(text(&one["integrated_address"]), network()).unwrap();
            let AddressKind::Integrated(id) = address.kind else { panic!("{one}") };
            assert_eq!(const_hex::encode(id), text(&one["payment_id"]));
        }
    }
    assert!(kinds["standard"] >= 4 && kinds["subaddress"] >= 10 && kinds["integrated"] >= 8);
}

#[test]
fn what_cannot_be_asked_with_is_refused() {
    let refused = |case: &Value| {
        let address = Address::parse(text(&case["address"]), network()).err();
        (address, SecretKey::parse(text(&case["key"])).err())
    };
    let file = beside("check.json");
    let by_name: HashMap<&str, _> = file["invalid"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| (text(&case["case"]), refused(case)))
        .collect();
    assert_eq!(by_name["key too short"], (None, Some(BadKey::Form)));
    assert_eq!(by_name["key not hex"], (None, Some(BadKey::Form)));
    assert_eq!(by_name["key zero"], (None, Some(BadKey::Range)));
    let (checksum, key) = by_name["address checksum"];
    assert!(matches!(checksum, Some(BadAddress::Checksum)) && key.is_none());
    // The others are about the transaction, not about address and key.
    assert_eq!(by_name["unknown tx"], (None, None));
    assert_eq!(by_name["malformed tx hash"], (None, None));
}

/// Amounts hidden with a mask, as the first kinds did, opened by a public key pair.
#[test]
fn amounts_of_the_first_kind_are_opened() {
    let public = public();
    let vectors = public["outputs_check"].as_array().unwrap();
    assert_eq!(vectors.len(), 1);
    for vector in vectors {
        let raw = const_hex::decode(text(&vector["pruned_hex"])).unwrap();
        let transaction = Transaction::decode_pruned(&raw).unwrap();
        assert_eq!(vector["rct_type"], transaction.rct_type().unwrap());
        let address = Address::parse(text(&vector["address"]), network()).unwrap();
        let key = SecretKey::parse(text(&vector["view_key"])).ok().unwrap();
        let found = check(&transaction, &address, KeyKind::View, &key);
        let shown: Vec<Value> = found
            .matches
            .iter()
            .map(|one| {
                json!({
                    "index": one.index,
                    "public_key": one.public_key.to_string(),
                    "amount": one.amount.unwrap().to_string(),
                })
            })
            .collect();
        assert_eq!(shown, verdict(&vector["expect"]));
        assert_eq!(found.total, 20_000);
    }
}
