//! What recorded nodes said of their blocks, and what was worked out of it apart from any index.

use std::collections::HashMap;

use chain::Chain;
use flate2::read::GzDecoder;
use replay::Phase;
use serde_json::Value;

/// One chain in one phase.
pub struct Recording {
    pub chain: &'static Chain,
    /// Blocks from genesis to the tip, as the node shows them with the ids of their transactions.
    pub blocks: Vec<Value>,
    /// Transactions as the node shows them, by id, waiting ones too.
    pub transactions: HashMap<String, Value>,
    /// Ids of the transactions that wait.
    pub waiting: Vec<String>,
    /// Answer of `getmempoolinfo`.
    pub pool: Value,
    /// Answer of `getnetworkinfo`.
    pub network: Value,
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
        let blocks = (0..=tip).map(|height| said.blocks[&said.hashes[&height]].clone()).collect();
        Recording {
            chain: chain::find(slug).unwrap(),
            blocks,
            transactions: said.transactions,
            waiting: said.waiting,
            pool: said.pool,
            network: said.network,
            expected,
        }
    }

    /// An amount in the smallest unit.
    pub fn amount(&self, coins: &Value) -> i128 {
        (coins.as_f64().unwrap() * 10_f64.powi(self.chain.decimals.into())).round() as i128
    }

    /// The output that an input spends, as the node shows it.
    pub fn spent(&self, input: &Value) -> &Value {
        let previous = &self.transactions[input["txid"].as_str().unwrap()];
        canonical(&previous["vout"])[input["vout"].as_u64().unwrap() as usize]
    }
}

/// The entries that are not of the MimbleWimble extension.
pub fn canonical(list: &Value) -> Vec<&Value> {
    list.as_array().unwrap().iter().filter(|entry| entry["ismweb"] != true).collect()
}

/// The one address of an output as the node shows it (decision U1).
pub fn address_of(output: &Value) -> Option<&str> {
    let script = &output["scriptPubKey"];
    let class = script["type"].as_str().unwrap();
    if ["pubkey", "multisig", "nulldata", "nonstandard"].contains(&class) {
        return None;
    }
    script["address"].as_str().or_else(|| script["addresses"][0].as_str())
}

#[derive(Default)]
struct Said {
    hashes: HashMap<u64, String>,
    blocks: HashMap<String, Value>,
    transactions: HashMap<String, Value>,
    waiting: Vec<String>,
    pool: Value,
    network: Value,
}

impl Said {
    fn hear(&mut self, line: &replay::Recorded) {
        let Some(result) = line.result() else { return };
        let params: Value = serde_json::from_str(line.params()).unwrap_or_default();
        let result = || serde_json::from_slice::<Value>(&result).unwrap();
        match (line.method(), params[0].as_str()) {
            ("getblockhash", None) => {
                let hash = result().as_str().unwrap().to_owned();
                self.hashes.insert(params[0].as_u64().unwrap(), hash);
            }
            ("getblock", Some(hash)) => {
                let block = result();
                if block["tx"][0].is_string() {
                    self.blocks.insert(hash.to_owned(), block);
                }
            }
            ("getrawtransaction", Some(txid)) => {
                let result = result();
                if result.is_object() {
                    self.transactions.insert(txid.to_owned(), result);
                }
            }
            ("getrawmempool", None) if params[0] != true => {
                self.waiting = serde_json::from_value(result()).unwrap();
            }
            ("getmempoolinfo", None) => self.pool = result(),
            ("getnetworkinfo", None) => self.network = result(),
            _ => {}
        }
    }
}

/// What was worked out of a phase.
pub fn expected(slug: &str, phase: Phase) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../replay/recordings");
    let packed = std::fs::File::open(format!("{folder}/{slug}/expected.json.gz")).unwrap();
    let mut expected: Value = serde_json::from_reader(GzDecoder::new(packed)).unwrap();
    expected[if phase == Phase::A { "A" } else { "B" }].take()
}
