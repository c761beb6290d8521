//! The public conformance chain: every fork from Frontier on, uncles, withdrawals, blobs.

use std::io::Read;

use chain::account::RewardForks;
use flate2::read::GzDecoder;
use serde_json::json;
use testkit::{AccountChain, StubAccounts};

use crate::account::rig::{Rig, options};
use crate::account::rlp;

fn blocks() -> AccountChain {
    let mut bytes = Vec::new();
    let packed = &include_bytes!("execution_apis/chain.rlp.gz")[..];
    GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    let (mut chain, mut rest) = (AccountChain::default(), &bytes[..]);
    while !rest.is_empty() {
        let (block, more) = rlp::item(rest);
        chain.blocks.push(rlp::block(&block));
        rest = more;
    }
    // Genesis is not in the file; a node is known by it.
    let hash = chain.blocks[0].body["parentHash"].clone();
    let body = json!({"hash": hash, "parentHash": format!("0x{}", "0".repeat(64)), "number": "0x0",
        "timestamp": "0x0", "gasLimit": "0x5f5e100", "gasUsed": "0x0", "transactions": [],
        "stateRoot": hash, "miner": format!("0x{}", "0".repeat(40)), "difficulty": "0x20000",
        "size": "0x200", "extraData": "0x"});
    let (receipts, traces) = (json!([]), json!([]));
    chain.blocks.insert(0, testkit::AccountBlock { body, receipts, traces, ..Default::default() });
    chain
}

#[tokio::test(flavor = "multi_thread")]
async fn every_header_fact_of_the_conformance_chain_holds() {
    let chain = blocks();
    assert_eq!(chain.blocks.len(), 55);
    let node = StubAccounts::start(chain.clone()).await;
    // Its rewards fall at other heights than Ethereum's.
    let forks = Some(RewardForks { byzantium: 9, constantinople: 12, merge: None });
    let options = index::account::SyncOptions { history_from: 1, ..options() };
    let rig = Rig::start_by("dev", forks, &[node.url()], options).await;
    rig.until("all", |view| view.tip().height == 54 && view.base() == 1).await;
    let page = include_str!("execution_apis/chain-expected.md");
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| height"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), 54);
    let mut uncles = 0;
    for row in &rows {
        let block = rig.ok(&format!("block/{}", row[0])).await;
        assert_eq!(block["hash"], row[1]);
        assert_eq!(block["tx_count"].to_string(), row[2]);
        uncles += usize::from(row[3] != "[]");
        assert_eq!((&block["difficulty"], &block["issuance"]), (&json!(row[4]), &json!(row[5])));
        for (name, cell) in [("withdrawal_count", row[6]), ("excess_blob_gas", row[8])] {
            let found = block.get(name).map_or("-".into(), ToString::to_string);
            assert_eq!(found, cell, "{}: {name}", row[0]);
        }
        let base_fee = block.get("base_fee_per_gas").and_then(|it| it.as_str()).unwrap_or("-");
        assert_eq!(base_fee, row[7]);
        assert_eq!(block["gas_used"].to_string(), row[9]);
        assert_eq!(block["gas_limit"].to_string(), row[10]);
        let height: u64 = row[0].parse().unwrap();
        assert_eq!(block["parent_hash"].as_str().map(str::len), Some(66));
        if height > 1 {
            assert_eq!(block["parent_hash"], rows[height as usize - 2][1]);
        }
    }
    assert_eq!(uncles, 18);
    let status = rig.ok("status").await;
    assert!(status["account"]["next_base_fee"].is_string());
    // A gas price is told for every type, and only those of types 2 and above have a maximum.
    for (height, block) in chain.blocks.iter().enumerate().skip(1) {
        let (txs, _) = rig.walk(&format!("block/{height}/txs"), 50).await;
        for (tx, said) in txs.iter().zip(block.body["transactions"].as_array().unwrap()) {
            assert_eq!(tx["hash"], said["hash"]);
            assert_eq!(tx.get("max_fee_per_gas").is_some(), tx["type"].as_u64().unwrap() >= 2);
        }
    }
}
