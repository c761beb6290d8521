//! What it costs to say which outputs of a transaction belong to an address, and to read and hash a
//! transaction: recorded ones with 2 and with 16 outputs.

use std::hint::black_box;

use chain::AddressParams;
use chain::ring::check::{KeyKind, SecretKey, check};
use chain::ring::{Address, Transaction};
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::Value;

/// A recorded transaction with a case that finds outputs in it.
struct Asked {
    name: String,
    raw: Vec<u8>,
    address: Address,
    kind: KeyKind,
    key: SecretKey,
}

fn file(name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../replay/recordings/xmr/");
    let text = std::fs::read(format!("{folder}{name}")).expect("the recording's file");
    serde_json::from_slice(&text).expect("JSON")
}

/// The whole transaction of this hash as the recorded node gave it.
fn raw(hash: &str) -> Vec<u8> {
    let lines = replay::recorded("xmr").expect("the recording");
    let answers = lines.filter(|line| line.path() == "/get_transactions");
    let parsed = answers.filter_map(|line| serde_json::from_slice::<Value>(&line.result()?).ok());
    let all = parsed.filter_map(|answer| answer["txs"].as_array().cloned()).flatten();
    let mut of_hash = all.filter(|one| one["tx_hash"] == hash && one["as_hex"] != "");
    let found = of_hash.next().expect("the transaction");
    const_hex::decode(found["as_hex"].as_str().expect("hex")).expect("hex")
}

fn asked(cases: &Value, label: &str, kind: KeyKind) -> Asked {
    let mut cases = cases.as_array().expect("a list").iter();
    let case = cases
        .find(|case| {
            case["case"].as_str().is_some_and(|name| name.starts_with(label))
                && case["kind"] == kind.as_str()
                && case["expect"].as_array().is_some_and(|found| !found.is_empty())
        })
        .expect("a case that finds something");
    let text = |name: &str| case[name].as_str().expect("a text");
    let chain = chain::find("xmr").expect("a chain");
    let AddressParams::Monero(network) = &chain.networks[0].addresses else {
        panic!("xmr has addresses of its own")
    };
    Asked {
        name: format!("{}, {label}", kind.as_str()),
        raw: raw(text("tx_hash")),
        address: Address::parse(text("address"), network).expect("an address"),
        kind,
        key: SecretKey::parse(text("key")).expect("a key"),
    }
}

fn benches(criterion: &mut Criterion) {
    let cases = &file("check.json")["cases"];
    // Two outputs; sixteen with a key of their own each.
    for label in ["priority4", "fifteen_dests"] {
        for kind in [KeyKind::View, KeyKind::Transaction] {
            let Asked { name, raw, address, kind, key } = asked(cases, label, kind);
            let transaction = Transaction::decode(&raw).expect("a transaction");
            let outputs = transaction.outputs.len();
            criterion.bench_function(&format!("check, {outputs} outputs, {name}"), |bencher| {
                bencher.iter(|| black_box(check(black_box(&transaction), &address, kind, &key)));
            });
            if kind == KeyKind::View {
                criterion.bench_function(
                    &format!("decode and hash, {outputs} outputs"),
                    |bencher| {
                        bencher.iter(|| {
                            let transaction = Transaction::decode(black_box(&raw));
                            black_box(transaction.expect("a transaction").hash())
                        });
                    },
                );
            }
        }
    }
}

criterion_group!(rings, benches);
criterion_main!(rings);
