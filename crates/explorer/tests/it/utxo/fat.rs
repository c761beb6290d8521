//! Answers that are large: what is shown of them, and what they may take from others (decision
//! E17).

use std::io::Read;

use explorer::Settings;
use listen::Counted;
use meter::KeyOptions;
use serde_json::{Value, json};
use testkit::{Answer, Connection, Draft, ForgedTransaction, key_hash_script};

use crate::utxo::forged::{Stage, address};
use crate::utxo::rig::{Rig, reason};

/// Bytes of the script that makes a transaction fat: a page of them is more than sockets hold.
const FAT: usize = 400_000;

/// Settings with a time limit that a slow machine keeps.
fn patient() -> Settings {
    Settings { timeout: std::time::Duration::from_secs(300), ..Settings::default() }
}

/// A transaction that spends an output, pays `script`, and carries `bytes` of data.
fn fat(spent: &ForgedTransaction, script: &[u8], bytes: usize) -> ForgedTransaction {
    let data = [&[0x6a][..], &vec![0x51; bytes]].concat();
    Draft::new().spend(spent.output(0)).pay(1000, script).pay(0, &data).finish()
}

/// A chain with a page of fat transactions of one script, and the path of its history.
async fn fat_stage(settings: Settings) -> (Stage, String) {
    let mut stage = Stage::with("btc", settings).await;
    let script = key_hash_script(1);
    for _ in 0..12 {
        let coinbase = stage.mine(&[]);
        let fat = fat(&coinbase, &script, FAT);
        stage.mine(&[fat]);
    }
    stage.settled(0).await;
    (stage, format!("/api/v1/btc/address/{}/txs", address("btc", &script)))
}

fn unpacked(answer: &Answer) -> Vec<u8> {
    let mut body = Vec::new();
    match answer.header("content-encoding") {
        None => body.clone_from(&answer.body),
        Some("gzip") => {
            flate2::read::GzDecoder::new(&answer.body[..]).read_to_end(&mut body).unwrap();
        }
        Some("br") => {
            brotli::Decompressor::new(&answer.body[..], 4096).read_to_end(&mut body).unwrap();
        }
        Some(other) => panic!("{other}"),
    }
    body
}

/// Bytes of answers under way, as the metrics tell.
fn under_way(rig: &Rig) -> i64 {
    let families = rig.explorer.registry().gather();
    let family = families.iter().find(|it| it.name() == "portolan_explorer_answer_bytes").unwrap();
    family.get_metric()[0].get_gauge().get_value() as i64
}

async fn until(what: &str, so: impl Fn() -> bool) {
    for _ in 0..4800 {
        if so() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("waited in vain: {what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_page_comes_in_pieces_and_is_the_same_in_every_coding() {
    let (stage, path) = fat_stage(patient()).await;
    let rig = &stage.rig;
    let plain = rig.get(&path).await;
    assert_eq!(plain.status, 200);
    let page: Value = serde_json::from_slice(&plain.body).unwrap();
    assert_eq!((&page["tx_count"], page["txs"].as_array().unwrap().len()), (&json!(12), 12));
    assert!(plain.body.len() > 24 * FAT, "{}", plain.body.len());
    assert_eq!(plain.header("content-length"), Some(plain.body.len().to_string().as_str()));
    for coding in ["gzip", "br"] {
        let headers = [("X-API-Key", rig.key.as_str()), ("Accept-Encoding", coding)];
        let coded = rig.get_with(&path, &headers).await;
        assert_eq!(coded.header("content-encoding"), Some(coding));
        assert!(unpacked(&coded) == plain.body, "{coding}");
        assert_eq!(coded.header("etag"), plain.header("etag"));
    }
    let tag = plain.header("etag").unwrap().to_owned();
    let known = rig.get_with(&path, &[("X-API-Key", &rig.key), ("If-None-Match", &tag)]).await;
    assert_eq!((known.status, known.body.len()), (304, 0));
    // A page of one is the same transaction as in the long one.
    let one = rig.get(&format!("{path}?page=5&page_size=1")).await;
    let one: Value = serde_json::from_slice(&one.body).unwrap();
    assert_eq!(one["txs"][0], page["txs"][4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn unread_answers_take_little_and_nothing_from_others() {
    let (stage, path) = fat_stage(patient()).await;
    let rig = &stage.rig;
    let mut unread = Vec::new();
    for _ in 0..6 {
        let mut connection = Connection::open(rig.address).await.unwrap();
        connection.request("GET", &path, &[("X-API-Key", &rig.key)], b"").await.unwrap();
        unread.push(connection);
    }
    until("six answers under way", || rig.explorer.in_flight() == 6 && under_way(rig) > 0).await;
    until("room for all six", || under_way(rig) >= 12 * FAT as i64).await;
    assert!(under_way(rig) < 16 << 20, "{}", under_way(rig));
    rig.admin.add_account("neighbour", Some("wide"), Some("wide")).unwrap();
    let key = rig.admin.add_key("neighbour", KeyOptions::default()).unwrap();
    let headers = [("X-API-Key", key.key.reveal())];
    for _ in 0..50 {
        let small = rig.get_with("/api/v1/btc/block/3", &headers).await;
        assert_eq!(small.status, 200);
    }
    // Whoever reads on gets all of it.
    for mut connection in unread {
        assert!(connection.answer().await.unwrap().body.len() > 24 * FAT);
    }
    until("all is given back", || under_way(rig) == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_whose_share_is_taken_waits_and_is_refused_uncharged() {
    // A share that one such answer fills.
    let settings = Settings { max_answer_bytes: 16 * FAT as u64, ..patient() };
    let (stage, path) = fat_stage(settings).await;
    let rig = &stage.rig;
    let mut unread = Connection::open(rig.address).await.unwrap();
    unread.request("GET", &path, &[("X-API-Key", &rig.key)], b"").await.unwrap();
    until("one answer under way", || under_way(rig) > 0).await;
    let before = rig.units_today();
    let refused = rig.get(&path).await;
    assert_eq!((refused.status, reason(&refused).as_str()), (429, "RATE_LIMITED"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(rig.units_today(), before, "what is refused for want of room is not charged");
    assert_eq!(rig.get("/api/v1/btc/block/3").await.status, 200, "small answers need no room");
    rig.admin.add_account("neighbour", Some("wide"), Some("wide")).unwrap();
    let key = rig.admin.add_key("neighbour", KeyOptions::default()).unwrap();
    let other = rig.get_with(&path, &[("X-API-Key", key.key.reveal())]).await;
    assert_eq!(other.status, 200, "another account has its own share");
    drop(unread);
    until("room again", || under_way(rig) == 0).await;
    assert_eq!(rig.get(&path).await.status, 200);
}

/// Such versions are on the chain; btc's node prints them without a sign, doge's with one.
#[tokio::test(flavor = "multi_thread")]
async fn a_version_is_printed_as_the_node_does() {
    for (slug, printed) in [("btc", json!(2_187_681_472u32)), ("doge", json!(-2_107_285_824))] {
        let mut stage = Stage::with(slug, Settings::default()).await;
        let coinbase = stage.mine(&[]);
        let script = key_hash_script(1);
        let odd = Draft::new().version(-2_107_285_824).spend(coinbase.output(0)).pay(1, &script);
        let odd = odd.finish();
        stage.mine(std::slice::from_ref(&odd));
        stage.settled(0).await;
        assert_eq!(stage.ok(&format!("/tx/{}", odd.txid)).await["version"], printed, "{slug}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_cuts_what_does_not_fit_and_a_transaction_is_whole() {
    let mut stage = Stage::with("btc", Settings::default()).await;
    let script = key_hash_script(1);
    let wide = |spent: &ForgedTransaction, outputs: u64| {
        let mut draft = Draft::new().spend(spent.output(0));
        for n in 0..outputs {
            draft = draft.pay(n + 1, &script);
        }
        draft.finish()
    };
    let mut ids = Vec::new();
    // 3,000 items fit, 2,500 more do not, and from there on all are cut.
    for outputs in [3, 2499, 2999] {
        let coinbase = stage.mine(&[]);
        let wide = wide(&coinbase, outputs);
        ids.push(wide.txid);
        stage.mine(&[wide]);
    }
    stage.settled(0).await;
    let list = stage.ok(&format!("/address/{}/txs", address("btc", &script))).await;
    let txs = list["txs"].as_array().unwrap();
    let shown =
        |tx: &Value| (tx["vin"].as_array().unwrap().len(), tx["vout"].as_array().unwrap().len());
    assert_eq!((shown(&txs[0]), &txs[0]["truncated"]), ((1, 2999), &json!(null)));
    assert_eq!(shown(&txs[1]), (1, 25));
    let counts =
        |tx: &Value| (tx["vin_count"].clone(), tx["vout_count"].clone(), tx["truncated"].clone());
    assert_eq!(counts(&txs[1]), (json!(1), json!(2499), json!(true)));
    assert_eq!((shown(&txs[2]), counts(&txs[2])), ((1, 3), (json!(1), json!(3), json!(true))));
    let whole = stage.ok(&format!("/tx/{}", ids[2])).await;
    assert_eq!((shown(&whole), &whole["truncated"]), ((1, 2999), &json!(null)));
    assert_eq!(whole["vout"], txs[0]["vout"]);
    assert_eq!(whole, txs[0]);
    let n: Vec<u64> =
        whole["vout"].as_array().unwrap().iter().map(|it| it["n"].as_u64().unwrap()).collect();
    assert_eq!(n, (0..2999).collect::<Vec<u64>>());
}
