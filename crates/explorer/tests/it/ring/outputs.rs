//! `outputs/check` over HTTP: every case of the recording, what is refused, and what is never told.

use replay::Phase;
use serde_json::{Value, json};

use crate::ring::rig::{Rig, body, file, items, node, refused, text, tip};

/// What a case expects, as an answer shows it.
fn matches(case: &Value) -> Value {
    let expected = items(&case["expect"]).iter().map(|one| {
        json!({"index": one["index"], "public_key": one["public_key"], "amount": one["amount"]})
    });
    json!(expected.collect::<Vec<_>>())
}

/// The sum of some matches.
fn total(matches: &Value) -> String {
    let amounts = items(matches).iter().map(|one| text(&one["amount"]).parse::<u128>().unwrap());
    amounts.sum::<u128>().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_recorded_case_finds_what_the_wallets_found() {
    let (_node, rig) = Rig::recorded(Phase::A).await;
    let (cases, mut found) = (file("check.json"), 0);
    for case in items(&cases["cases"]) {
        let (hash, kind) = (text(&case["tx_hash"]), text(&case["kind"]));
        let answer = rig.check(hash, text(&case["address"]), kind, text(&case["key"])).await;
        assert_eq!(answer.status, 200, "{}: {}", case["case"], answer.text());
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("etag"), None);
        assert!(answer.header("x-ratelimit-remaining").is_some());
        let shown = body(&answer);
        let transaction = rig.ok(&format!("tx/{hash}")).await;
        let matches = matches(case);
        let mut expected = json!({
            "tx_hash": hash, "kind": kind, "total": total(&matches), "matches": matches,
            "output_count": transaction["output_count"],
            "confirmations": transaction["confirmations"],
        });
        if let Some(height) = transaction.get("block_height") {
            expected["block_height"] = height.clone();
        }
        assert_eq!(shown, expected, "{}", case["case"]);
        found += items(&shown["matches"]).len();
        // Keys are read in either case, and no order of requests matters.
        let again = rig
            .check(
                &hash.to_uppercase(),
                text(&case["address"]),
                kind,
                &text(&case["key"]).to_uppercase(),
            )
            .await;
        assert_eq!(body(&again), expected);
    }
    assert!(found > 60, "{found}");
    for case in items(&cases["invalid"]) {
        let (hash, address) = (text(&case["tx_hash"]), text(&case["address"]));
        let answer = rig.check(hash, address, text(&case["kind"]), text(&case["key"])).await;
        let status = case["expect_http"].as_u64().unwrap() as u16;
        refused(&answer, status, text(&case["reason"]), &case["case"].to_string());
    }
}

/// A case that finds something.
fn a_case() -> (String, String, String) {
    let cases = file("check.json");
    let found = |case: &&Value| case["kind"] == "txkey" && !items(&case["expect"]).is_empty();
    let case = items(&cases["cases"]).iter().find(found).unwrap();
    let of = |name: &str| text(&case[name]).to_owned();
    (of("tx_hash"), of("address"), of("key"))
}

/// A digit of the text replaced.
fn with_other_digit(text: &str, place: usize) -> String {
    let other = if text.as_bytes()[place] == b'7' { '8' } else { '7' };
    format!("{}{other}{}", &text[..place], &text[place + 1..])
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_malformed_is_400_and_quotes_nothing() {
    let (_node, rig) = Rig::recorded(Phase::A).await;
    let (hash, address, key) = a_case();
    let path = format!("tx/{hash}/outputs/check");
    let good = json!({"address": address, "kind": "txkey", "key": key});
    let with = |name: &str, value: Value| {
        let mut bad = good.clone();
        bad[name] = value;
        bad.to_string()
    };
    let text = good.to_string();
    // The order of the group, and one above; a scalar has to be below it.
    let order = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";
    let order_and_one = "eed3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";
    let testnet = "9y12345678";
    let bad = [
        String::new(),
        "[]".into(),
        "null".into(),
        "{}".into(),
        "{".into(),
        text.replace('}', ""),
        format!("{text},"),
        with("key", json!(null)),
        with("key", json!(7)),
        with("key", json!(["7"])),
        with("key", json!("")),
        with("key", json!(order)),
        with("key", json!(order_and_one)),
        with("key", json!("f".repeat(64))),
        with("key", json!("0".repeat(64))),
        with("key", json!(key[1..])),
        with("key", json!(format!("{key}{key}"))),
        with("key", json!(format!(" {key}"))),
        with("key", json!(format!("0x{key}"))),
        with("kind", json!("spendkey")),
        with("kind", json!("TXKEY")),
        with("kind", json!(null)),
        with("address", json!(null)),
        with("address", json!("")),
        with("address", json!(testnet)),
        with("address", json!(with_other_digit(&address, 40))),
        with("address", json!(address[1..])),
        with("address", json!(format!("{address}1"))),
        with("address", json!("4".repeat(95))),
        with("address", json!("1".repeat(4000))),
        text.replace('}', &format!(r#","key":"{key}"}}"#)),
        text.replace('}', r#","kind":"txkey"}"#),
        format!("{text}{}", " ".repeat(4097 - text.len())),
        "x".repeat(100_000),
    ];
    for body in bad {
        let answer = rig.post(&path, body.as_bytes()).await;
        refused(&answer, 400, "BAD_REQUEST", &body);
        let told = answer.text();
        assert!(!told.contains(&key[4..16]) && !told.contains(&address[4..16]), "{told}");
    }
    for body in [&b"\xff\xfe"[..], b"{\"key\":\"\xff\"}", &[0; 64]] {
        refused(&rig.post(&path, body).await, 400, "BAD_REQUEST", "bytes");
    }
    // As long as it may be, with what is not known.
    let mut long = text.replace('}', r#","note":{"a":[1,null]}}"#);
    long.push_str(&" ".repeat(4096 - long.len()));
    assert_eq!(rig.post(&path, long.as_bytes()).await.status, 200);
    assert_eq!(items(&body(&rig.post(&path, text.as_bytes()).await)["matches"]).len(), 1);
    // A transaction that is not there comes behind what is malformed.
    let absent = format!("tx/{}/outputs/check", "1".repeat(64));
    refused(&rig.post(&absent, text.as_bytes()).await, 404, "NOT_FOUND", "absent");
    refused(&rig.post(&absent, b"{}").await, 400, "BAD_REQUEST", "absent and malformed");
    refused(&rig.post("tx/77/outputs/check", text.as_bytes()).await, 400, "BAD_REQUEST", "hash");
    // Other verbs and paths.
    rig.refused(&path, 404, "ENDPOINT_NOT_FOUND").await;
    refused(&rig.post("tx/77", text.as_bytes()).await, 404, "ENDPOINT_NOT_FOUND", "path");
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_of_other_networks_and_keys_that_are_no_points_are_refused() {
    let (_node, rig) = Rig::recorded(Phase::A).await;
    let (hash, address, key) = a_case();
    let main = network("regtest");
    let good = chain::ring::Address::parse(&address, main).unwrap();
    for network in ["testnet", "stagenet"].map(network) {
        let answer = rig.check(&hash, &good.encode(network), "txkey", &key).await;
        refused(&answer, 400, "BAD_REQUEST", "another network");
    }
    // y = 2 is on no point; p + 1 is a second way to write a point.
    let mut no_point = [0; 32];
    no_point[0] = 2;
    let mut second = [0xff; 32];
    (second[0], second[31]) = (0xee, 0x7f);
    for bad in [no_point, second].map(chain::ring::Key) {
        for bad in [
            chain::ring::Address { spend: bad, ..good },
            chain::ring::Address { view: bad, ..good },
        ] {
            let answer = rig.check(&hash, &bad.encode(main), "txkey", &key).await;
            refused(&answer, 400, "BAD_REQUEST", "no point");
        }
    }
    assert_eq!(rig.check(&hash, &good.encode(main), "txkey", &key).await.status, 200);
}

fn network(name: &str) -> &'static chain::MoneroAddresses {
    match &chain::find("xmr").unwrap().network(name).unwrap().addresses {
        chain::AddressParams::Monero(addresses) => addresses,
        other => panic!("{other:?}"),
    }
}

/// What fits nothing is an answer: 200 without matches.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_does_not_fit_finds_nothing() {
    let (_node, rig) = Rig::recorded(Phase::A).await;
    let (hash, address, key) = a_case();
    let one = format!("01{}", "0".repeat(62));
    for (kind, key) in [("viewkey", &key), ("txkey", &one), ("viewkey", &one)] {
        let shown = body(&rig.check(&hash, &address, kind, key).await);
        assert_eq!((&shown["matches"], &shown["total"]), (&json!([]), &json!("0")), "{kind}");
        assert_eq!(shown["kind"], kind);
    }
}

/// Work beyond the pool is refused, never piled up, and the rest goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_checks_is_bounded_and_passes() {
    let node = node(Phase::A).await;
    let rig = std::sync::Arc::new(Rig::start(node.url()).await);
    rig.in_sync_at(tip(Phase::A)).await;
    let (hash, address, key) = a_case();
    let mut flood = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let rig = std::sync::Arc::clone(&rig);
        let (hash, address, key) = (hash.clone(), address.clone(), key.clone());
        flood.spawn(async move { rig.check(&hash, &address, "txkey", &key).await.status });
    }
    for _ in 0..16 {
        assert_eq!(rig.get("block/7").await.status, 200, "what is in memory needs no place");
    }
    let statuses = flood.join_all().await;
    assert!(statuses.iter().all(|status| matches!(status, 200 | 429 | 503)), "{statuses:?}");
    assert!(statuses.contains(&200));
    assert_eq!(rig.check(&hash, &address, "txkey", &key).await.status, 200);
}
