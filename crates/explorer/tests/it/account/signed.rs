//! Recorded transactions as they were signed, to be sent to another node of the same chain.

use serde_json::Value;

/// The bytes that a node takes; none of a type that needs more than stands in a block.
pub fn raw(tx: &Value) -> Option<String> {
    let fields =
        |names: &[&str]| -> Vec<Vec<u8>> { names.iter().map(|name| field(tx, name)).collect() };
    const LEGACY: [&str; 6] = ["nonce", "gasPrice", "gas", "to", "value", "input"];
    const DYNAMIC: [&str; 8] =
        ["chainId", "nonce", "maxPriorityFeePerGas", "maxFeePerGas", "gas", "to", "value", "input"];
    let (kind, mut items) = match tx["type"].as_str()? {
        "0x0" => (None, fields(&LEGACY)),
        "0x1" => (Some(1), [fields(&["chainId"]), fields(&LEGACY)].concat()),
        "0x2" => (Some(2), fields(&DYNAMIC)),
        "0x4" => (Some(4), fields(&DYNAMIC)),
        _ => return None,
    };
    if kind.is_some() {
        items.push(list(&listed(&tx["accessList"], |access| {
            let keys = listed(&access["storageKeys"], |key| bytes(&decoded(key)));
            list(&[bytes(&decoded(&access["address"])), list(&keys)])
        })));
    }
    if kind == Some(4) {
        items.push(list(&listed(&tx["authorizationList"], |it| {
            let names = ["chainId", "address", "nonce", "yParity", "r", "s"];
            list(&names.map(|name| field(it, name)))
        })));
    }
    items.extend(["v", "r", "s"].map(|name| field(tx, name)));
    let mut out: Vec<u8> = kind.into_iter().collect();
    out.extend(list(&items));
    Some(const_hex::encode_prefixed(out))
}

fn listed(value: &Value, item: impl Fn(&Value) -> Vec<u8>) -> Vec<Vec<u8>> {
    value.as_array().into_iter().flatten().map(item).collect()
}

/// A member: numbers without zeros before them, everything else as it is.
fn field(of: &Value, name: &str) -> Vec<u8> {
    let held = decoded(&of[name]);
    match name {
        "to" | "input" | "address" => bytes(&held),
        _ => bytes(&held[held.iter().take_while(|byte| **byte == 0).count()..]),
    }
}

fn decoded(value: &Value) -> Vec<u8> {
    let digits = value.as_str().unwrap_or("0x").trim_start_matches("0x");
    let even = if digits.len().is_multiple_of(2) { "" } else { "0" };
    const_hex::decode(format!("{even}{digits}")).unwrap()
}

pub fn bytes(held: &[u8]) -> Vec<u8> {
    match held {
        [byte] if *byte < 0x80 => vec![*byte],
        _ => headed(0x80, held),
    }
}

pub fn list(items: &[Vec<u8>]) -> Vec<u8> {
    headed(0xc0, &items.concat())
}

fn headed(first: u8, held: &[u8]) -> Vec<u8> {
    let length = (held.len() as u64).to_be_bytes();
    let length = &length[length.iter().take_while(|byte| **byte == 0).count()..];
    let head = match held.len() {
        short @ ..56 => vec![first + short as u8],
        _ => [&[first + 55 + length.len() as u8], length].concat(),
    };
    [&head, held].concat()
}

/// The hash of what is sent is that which the node gave it.
#[test]
fn recorded_transactions_are_as_they_were_signed() {
    let chain = testkit::AccountChain::recorded(replay::Take::Main);
    let mut types = std::collections::BTreeSet::new();
    for tx in chain.blocks.iter().flat_map(|block| block.body["transactions"].as_array().unwrap()) {
        let Some(raw) = raw(tx) else { continue };
        let hash = chain::account::keccak256(&const_hex::decode(&raw).unwrap());
        assert_eq!(tx["hash"], const_hex::encode_prefixed(hash), "{tx}");
        types.insert(tx["type"].as_str().unwrap().to_owned());
    }
    assert_eq!(types.len(), 4);
}
