//! Raw blocks and transactions of recorded nodes against the same nodes' JSON.

use std::collections::HashMap;

use chain::utxo::{
    Block, Destination, Input, OutPoint, Output, ScriptClass, SpentOutputs, Transaction,
};
use chain::{Chain, Network};
use serde_json::Value;

use crate::recording;

/// What one node said: raw bytes, and JSON texts by what they are about.
struct Recorded {
    chain: &'static Chain,
    network: &'static Network,
    raw_blocks: HashMap<String, Vec<u8>>,
    raw_transactions: HashMap<String, Vec<u8>>,
    blocks: HashMap<String, Value>,
    transactions: HashMap<String, Value>,
}

fn recorded(slug: &str) -> Recorded {
    let chain = chain::find(slug).unwrap();
    let mut all = Recorded {
        chain,
        network: chain.network("regtest").unwrap(),
        raw_blocks: HashMap::new(),
        raw_transactions: HashMap::new(),
        blocks: HashMap::new(),
        transactions: HashMap::new(),
    };
    for line in recording::lines(slug, "transcript.jsonl.gz") {
        let (Some(method), Some(result)) = (line["method"].as_str(), line["result"].as_str())
        else {
            continue;
        };
        let Some(key) = line["params"][0].as_str().map(str::to_owned) else { continue };
        let result: Value = serde_json::from_str(result).unwrap();
        match (method, result.as_str()) {
            ("getblock", Some(hex)) => drop(all.raw_blocks.insert(key, bytes(hex))),
            ("getrawtransaction", Some(hex)) => drop(all.raw_transactions.insert(key, bytes(hex))),
            ("getrawtransaction", None) => drop(all.transactions.insert(key, result)),
            ("getblock", None) => {
                for transaction in result["tx"].as_array().unwrap() {
                    if let Some(txid) = transaction["txid"].as_str() {
                        all.transactions.insert(txid.to_owned(), transaction.clone());
                    }
                }
                all.blocks.insert(key, result);
            }
            _ => {}
        }
    }
    assert!(all.raw_blocks.len() > 100 && all.raw_transactions.len() > 100, "{slug}");
    all
}

fn bytes(hex: &str) -> Vec<u8> {
    const_hex::decode(hex).unwrap()
}

fn smallest_unit(chain: &Chain, coins: &Value) -> u64 {
    (coins.as_f64().unwrap() * 10_f64.powi(chain.decimals.into())).round() as u64
}

fn check(slug: &str) {
    let all = recorded(slug);
    for (hash, raw) in &all.raw_blocks {
        check_block(&all, hash, raw);
    }
    let mut alone = 0;
    for (txid, raw) in &all.raw_transactions {
        let transaction = Transaction::decode(raw, &all.chain.format.unwrap()).unwrap();
        if let Some(json) = all.transactions.get(txid) {
            check_transaction(&all, &transaction, txid, json);
            alone += 1;
        }
    }
    assert!(alone > 100, "{slug}");
}

fn check_block(all: &Recorded, hash: &str, raw: &[u8]) {
    let block = Block::decode(raw, &all.chain.format.unwrap()).unwrap();
    let json = &all.blocks[hash];
    assert!(block.is_whole(), "{hash}");
    assert_eq!(block.header.hash.to_string(), hash);
    assert_eq!(json["merkleroot"], block.header.merkle_root.to_string());
    assert_eq!(json["version"], block.header.version);
    assert_eq!(json["time"], block.header.time);
    assert_eq!(json["nonce"], block.header.nonce);
    assert_eq!(json["bits"], format!("{:08x}", block.header.bits));
    assert_eq!(json["size"], block.size, "{hash}");
    if let Some(previous) = json["previousblockhash"].as_str() {
        assert_eq!(block.header.previous.to_string(), previous);
    }
    assert_eq!(json["tx"].as_array().unwrap().len(), block.transactions.len());
    for (place, transaction) in block.transactions.iter().enumerate() {
        let listed = &json["tx"][place];
        let txid = listed["txid"].as_str().or(listed.as_str()).unwrap();
        assert_eq!(block.txids[place].to_string(), txid);
        assert_eq!(transaction.is_coinbase(), place == 0);
        // The genesis coinbase is in no answer of its own.
        if let Some(json) = all.transactions.get(txid) {
            check_transaction(all, transaction, txid, json);
        }
    }
}

fn check_transaction(all: &Recorded, transaction: &Transaction<'_>, txid: &str, json: &Value) {
    assert_eq!(transaction.txid().to_string(), txid);
    assert_eq!(json["version"], transaction.version);
    assert_eq!(json["locktime"], transaction.lock_time);
    assert_eq!(json["size"], transaction.size(), "{txid}");
    if json.get("vsize").is_some() {
        assert_eq!(json["vsize"], transaction.vsize(), "{txid}");
    }
    if let Some(hex) = json["hex"].as_str() {
        assert_eq!(bytes(hex), transaction.raw(), "{txid}");
    }
    let inputs = canonical(&json["vin"]);
    assert_eq!(inputs.len(), transaction.inputs().len());
    for (input, json) in transaction.inputs().zip(inputs) {
        check_input(&input, json);
    }
    let outputs = canonical(&json["vout"]);
    assert_eq!(outputs.len(), transaction.outputs().len());
    let mut sum = 0;
    for (output, json) in transaction.outputs().zip(outputs) {
        check_output(all, &output, json);
        sum += u128::from(output.value);
    }
    assert_eq!(transaction.value_out(), sum);
}

/// The entries that are not of the MimbleWimble extension.
fn canonical(list: &Value) -> Vec<&Value> {
    list.as_array().unwrap().iter().filter(|entry| entry["ismweb"] != true).collect()
}

fn check_input(input: &Input<'_>, json: &Value) {
    assert_eq!(json["sequence"], input.sequence);
    if let Some(coinbase) = json["coinbase"].as_str() {
        assert_eq!(input.previous, OutPoint::NULL);
        assert_eq!(bytes(coinbase), input.script);
    } else {
        assert_eq!(json["txid"], input.previous.txid.to_string());
        assert_eq!(json["vout"], input.previous.vout);
        assert_eq!(bytes(json["scriptSig"]["hex"].as_str().unwrap()), input.script);
    }
}

fn check_output(all: &Recorded, output: &Output<'_>, json: &Value) {
    let rules = &all.chain.format.unwrap().scripts;
    let script = &json["scriptPubKey"];
    assert_eq!(smallest_unit(all.chain, &json["value"]), output.value);
    assert_eq!(bytes(script["hex"].as_str().unwrap()), output.script);
    let class = ScriptClass::of(output.script, rules);
    assert_eq!(script["type"], class.as_str());
    check_token(output, &json["tokenData"]);
    let destination = Destination::of_script(output.script, rules);
    let address = destination.and_then(|found| all.network.addresses.encode(&found));
    assert_eq!(destination.is_some(), address.is_some());
    // Nodes also name the addresses of bare keys, alone or in a multisig.
    let named = match class {
        ScriptClass::Pubkey | ScriptClass::Multisig => None,
        _ => script["address"].as_str().or(script["addresses"][0].as_str()),
    };
    assert_eq!(address.as_deref(), named, "{script}");
    if let (Some(destination), Some(address)) = (destination, address) {
        let format = all.chain.format.unwrap();
        assert_eq!(all.network.addresses.decode(&address, &format), Ok(destination));
        assert_eq!(destination.script(), output.script);
    }
}

fn check_token(output: &Output<'_>, json: &Value) {
    let Some(token) = output.token else {
        assert!(json.is_null());
        return;
    };
    assert_eq!(json["category"], token.category.to_string());
    assert_eq!(json["amount"], token.amount.to_string());
    assert_eq!(json.get("nft").is_some(), token.nft.is_some());
    if let Some(nft) = token.nft {
        assert_eq!(json["nft"]["capability"], nft.capability.as_str());
        assert_eq!(bytes(json["nft"]["commitment"].as_str().unwrap()), nft.commitment);
    }
}

#[test]
fn of_bitcoin() {
    check("btc");
}

#[test]
fn of_litecoin() {
    check("ltc");
}

#[test]
fn of_dogecoin() {
    check("doge");
}

#[test]
fn of_bitcoin_cash() {
    check("bch");
}

#[test]
fn of_ecash() {
    check("xec");
}

#[test]
fn tokens_and_merged_mining_and_extension_blocks_were_among_them() {
    let has = |slug: &str, what: fn(&Block<'_>) -> bool| {
        let all = recorded(slug);
        let format = all.chain.format.unwrap();
        all.raw_blocks.values().filter(|raw| what(&Block::decode(raw, &format).unwrap())).count()
    };
    let tokens = |block: &Block<'_>| {
        block.transactions.iter().flat_map(|t| t.outputs()).any(|output| output.token.is_some())
    };
    assert!(has("bch", tokens) > 0);
    assert_eq!(has("doge", |block| block.header.version & 0x100 != 0), 3);
    assert!(has("ltc", |block| block.extension.is_some()) > 20);
}

/// Core's undo data against the previous outputs of `getblock` with verbosity 3.
#[test]
fn spent_outputs_are_those_of_the_inputs() {
    let chain = chain::find("btc").unwrap();
    let format = chain.format.unwrap();
    let mut by_hash = HashMap::new();
    for line in recording::lines("btc", "transcript.jsonl.gz") {
        if line["method"] == "getblock" && line["params"][1] == 3 {
            let block: Value = serde_json::from_str(line["result"].as_str().unwrap()).unwrap();
            by_hash.insert(line["params"][0].as_str().unwrap().to_owned(), block);
        }
    }
    let mut checked = 0;
    for line in recording::lines("btc", "transcript.jsonl.gz") {
        let Some(path) = line["rest"].as_str() else { continue };
        let hash = path.strip_prefix("/rest/spenttxouts/").unwrap().strip_suffix(".bin").unwrap();
        let raw = bytes(line["hex"].as_str().unwrap());
        let spent = SpentOutputs::decode(&raw, &format).unwrap();
        let transactions = by_hash[hash]["tx"].as_array().unwrap();
        assert_eq!(spent.transactions(), transactions.len());
        assert_eq!(spent.of(transactions.len()), []);
        for (place, transaction) in transactions.iter().enumerate() {
            let outputs = spent.of(place);
            let inputs = transaction["vin"].as_array().unwrap();
            assert_eq!(outputs.len(), if place == 0 { 0 } else { inputs.len() });
            for (output, input) in outputs.iter().zip(inputs) {
                let previous = &input["prevout"];
                assert_eq!(smallest_unit(chain, &previous["value"]), output.value);
                let script = previous["scriptPubKey"]["hex"].as_str().unwrap();
                assert_eq!(bytes(script), output.script);
                checked += 1;
            }
        }
    }
    assert!(checked > 100);
}

/// What litecoind gives with `rpcserialversion=1`, and with 0: the same block with less.
#[test]
fn a_litecoin_block_without_extension_or_witnesses_is_the_same_block() {
    let all = recorded("ltc");
    let format = all.chain.format.unwrap();
    let with_extension = |raw: &&Vec<u8>| Block::decode(raw, &format).unwrap().extension.is_some();
    for raw in all.raw_blocks.values().filter(with_extension) {
        let full = Block::decode(raw, &format).unwrap();
        for witnesses in [true, false] {
            let less = stripped(raw, &full, witnesses);
            let block = Block::decode(&less, &format).unwrap();
            assert!(block.is_whole());
            assert_eq!((block.header, &block.txids), (full.header, &full.txids));
            assert_eq!((block.extension, block.size), (None, less.len()));
            for (a, b) in block.transactions.iter().zip(&full.transactions) {
                assert!(a.outputs().eq(b.outputs()) && a.inputs().eq(b.inputs()));
                assert!(!witnesses || a.vsize() == b.vsize());
            }
        }
    }
}

fn stripped(raw: &[u8], block: &Block<'_>, witnesses: bool) -> Vec<u8> {
    let mut bytes = raw[..80].to_vec();
    bytes.push(u8::try_from(block.transactions.len()).unwrap());
    for transaction in &block.transactions {
        let raw = transaction.raw();
        let marked = raw[4] == 0;
        if marked && (transaction.is_hogex() || !witnesses) {
            bytes.extend(&raw[..4]);
            bytes.extend(body(transaction));
            bytes.extend(&raw[raw.len() - 4..]);
        } else {
            bytes.extend(raw);
        }
    }
    bytes
}

/// Inputs and outputs in their wire form.
fn body(transaction: &Transaction<'_>) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(transaction.inputs().len()).unwrap()];
    for input in transaction.inputs() {
        bytes.extend(input.previous.txid.wire());
        bytes.extend(input.previous.vout.to_le_bytes());
        bytes.push(u8::try_from(input.script.len()).unwrap());
        bytes.extend(input.script);
        bytes.extend(input.sequence.to_le_bytes());
    }
    bytes.push(u8::try_from(transaction.outputs().len()).unwrap());
    for output in transaction.outputs() {
        bytes.extend(output.value.to_le_bytes());
        bytes.push(u8::try_from(output.script.len()).unwrap());
        bytes.extend(output.script);
    }
    bytes
}
