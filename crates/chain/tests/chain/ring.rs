//! Blocks and transactions of rings against what a node said of them, and against public ones of
//! the main network.

use std::collections::HashMap;

use chain::ring::{Block, Hash, Input, RingCt, Transaction};
use chain::{AddressParams, MoneroAddresses};
use serde_json::Value;

fn bytes(hex: &Value) -> Vec<u8> {
    const_hex::decode(hex.as_str().unwrap()).unwrap()
}

fn hash(text: &Value) -> Hash {
    text.as_str().unwrap().parse().unwrap()
}

/// A file beside the recordings of the chain.
pub fn beside(name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../replay/recordings/xmr/");
    serde_json::from_slice(&std::fs::read(format!("{folder}{name}")).unwrap()).unwrap()
}

/// Public transactions of the main network, and one whose keys are public.
pub fn public() -> Value {
    serde_json::from_str(include_str!("../mainnet/xmr.json")).unwrap()
}

/// How addresses are written on the recorded network.
pub fn network() -> &'static MoneroAddresses {
    let chain = chain::find("xmr").unwrap();
    let network = chain.networks.iter().find(|network| network.name == "regtest").unwrap();
    match &network.addresses {
        AddressParams::Monero(addresses) => addresses,
        _ => panic!("xmr has addresses of its own"),
    }
}

/// What the node answered, with the parameters, in every phase.
fn answers(path: &str, method: &str) -> Vec<(Value, Value)> {
    let lines = replay::recorded("xmr").unwrap();
    let asked = lines.filter(|line| line.path() == path && line.method() == method);
    let read = |text: &[u8]| serde_json::from_slice(text).unwrap_or(Value::Null);
    asked.filter_map(|line| Some((read(line.params().as_bytes()), read(&line.result()?)))).collect()
}

/// Every transaction that the node gave whole, by its hash.
pub fn whole_transactions() -> HashMap<Hash, Vec<u8>> {
    let mut found = HashMap::new();
    for (_, answer) in answers("/get_transactions", "") {
        for one in answer["txs"].as_array().into_iter().flatten() {
            let mut raw = bytes(&one["as_hex"]);
            if raw.is_empty() {
                // A coinbase stands where pruned transactions do, and it has all its bytes.
                let pruned = bytes(&one["pruned_as_hex"]);
                let is_coinbase = Transaction::decode(&pruned).is_ok_and(|one| one.is_coinbase());
                raw = if is_coinbase { pruned } else { Vec::new() };
            }
            if !raw.is_empty() {
                found.insert(hash(&one["tx_hash"]), raw);
            }
        }
    }
    for (_, answer) in answers("/get_transaction_pool", "") {
        for one in answer["transactions"].as_array().into_iter().flatten() {
            found.insert(hash(&one["id_hash"]), bytes(&one["tx_blob"]));
        }
    }
    found
}

#[test]
fn every_recorded_block_has_its_hash_its_transactions_and_its_weight() {
    let transactions = whole_transactions();
    let mut checked = 0;
    for (_, answer) in answers("/json_rpc", "get_block") {
        let (raw, header) = (bytes(&answer["blob"]), &answer["block_header"]);
        let block = Block::decode(&raw).unwrap();
        assert_eq!(block.hash(), Some(hash(&header["hash"])));
        assert_eq!(block.header.previous, hash(&header["prev_hash"]));
        assert_eq!(block.header.timestamp, header["timestamp"].as_u64().unwrap());
        assert_eq!(u64::from(block.header.major), header["major_version"].as_u64().unwrap());
        assert_eq!(u64::from(block.header.minor), header["minor_version"].as_u64().unwrap());
        assert_eq!(u64::from(block.header.nonce), header["nonce"].as_u64().unwrap());
        assert_eq!(block.height(), header["height"].as_u64());
        assert_eq!(block.coinbase.hash(), Some(hash(&answer["miner_tx_hash"])));
        assert!(block.coinbase.is_coinbase() && block.coinbase.fee().is_none());
        assert_eq!(block.coinbase.visible_out(), header["reward"].as_u64().unwrap().into());
        let listed: Vec<Hash> =
            answer["tx_hashes"].as_array().into_iter().flatten().map(hash).collect();
        assert_eq!(block.transactions, listed);
        // The header of a block off the main chain is told with the weight of another block.
        if header["orphan_status"] == false {
            let weigh = |hash: &Hash| Transaction::decode(&transactions[hash]).unwrap().weight();
            let weight: Option<u64> =
                [block.coinbase.weight()].into_iter().chain(listed.iter().map(weigh)).sum();
            assert_eq!(weight, header["block_weight"].as_u64());
            checked += 1;
        }
    }
    assert!(checked >= 171, "{checked}");
}

#[test]
fn every_recorded_transaction_is_as_the_node_shows_it() {
    let mut kinds = [0; 3];
    for (_, answer) in answers("/get_transactions", "") {
        for one in answer["txs"].as_array().into_iter().flatten() {
            let Ok(json) = serde_json::from_str(one["as_json"].as_str().unwrap()) else { continue };
            let json: Value = json;
            let (whole, pruned) = (bytes(&one["as_hex"]), bytes(&one["pruned_as_hex"]));
            let id = hash(&one["tx_hash"]);
            if !whole.is_empty() {
                let transaction = Transaction::decode(&whole).unwrap();
                assert_eq!((transaction.hash(), transaction.raw()), (Some(id), &whole[..]));
                check_json(&transaction, &json);
                let less = Transaction::decode_pruned(transaction.pruned()).unwrap();
                assert_eq!(less.inputs, transaction.inputs);
                kinds[0] += 1;
            } else if !pruned.is_empty() {
                let transaction = Transaction::decode_pruned(&pruned).unwrap();
                let missing = one["prunable_hash"].as_str().unwrap_or_default();
                let known = transaction.hash();
                let known = known.or_else(|| transaction.hash_with(&missing.parse().unwrap()));
                assert_eq!(known, Some(id));
                check_json(&transaction, &json);
                kinds[if transaction.is_coinbase() { 1 } else { 2 }] += 1;
            }
        }
    }
    assert!(kinds[0] >= 19 && kinds[1] >= 170 && kinds[2] > 0, "{kinds:?}");
}

fn rct_type(transaction: &Transaction<'_>) -> u64 {
    transaction.rct_type().unwrap().into()
}

fn check_json(transaction: &Transaction<'_>, json: &Value) {
    assert_eq!(u64::from(transaction.version), json["version"].as_u64().unwrap());
    assert_eq!(transaction.unlock_time, json["unlock_time"].as_u64().unwrap());
    let extra: Vec<u64> = transaction.extra.iter().map(|byte| u64::from(*byte)).collect();
    assert_eq!(json["extra"], Value::from(extra));
    let inputs = json["vin"].as_array().unwrap();
    assert_eq!(inputs.len(), transaction.inputs.len());
    for (input, json) in transaction.inputs.iter().zip(inputs) {
        match input {
            Input::Coinbase { height } => assert_eq!(json["gen"]["height"], *height),
            Input::Key { amount, ring, key_image } => {
                let key = &json["key"];
                assert_eq!(key["amount"], *amount);
                assert_eq!(key["k_image"], key_image.to_string());
                let absolute =
                    key["key_offsets"].as_array().unwrap().iter().scan(0, |at, offset| {
                        *at += offset.as_u64().unwrap();
                        Some(*at)
                    });
                assert!(absolute.eq(ring.iter().copied()));
            }
        }
    }
    let outputs = json["vout"].as_array().unwrap();
    assert_eq!(outputs.len(), transaction.outputs.len());
    for (output, json) in transaction.outputs.iter().zip(outputs) {
        let tagged = &json["target"]["tagged_key"];
        let tag = output.view_tag.map(|tag| format!("{tag:02x}"));
        assert_eq!(json["amount"], output.amount);
        assert_eq!(tagged["view_tag"].as_str(), tag.as_deref());
        let key = if tag.is_some() { &tagged["key"] } else { &json["target"]["key"] };
        assert_eq!(*key, output.key.to_string());
    }
    let signature = &json["rct_signatures"];
    assert_eq!(signature["type"].as_u64().unwrap_or(0), rct_type(transaction));
    if let RingCt::Known(rct) = transaction.ring_ct {
        assert_eq!(signature["txnFee"], rct.fee);
        assert_eq!(transaction.fee(), Some(rct.fee));
        for place in 0..outputs.len() {
            assert_eq!(signature["outPk"][place], rct.commitment(place).unwrap().to_string());
            assert!(rct.amount(place).is_some());
        }
        assert_eq!((rct.amount(outputs.len()), rct.commitment(outputs.len())), (None, None));
    }
}

#[test]
fn facts_of_recorded_transactions_are_as_expected() {
    let (expected, raw) = (beside("expected.json"), whole_transactions());
    let mut checked = 0;
    for list in ["transactions", "coinbases"] {
        for fact in expected[list].as_array().unwrap() {
            let transaction = Transaction::decode(&raw[&hash(&fact["hash"])]).unwrap();
            check_fact(&transaction, fact);
            let payment_id = transaction.parse_extra().payment_id().map(|id| id.to_string());
            assert_eq!(fact["payment_id"].as_str(), payment_id.as_deref());
            checked += 1;
        }
    }
    assert_eq!(checked, 26);
}

fn check_fact(transaction: &Transaction<'_>, fact: &Value) {
    assert_eq!(transaction.size() as u64, fact["size"].as_u64().unwrap());
    assert_eq!(u64::from(transaction.version), fact["version"].as_u64().unwrap());
    assert_eq!(rct_type(transaction), fact["rct_type"].as_u64().unwrap());
    assert_eq!(fact["fee"].as_str(), transaction.fee().map(|fee| fee.to_string()).as_deref());
    if let Some(extra) = fact["extra"].as_str() {
        assert_eq!(const_hex::encode(transaction.extra), extra);
    }
    if let Some(sum) = fact["visible_out"].as_str() {
        assert_eq!(transaction.visible_out().to_string(), sum);
    }
    let size = transaction.ring_size().map(|size| size as u64);
    if let Some(sizes) = fact["ring_sizes"].as_array() {
        let rings = transaction.inputs.iter().filter(|input| matches!(input, Input::Key { .. }));
        let rings: Vec<u64> = rings.map(|input| input.ring().len() as u64).collect();
        assert_eq!(Value::from(rings), Value::from(sizes.clone()));
    } else {
        assert_eq!(fact["ring_size"].as_u64(), size);
    }
}

#[test]
fn public_transactions_of_the_main_network_have_their_hashes() {
    let public = public();
    let mut types = Vec::new();
    for one in public["mainnet_transactions"].as_array().unwrap() {
        let (raw, fact) = (bytes(&one["hex"]), &one["expect"]);
        let transaction = Transaction::decode(&raw).unwrap();
        assert_eq!(transaction.hash(), Some(hash(&one["tx_hash"])));
        check_fact(&transaction, fact);
        let extra = transaction.parse_extra();
        assert_eq!(extra.public_keys.len() as u64, fact["extra_pubkeys"].as_u64().unwrap());
        assert_eq!(extra.additional_keys.len() as u64, fact["extra_additional"].as_u64().unwrap());
        let nonce = extra.nonce.map(const_hex::encode);
        assert_eq!(fact["nonces"][0].as_str(), nonce.as_deref());
        assert!(extra.whole);
        types.push((transaction.version, rct_type(&transaction)));
    }
    assert_eq!(types, [(2, 0), (2, 5), (2, 6), (2, 5), (1, 0)]);
}
