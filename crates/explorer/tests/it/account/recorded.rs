//! Everything that recorded nodes said, asked over HTTP.

use replay::{Replay, ReplayOptions, Take};
use serde_json::{Value, json};

use crate::account::expected::{Anvil, geth};
use crate::account::invariants::{base_fees, invariants};
use crate::account::rig::{Rig, options};

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value}"))
}

/// Compares the members that are expected; names that the page adds for checking are left out.
fn holds(found: &Value, expected: &Value, what: &str) {
    for (name, value) in expected.as_object().unwrap() {
        match name.as_str() {
            _ if name.starts_with('_') => {}
            "log_indexes" => {
                let logs = found["logs"].as_array().unwrap();
                let indexes: Vec<&Value> = logs.iter().map(|log| &log["index"]).collect();
                assert_eq!(json!(indexes), *value, "{what}: log_indexes");
            }
            "token_transfers" | "internal_operations" | "logs" => {
                let (found, expected) = (&found[name], value.as_array().unwrap());
                assert_eq!(found.as_array().map(Vec::len), Some(expected.len()), "{what}: {name}");
                for (place, one) in expected.iter().enumerate() {
                    holds(&found[place], one, &format!("{what}: {name} {place}"));
                    let silent = ["symbol", "decimals"].iter().filter(|it| one.get(it).is_none());
                    silent.for_each(|it| assert!(found[place].get(it).is_none(), "{what}: {it}"));
                }
            }
            // The page tells contracts from before the standard apart.
            "std" => assert_eq!(found["standard"], text(value).replace("-unindexed", ""), "{what}"),
            _ if value.get("any_of").is_some() => {
                let allowed = value["any_of"].as_array().unwrap();
                let found = found.get(name).cloned().unwrap_or_else(|| json!("(omitted)"));
                assert!(allowed.contains(&found), "{what}: {name} is {found}");
            }
            _ => assert_eq!(&found[name], value, "{what}: {name}"),
        }
    }
}

async fn anvil() -> (Replay, Rig) {
    let take = ReplayOptions { take: Take::Anvil, ..ReplayOptions::default() };
    let node = Replay::start("eth", take).await.unwrap();
    let rig = Rig::start(&[node.url()], options()).await;
    (node, rig)
}

const TIP: &str = "0xb7796f46ece60853ea0fa55ef2371b7b3dfc43bebab515378e8cdc09e2f739cd";

#[tokio::test(flavor = "multi_thread")]
async fn every_value_of_the_recorded_anvil_holds() {
    let (_node, rig) = anvil().await;
    rig.whole_at(TIP).await;
    let page = Anvil::read();
    blocks(&rig, &page).await;
    let transactions = page.transactions();
    assert_eq!(transactions.len(), 24);
    for expected in &transactions {
        let found = rig.ok(&format!("tx/{}", text(&expected["hash"]))).await;
        holds(&found, expected, text(&expected["hash"]));
        let creates = expected.get("to").is_none();
        assert_eq!(found.get("to").is_none(), creates);
        assert_eq!(found.get("method").is_some(), expected.get("method").is_some());
    }
    histories(&rig, &page).await;
    addresses(&rig, &page).await;
    contracts(&rig, &page).await;
    pool_and_gas(&rig).await;
    invariants(&rig, 0, "the recorded anvil").await;
}

async fn blocks(rig: &Rig, page: &Anvil) {
    let rows = page.table("Blocks");
    assert_eq!(rows.len(), 20);
    for row in &rows {
        let block = rig.ok(&format!("block/{}", row[0])).await;
        assert_eq!(rig.ok(&format!("block/{}", row[1])).await, block);
        let number = |cell: &str| json!(cell.parse::<u64>().unwrap());
        assert_eq!((&block["height"], &block["hash"]), (&number(row[0]), &json!(row[1])));
        assert_eq!((&block["tx_count"], &block["gas_used"]), (&number(row[2]), &number(row[3])));
        assert_eq!(block["base_fee_per_gas"], row[4]);
        assert_eq!((&block["total_fees"], &block["total_value"]), (&json!(row[6]), &json!(row[7])));
        assert_eq!((&block["difficulty"], &block["issuance"]), (&json!("0"), &json!("0")));
        assert_eq!((&block["excess_blob_gas"], &block["withdrawal_count"]), (&json!(0), &json!(0)));
        let height = row[0].parse::<u64>().unwrap();
        assert_eq!(block["confirmations"], 21 - height);
        if height < 20 {
            let next = rig.ok(&format!("block/{}", height + 1)).await;
            assert_eq!(next["base_fee_per_gas"], row[5]);
            assert_eq!(next["parent_hash"], row[1]);
        }
    }
    let status = rig.ok("status").await;
    assert_eq!((&status["height"], &status["best_hash"]), (&json!(20), &json!(TIP)));
    let expected = json!({
        "base_fee_per_gas": "97865609", "chain_id": 31337, "gas_limit": 30_000_000,
        "gas_used_ratio": 0.0, "next_base_fee": "85632408", "pending_tx_count": 4,
    });
    assert_eq!(status["account"], expected);
    assert_eq!((&status["mempool_count"], &status["family"]), (&json!(5), &json!("account")));
    assert_eq!((&status["in_sync"], &status["decimals"]), (&json!(true), &json!(18)));
    let list = rig.ok("blocks?limit=25").await;
    let heights: Vec<u64> =
        list.as_array().unwrap().iter().map(|it| it["height"].as_u64().unwrap()).collect();
    assert_eq!(heights, (0..=20).rev().collect::<Vec<u64>>());
}

async fn histories(rig: &Rig, page: &Anvil) {
    let mut expected = page.histories();
    assert!(expected.len() >= 11, "{}", expected.len());
    let hot = "0x00000000000000000000000000000000000a11ce".to_owned();
    let whole = |height: u32, count: u32| (0..count).rev().map(move |at| format!("{height}.{at}"));
    let (all, _) = rig.walk(&format!("address/{hot}/txs"), 50).await;
    let twelfth = all.iter().filter(|tx| tx["block_height"] == 12);
    let twelfth: Vec<String> = twelfth.map(|tx| format!("12.{}", tx["index"])).collect();
    assert_eq!(twelfth.len(), 3);
    expected.push((
        hot,
        whole(13, 25).chain(twelfth).chain(whole(11, 60)).chain(["5.9".into()]).collect(),
    ));
    for (address, places) in &expected {
        for limit in [1, 7, 25, 50] {
            let (txs, pages) = rig.walk(&format!("address/{address}/txs"), limit).await;
            let found = txs.iter().map(|tx| format!("{}.{}", tx["block_height"], tx["index"]));
            assert_eq!(&found.collect::<Vec<_>>(), places, "{address} by {limit}");
            assert_eq!(pages, places.len().div_ceil(limit).max(1));
        }
    }
    let first = rig.ok(&format!("address/{}/txs?limit=50", expected.last().unwrap().0)).await;
    assert_eq!(first["next_cursor"], 163_208_757_259_u64);
    let coverage = json!({
        "from_height": 0, "to_height": 20, "complete": true, "traces": true, "traces_from_height": 0,
    });
    assert_eq!(first["coverage"], coverage);
    assert_eq!((&first["tip_height"], &first["tip_hash"]), (&json!(20), &json!(TIP)));
}

async fn addresses(rig: &Rig, page: &Anvil) {
    let rows = page.table("Addresses at block 20");
    assert!(rows.len() > 20);
    for row in rows {
        let found = rig.ok(&format!("address/{}", row[1])).await;
        let expected = json!({
            "address": row[1], "at_block": 20, "balance": row[3],
            "nonce": row[4].parse::<u64>().unwrap(), "code_size": row[5].parse::<u64>().unwrap(),
            "is_contract": row[6] == "true",
        });
        holds(&found, &expected, row[0]);
        for form in [row[2].to_owned(), row[1].to_uppercase().replace("0X", "0x")] {
            assert_eq!(rig.ok(&format!("address/{form}")).await, found);
        }
    }
}

async fn contracts(rig: &Rig, page: &Anvil) {
    let rows = page.table("Contract creators");
    assert_eq!(rows.len(), 19);
    for row in rows {
        let found = rig.ok(&format!("contract/{}", row[0])).await;
        let height = row[3].parse::<u64>().unwrap();
        let expected =
            json!({"address": row[0], "creator": row[1], "tx_hash": row[2], "height": height});
        assert_eq!(found, expected);
    }
    for none in
        ["0x14dc79964da2c08b23698b3d3cc7ca32193d9955", "0x4444444444444444444444444444444444444444"]
    {
        rig.refused(&format!("contract/{none}"), 404, "NOT_FOUND").await;
    }
}

async fn pool_and_gas(rig: &Rig) {
    let gas = rig.ok("gas").await;
    let tier = |label| {
        json!({
            "label": label, "max_fee_per_gas": "1171264816", "max_priority_fee_per_gas": "1000000000",
        })
    };
    let tiers: Vec<Value> = ["slow", "standard", "fast"].into_iter().map(tier).collect();
    let expected = json!({
        "base_fee_per_gas": "97865609", "height": 20, "next_base_fee": "85632408", "tiers": tiers,
    });
    assert_eq!(gas, expected);
    let pool = rig.ok("mempool").await;
    assert_eq!(pool["has_more"], false);
    let hashes: Vec<&str> =
        pool["txs"].as_array().unwrap().iter().map(|tx| text(&tx["hash"])).collect();
    let order = ["0x98a3add1", "0x785d13bf", "0x1a98c619", "0x3debd93e"];
    assert_eq!(hashes.len(), 4);
    for (hash, start) in hashes.iter().zip(order) {
        assert!(hash.starts_with(start), "{hashes:?}");
    }
    assert_eq!(rig.ok("mempool?limit=3").await["has_more"], true);
    let waiting = rig.ok(&format!("tx/{}", hashes[0])).await;
    let expected =
        json!({"status": "pending", "confirmations": 0, "value": "5", "nonce": 13, "type": 0});
    holds(&waiting, &expected, "waiting");
    for absent in ["block_hash", "fee", "gas_used", "index", "logs", "internal_operations", "time"]
    {
        assert!(waiting.get(absent).is_none(), "{absent}");
    }
    assert_eq!(waiting["token_transfers"], Value::Null);
    let queued = "0x506b17bcf8a590625361f07a340bf0e22a399c4244db7e3664b7057a7418e827";
    assert_eq!(rig.ok(&format!("tx/{queued}")).await["status"], "pending");
    assert_eq!(rig.ok(&format!("search/{queued}")).await, json!({"kind": "tx", "hash": queued}));
    let replaced = "0xce3b61cdadd3a33a7ebe61f79e2f94c93877632535c81bcfac35bbd8539d27e6";
    rig.refused(&format!("tx/{replaced}"), 404, "NOT_FOUND").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_value_of_the_recorded_geth_holds() {
    let node = Replay::start("eth", ReplayOptions::default()).await.unwrap();
    let rig = Rig::start(&[node.url()], options()).await;
    let expected = geth();
    rig.whole_at(text(&expected["best_hash"])).await;
    for (height, block) in expected["blocks"].as_object().unwrap() {
        let found = rig.ok(&format!("block/{height}")).await;
        holds(&found, block, &format!("block {height}"));
        let (txs, _) = rig.walk(&format!("block/{height}/txs"), 3).await;
        let hashes: Vec<&Value> = txs.iter().map(|tx| &tx["hash"]).collect();
        assert_eq!(json!(hashes), expected["block_txs"][height]);
    }
    for (hash, tx) in expected["txs"].as_object().unwrap() {
        let found = rig.ok(&format!("tx/{hash}")).await;
        holds(&found, tx, hash);
    }
    for (address, hashes) in expected["histories"].as_object().unwrap() {
        let (txs, _) = rig.walk(&format!("address/{address}/txs"), 4).await;
        let found: Vec<&Value> = txs.iter().map(|tx| &tx["hash"]).collect();
        assert_eq!(json!(found), *hashes, "{address}");
    }
    for (address, account) in expected["addresses"].as_object().unwrap() {
        holds(&rig.ok(&format!("address/{address}")).await, account, address);
    }
    invariants(&rig, 0, "the recorded geth").await;
    base_fees(&rig, "the recorded geth").await;
    for (address, contract) in expected["contracts"].as_object().unwrap() {
        assert_eq!(rig.ok(&format!("contract/{address}")).await, *contract);
    }
    let gas = rig.ok("gas").await;
    assert_eq!(gas["next_base_fee"], expected["next_base_fee"]);
    for (tier, any_of) in
        gas["tiers"].as_array().unwrap().iter().zip(expected["gas"].as_array().unwrap())
    {
        assert_eq!(tier["label"], any_of["label"]);
        for name in ["max_fee_per_gas", "max_priority_fee_per_gas"] {
            assert!(any_of[name].as_array().unwrap().contains(&tier[name]), "{tier}");
        }
    }
    let pool = rig.ok("mempool").await;
    let waiting = expected["mempool"].as_array().unwrap();
    assert_eq!(pool["txs"].as_array().unwrap().len(), waiting.len());
    for one in waiting.iter().chain(expected["queued"].as_array().unwrap()) {
        holds(&rig.ok(&format!("tx/{}", text(&one["hash"]))).await, one, "waiting");
    }
}
