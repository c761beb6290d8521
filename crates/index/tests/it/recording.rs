//! What recorded nodes said of their blocks, and what was worked out of it apart from any index.

use std::collections::HashMap;

use chain::Chain;
use flate2::read::GzDecoder;
use replay::Phase;
use serde_json::Value;

/// One chain in one phase.
pub struct Recording {
    pub chain: &'static Chain,
    /// Raw blocks from genesis to the tip.
    pub raw: Vec<Vec<u8>>,
    /// The same blocks as the node shows them.
    pub blocks: Vec<Value>,
    /// Transactions as the node shows them, by id.
    pub transactions: HashMap<String, Value>,
    /// What the node said of its unspent outputs, as it stands.
    pub output_set: String,
    /// Addresses, transactions and sums.
    pub expected: Value,
}

impl Recording {
    pub fn of(slug: &str, phase: Phase) -> Recording {
        let mut said = Said::default();
        for line in replay::recorded(slug).unwrap() {
            if line.phase() == Phase::A || phase == Phase::B {
                said.hear(&line);
            }
        }
        let expected = expected(slug, phase);
        let tip = expected["tip"].as_u64().unwrap();
        let hashes: Vec<String> = (0..=tip).map(|height| said.hashes[&height].clone()).collect();
        Recording {
            chain: chain::find(slug).unwrap(),
            raw: hashes.iter().map(|hash| said.raw[hash].clone()).collect(),
            blocks: hashes.iter().map(|hash| said.blocks[hash].clone()).collect(),
            transactions: said.transactions,
            output_set: said.output_set,
            expected,
        }
    }

    /// An amount in the smallest unit.
    pub fn amount(&self, coins: &Value) -> u64 {
        (coins.as_f64().unwrap() * 10_f64.powi(self.chain.decimals.into())).round() as u64
    }
}

#[derive(Default)]
struct Said {
    hashes: HashMap<u64, String>,
    raw: HashMap<String, Vec<u8>>,
    blocks: HashMap<String, Value>,
    transactions: HashMap<String, Value>,
    output_set: String,
}

impl Said {
    fn hear(&mut self, line: &replay::Recorded) {
        let Some(result) = line.result() else { return };
        let params: Value = serde_json::from_str(line.params()).unwrap_or_default();
        let text = String::from_utf8(result.to_vec()).unwrap();
        let result = || serde_json::from_slice::<Value>(&result).unwrap();
        match (line.method(), params[0].as_str()) {
            ("gettxoutsetinfo", _) => {
                self.output_set = text;
            }
            ("getblockhash", None) => {
                let hash = result().as_str().unwrap().to_owned();
                self.hashes.insert(params[0].as_u64().unwrap(), hash);
            }
            ("getblock", Some(hash)) => match result() {
                Value::String(hex) => {
                    self.raw.insert(hash.to_owned(), const_hex::decode(hex).unwrap());
                }
                block => {
                    let listed = block["tx"].as_array().unwrap().iter();
                    for one in listed.filter(|one| one.is_object()) {
                        let txid = one["txid"].as_str().unwrap().to_owned();
                        self.transactions.insert(txid, one.clone());
                    }
                    self.blocks.insert(hash.to_owned(), block);
                }
            },
            ("getrawtransaction", Some(txid)) => {
                let result = result();
                if result.is_object() {
                    self.transactions.insert(txid.to_owned(), result);
                }
            }
            _ => {}
        }
    }
}

fn expected(slug: &str, phase: Phase) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../replay/recordings");
    let packed = std::fs::File::open(format!("{folder}/{slug}/expected.json.gz")).unwrap();
    let mut expected: Value = serde_json::from_reader(GzDecoder::new(packed)).unwrap();
    expected[if phase == Phase::A { "A" } else { "B" }].take()
}
