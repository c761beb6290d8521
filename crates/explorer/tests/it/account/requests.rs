//! What is refused, and with which reason.

use replay::{Replay, ReplayOptions, Take};
use serde_json::json;

use crate::account::rig::{Rig, options};

#[tokio::test(flavor = "multi_thread")]
async fn malformed_absent_and_foreign_things_are_told_apart() {
    let take = ReplayOptions { take: Take::Anvil, ..ReplayOptions::default() };
    let node = Replay::start("eth", take).await.unwrap();
    let rig = Rig::start(&[node.url()], options()).await;
    rig.whole_at("0xb7796f46ece60853ea0fa55ef2371b7b3dfc43bebab515378e8cdc09e2f739cd").await;
    let hot = "0x00000000000000000000000000000000000a11ce";
    let hash = format!("0x{}", "0".repeat(64));
    for bad in [
        "block/0x12",
        "block/-1",
        "block/latest",
        "block/007",
        "block/%201",
        &format!("block/{}", &hash[2..]),
        &format!("block/{hash}0"),
        "tx/0x12",
        "tx/12",
        &format!("tx/{}", &hash[2..]),
        "address/0x12",
        &format!("address/{}", &hot[2..]),
        "address/vitalik.eth",
        "address/0",
        "address/0x00000000000000000000000000000000000A11Ce",
        "contract/0x12",
        "blocks?limit=26",
        "blocks?limit=0",
        "blocks?start=-1",
        "blocks?start=x",
        &format!("address/{hot}/txs?limit=51"),
        &format!("address/{hot}/txs?limit=0"),
        &format!("address/{hot}/txs?limit=1&limit=2"),
        &format!("address/{hot}/txs?cursor=-1"),
        &format!("address/{hot}/txs?cursor=9007199254740992"),
        &format!("address/{hot}/txs?cursor=99999999999999999999"),
        "block/13/txs?cursor=12",
        "block/13/txs?limit=51",
        "mempool?limit=51",
    ] {
        rig.refused(bad, 400, "BAD_REQUEST").await;
    }
    for absent in [
        "block/21",
        "block/99999999999999999999",
        &format!("block/{hash}"),
        &format!("tx/{hash}"),
        "block/21/txs",
        "blocks?start=21",
        &format!("address/{hot}/txs?cursor=21"),
        &format!("block/{hash}/txs"),
    ] {
        rig.refused(absent, 404, "NOT_FOUND").await;
    }
    rig.refused(&format!("address/{hot}/utxo"), 404, "NOT_ON_THIS_CHAIN").await;
    rig.refused("nothing", 404, "ENDPOINT_NOT_FOUND").await;
    let part = rig.ok(&format!("block/13/txs?cursor={}", 13_u64 + (20 << 32))).await;
    assert_eq!((part["txs"].as_array().unwrap().len(), &part["has_more"]), (5, &json!(false)));
    let none = rig.ok(&format!("block/13/txs?cursor={}", 13_u64 + (25 << 32))).await;
    assert_eq!((&none["txs"], &none["has_more"]), (&json!([]), &json!(false)));
    let unused = rig.ok("address/0x4444444444444444444444444444444444444444/txs").await;
    assert_eq!((&unused["txs"], &unused["has_more"]), (&json!([]), &json!(false)));
    search(&rig, hot).await;
}

async fn search(rig: &Rig, hot: &str) {
    let tip = "0xb7796f46ece60853ea0fa55ef2371b7b3dfc43bebab515378e8cdc09e2f739cd";
    let block = json!({"kind": "block", "hash": tip, "height": 20});
    let tx = "0x7caef98bc5e7d4789ab3ac7b77d0a46888afceb435e67cf4336e571fe9a6f017";
    let found = json!({"kind": "tx", "hash": tx, "height": 3});
    let address = json!({"kind": "address", "address": hot});
    let none = json!({"kind": "none"});
    let upper = format!("0x{}", tip[2..].to_uppercase());
    for (query, expected) in [
        ("20", &block),
        (tip, &block),
        (&tip[2..], &block),
        (&upper, &block),
        ("%2020%20", &block),
        (tx, &found),
        (&tx[2..], &found),
        (hot, &address),
        (&hot[2..], &address),
        ("0x00000000000000000000000000000000000A11Ce", &none),
        ("21", &none),
        ("x", &none),
        ("%ff", &none),
        ("0x12", &none),
    ] {
        assert_eq!(rig.ok(&format!("search/{query}")).await, *expected, "{query}");
    }
}
