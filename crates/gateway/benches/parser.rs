//! Reading a request body: the gateway's own scanner against serde_json with borrowed raw values.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: &'a RawValue,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// The baseline: it takes the same four members, but does not see duplicates in other spellings,
/// tell null from absent, or bound the depth.
fn serde_calls(text: &[u8]) -> usize {
    let seen = |call: &Call<'_>| {
        black_box((call.jsonrpc, call.id, call.method, call.params));
    };
    if text[0] == b'[' {
        let calls: Vec<Call<'_>> = serde_json::from_slice(text).unwrap();
        calls.iter().for_each(seen);
        calls.len()
    } else {
        seen(&serde_json::from_slice(text).unwrap());
        1
    }
}

fn parser(criterion: &mut Criterion) {
    let call = r#"{"jsonrpc":"1.0","id":"a1b2","method":"getblockheader","params":["00ff",true]}"#;
    let long = |bytes: usize| {
        format!(r#"{{"id":1,"method":"sendrawtransaction","params":["{}"]}}"#, "0".repeat(bytes))
    };
    let bodies = [
        ("one call", call.to_owned(), 1),
        ("2 kB", long(2000), 1),
        ("batch of 20", format!("[{}]", [call; 20].join(",")), 20),
        ("1 MB", long(1_000_000), 1),
    ];
    for (name, body, calls) in bodies {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(body.len() as u64));
        assert_eq!(
            (gateway::bench::calls(body.as_bytes()), serde_calls(body.as_bytes())),
            (Some(calls), calls)
        );
        group.bench_function("gateway", |b| {
            b.iter(|| gateway::bench::calls(black_box(body.as_bytes())))
        });
        group.bench_function("serde_json", |b| b.iter(|| serde_calls(black_box(body.as_bytes()))));
        group.finish();
    }
}

/// What it costs to watch an answer to its end while it is relayed, by what it is made of.
fn outline(criterion: &mut Criterion) {
    let transaction = format!(
        r#"{{"txid":"{0}","hash":"{0}","version":2,"size":225,"vsize":144,"locktime":0,"vin":[{{"txid":"{0}","vout":1,"scriptSig":{{"asm":"","hex":""}},"sequence":4294967295}}],"vout":[{{"value":0.01234567,"n":0,"scriptPubKey":{{"asm":"0 {0}","type":"witness_v0_keyhash"}}}}]}}"#,
        "9f".repeat(32)
    );
    let bodies = [
        ("raw block", format!(r#"{{"result":"{}","error":null,"id":1}}"#, "0f".repeat(1 << 20))),
        (
            "block in detail",
            format!(
                r#"{{"result":{{"tx":[{}]}},"error":null,"id":1}}"#,
                vec![transaction; 3000].join(",")
            ),
        ),
        ("numbers", format!(r#"{{"result":[{}],"id":1}}"#, vec!["12345"; 300_000].join(","))),
    ];
    for (name, body) in bodies {
        let mut group = criterion.benchmark_group(format!("answer watched: {name}"));
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function("outline", |b| {
            b.iter(|| {
                assert!(gateway::bench::is_whole(black_box(body.as_bytes()).chunks(16 << 10)))
            })
        });
    }
}

criterion_group!(benches, parser, outline);
criterion_main!(benches);
