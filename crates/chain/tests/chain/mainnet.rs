//! Real transactions and blocks of public networks.

use std::path::PathBuf;

use chain::utxo::{Block, Destination, Transaction};
use serde_json::Value;

fn read(name: &str) -> String {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mainnet"));
    std::fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn transactions_decode_to_their_facts() {
    for slug in ["btc", "ltc", "doge", "bch", "xec"] {
        let facts: Vec<Value> = serde_json::from_str(&read(&format!("{slug}.json"))).unwrap();
        assert!(!facts.is_empty());
        for fact in &facts {
            check(slug, fact);
        }
    }
}

fn check(slug: &str, fact: &Value) {
    let chain = chain::find(slug).unwrap();
    let network = chain.network(fact["network"].as_str().unwrap()).unwrap();
    let format = chain.format.unwrap();
    let raw = const_hex::decode(fact["hex"].as_str().unwrap()).unwrap();
    let transaction = Transaction::decode(&raw, &format).unwrap();
    assert_eq!(fact["txid"], transaction.txid().to_string());
    assert_eq!(fact["vin"].as_array().unwrap().len(), transaction.inputs().len());
    // What else stands in there is covered by the id.
    let outputs = fact["vout"].as_array().unwrap();
    assert_eq!(outputs.len(), transaction.outputs().len());
    for (output, fact) in transaction.outputs().zip(outputs) {
        assert_eq!(fact["value"], output.value.to_string());
        if let Some(script) = fact["script"].as_str() {
            assert_eq!(const_hex::decode(script).unwrap(), output.script);
        }
        let destination = Destination::of_script(output.script, &format.scripts);
        let address = destination.and_then(|found| network.addresses.encode(&found));
        for expected in fact["addresses"].as_array().into_iter().flatten() {
            assert_eq!(address.as_deref(), expected.as_str(), "{}", fact);
        }
        if let (Some(destination), Some(address)) = (destination, address) {
            assert_eq!(network.addresses.decode(&address, &format), Ok(destination));
        }
    }
}

#[test]
fn blocks_of_dogecoin_hash_to_their_names() {
    let format = chain::find("doge").unwrap().format.unwrap();
    for (height, merged) in [(12_345, false), (371_337, true), (567_890, true), (2_264_125, true)] {
        let text = read(&format!("doge-block-{height}.hex"));
        let raw = const_hex::decode(text.trim()).unwrap();
        let block = Block::decode(&raw, &format).unwrap();
        assert!(block.is_whole(), "{height}");
        assert_eq!(block.header.version & 0x100 != 0, merged, "{height}");
        assert!(block.transactions[0].is_coinbase());
        if height == 371_337 {
            let hash = "60323982f9c5ff1b5a954eac9dc1269352835f47c2c5222691d80f0d50dcf053";
            assert_eq!(block.header.hash.to_string(), hash);
            assert_eq!(block.size, 1704);
        }
    }
}
