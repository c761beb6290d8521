//! What is refused, and with which reason.

use replay::Phase;
use serde_json::json;

use crate::ring::rig::Rig;

#[tokio::test(flavor = "multi_thread")]
async fn malformed_absent_and_foreign_things_are_told_apart() {
    let (_node, rig) = Rig::recorded(Phase::A).await;
    let (hash, half) = ("a1".repeat(32), "a1".repeat(16));
    for bad in [
        "block/0x12",
        "block/-1",
        "block/+1",
        "block/007",
        "block/%201",
        "block/tip",
        &format!("block/{half}"),
        &format!("block/{hash}0"),
        &format!("block/0x{hash}"),
        "block/x/txs",
        "tx/12",
        &format!("tx/{half}"),
        &format!("tx/0x{}", &hash[2..]),
        &format!("tx/%20{}", &hash[1..]),
        &format!("tx/g{}", &hash[1..]),
        "tx/%ff",
        "blocks?limit=26",
        "blocks?limit=0",
        "blocks?limit=1&limit=1",
        "blocks?start=-1",
        "blocks?start=x",
        "blocks?start=01",
        "block/131/txs?page=0",
        "block/131/txs?page_size=51",
        "block/131/txs?page_size=0",
        "block/131/txs?page=18446744073709551616",
        "mempool?page=0",
        "mempool?page_size=51",
        "mempool?page=x",
        "mempool?page=1&page=1",
    ] {
        rig.refused(bad, 400, "BAD_REQUEST").await;
    }
    for absent in [
        "block/171",
        "block/4294967296",
        "block/99999999999999999999",
        "block/171/txs",
        &format!("block/{hash}"),
        &format!("block/{hash}/txs"),
        &format!("tx/{hash}"),
        "blocks?start=171",
        "blocks?start=99999999999999999999",
        // The node answers for these, which are not in the main chain.
        "block/40beee0612f95d17254fbd9a1b3ce126c64921e5035b679dedc5c95b61e58248",
        "block/9c14bbbb1d8cc9c2eb65112a3c7def20b1cf95a68b0a23d13a0316f8ef7dde3a",
    ] {
        rig.refused(absent, 404, "NOT_FOUND").await;
    }
    let address = "42hRbwbMjoMLEds8GEKjsFa7iGrWGjKaAV7H24RhsQtaTYUo9EDKw9j4HzHqzwSrabSgwmtxy2nD3ed4MDTPvAnL5xLv1S3";
    for foreign in [
        &format!("address/{address}"),
        &format!("address/{address}/txs"),
        "address/x/utxo",
        "gas",
        "contract/0x",
    ] {
        rig.refused(foreign, 404, "NOT_ON_THIS_CHAIN").await;
    }
    for unknown in ["nothing", "tx", "block/", "status/", "tx/a/outputs", "mempool/1"] {
        rig.refused(unknown, 404, "ENDPOINT_NOT_FOUND").await;
    }
    let none = json!({"kind": "none"});
    for query in [
        "171",
        "007",
        "4294967296",
        "x",
        "%ff",
        "-1",
        address,
        &hash,
        &half,
        // A payment id and a key image: the chain cannot be searched for them.
        "3c4344f72b029469",
        "4d1eabac6cf9156d330bb6c37261739ea3a18cbbe170fc2cf47e436d25775fb5",
        "40beee0612f95d17254fbd9a1b3ce126c64921e5035b679dedc5c95b61e58248",
    ] {
        assert_eq!(rig.ok(&format!("search/{query}")).await, none, "{query}");
    }
    assert_eq!(rig.ok("search/%2012%20").await["height"], 12);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_have_tags_and_a_check_has_none() {
    let (_node, rig) = Rig::recorded(Phase::A).await;
    let url = format!("http://{}/api/v1/xmr/block/131/txs", rig.address);
    let key = ("X-API-Key", rig.key.as_str());
    let first = testkit::get(&url, &[key]).await.unwrap();
    let tag = first.header("etag").unwrap();
    let again = testkit::get(&url, &[key, ("If-None-Match", tag)]).await.unwrap();
    assert_eq!((again.status, again.body.len()), (304, 0));
}
