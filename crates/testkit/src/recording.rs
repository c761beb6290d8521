//! What recorded nodes of the Bitcoin formats said of their blocks, and what was worked out of it
//! apart from this program.
//!
//! Leaves it to the tests what an answer of ours must be. Invariant: only the node's own words and
//! the file beside them are in it, nothing that our decoders made.

#![allow(clippy::unwrap_used, reason = "a recording that lacks something ends the test")]

use std::collections::HashMap;
use std::path::PathBuf;

use chain::{Chain, Network, NetworkKind};
use flate2::read::GzDecoder;
use replay::{Phase, Recorded};
use serde_json::Value;

/// One chain in one phase.
#[derive(Debug)]
pub struct Recording {
    /// The chain.
    pub chain: &'static Chain,
    /// Raw blocks from genesis to the tip.
    pub raw: Vec<Vec<u8>>,
    /// The same blocks as the node shows them with the ids of their transactions.
    pub blocks: Vec<Value>,
    /// Raw transactions by id, as displayed; not all of them were asked for.
    pub raw_transactions: HashMap<String, Vec<u8>>,
    /// Transactions as the node shows them, by id, waiting ones too. The coinbase of the first
    /// block is not among them where no answer has it.
    pub transactions: HashMap<String, Value>,
    /// Ids of the transactions that wait.
    pub waiting: Vec<String>,
    /// Answer of `getmempoolinfo`.
    pub pool: Value,
    /// Answer of `getnetworkinfo`.
    pub network: Value,
    /// Texts of the answers to questions about sums, by method, such as `gettxoutsetinfo`.
    pub sums: HashMap<String, String>,
    /// Addresses, transactions and sums, as [`expected`] gives them.
    pub expected: Value,
}

impl Recording {
    /// What was said of a chain up to the end of `phase`.
    ///
    /// # Panics
    /// If the chain was not recorded, or not in Bitcoin's format.
    pub fn of(slug: &str, phase: Phase) -> Recording {
        let mut said = Said::default();
        for line in replay::recorded(slug).unwrap() {
            if line.phase() == Phase::A || phase == Phase::B {
                said.hear(&line);
            }
        }
        if said.version.is_string() {
            said.network["subversion"] = said.version.take();
        }
        let expected = expected(slug, phase);
        let tip = expected["tip"].as_u64().unwrap();
        let hashes: Vec<&String> = (0..=tip).map(|height| &said.hashes[&height]).collect();
        Recording {
            chain: chain::find(slug).unwrap(),
            raw: hashes.iter().map(|hash| said.raw[*hash].clone()).collect(),
            blocks: hashes.iter().map(|hash| said.blocks[*hash].clone()).collect(),
            raw_transactions: said.raw_transactions,
            transactions: said.transactions,
            waiting: said.waiting,
            pool: said.pool,
            network: said.network,
            sums: said.sums,
            expected,
        }
    }

    /// An amount of the node's JSON in the smallest unit.
    pub fn amount(&self, coins: &Value) -> u64 {
        (coins.as_f64().unwrap() * 10_f64.powi(self.chain.decimals.into())).round() as u64
    }

    /// The network that the node was on.
    pub fn on(&self) -> &'static Network {
        let mut networks = self.chain.networks.iter();
        networks.find(|network| network.kind == NetworkKind::Regtest).unwrap()
    }

    /// The ids that a block lists: the regular ones, then those of stake transactions.
    pub fn listed(block: &Value) -> Vec<&str> {
        let lists = ["tx", "stx"].map(|name| block[name].as_array());
        lists.into_iter().flatten().flatten().map(|txid| txid.as_str().unwrap()).collect()
    }

    /// The entries of `vin` or `vout` that are not of the MimbleWimble extension.
    pub fn canonical(list: &Value) -> Vec<&Value> {
        list.as_array().unwrap().iter().filter(|entry| entry["ismweb"] != true).collect()
    }

    /// Bytes of a transaction: the node's word, else those that it gave.
    pub fn size(&self, txid: &str) -> u64 {
        let told = self.transactions[txid]["size"].as_u64();
        told.unwrap_or_else(|| self.raw_transactions[txid].len() as u64)
    }

    /// The output that an input spends, as the node shows it.
    pub fn spent(&self, input: &Value) -> &Value {
        let previous = &self.transactions[input["txid"].as_str().unwrap()];
        Recording::canonical(&previous["vout"])[input["vout"].as_u64().unwrap() as usize]
    }
}

/// What was worked out of a phase: its tip, and addresses, transactions and sums of its chain.
///
/// # Panics
/// If there is no such file for the chain.
pub fn expected(slug: &str, phase: Phase) -> Value {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../replay/recordings"));
    let packed = std::fs::File::open(folder.join(slug).join("expected.json.gz")).unwrap();
    let mut expected: Value = serde_json::from_reader(GzDecoder::new(packed)).unwrap();
    expected[if phase == Phase::A { "A" } else { "B" }].take()
}

/// What nodes are asked for their sums by.
const SUMS: [&str; 4] =
    ["gettxoutsetinfo", "getblockchaininfo", "getcoinsupply", "gettreasurybalance"];

/// The last answer of each kind.
#[derive(Default)]
struct Said {
    hashes: HashMap<u64, String>,
    raw: HashMap<String, Vec<u8>>,
    blocks: HashMap<String, Value>,
    raw_transactions: HashMap<String, Vec<u8>>,
    transactions: HashMap<String, Value>,
    waiting: Vec<String>,
    pool: Value,
    network: Value,
    sums: HashMap<String, String>,
    version: Value,
}

impl Said {
    fn hear(&mut self, line: &Recorded) {
        let Some(result) = line.result() else { return };
        let params: Value = serde_json::from_str(line.params()).unwrap_or_default();
        let read = || serde_json::from_slice::<Value>(&result).unwrap();
        match (line.method(), params[0].as_str()) {
            (method, None) if SUMS.contains(&method) => {
                self.sums.insert(method.to_owned(), String::from_utf8(result.to_vec()).unwrap());
            }
            ("getblockhash", None) => {
                // A negative height is read as one counted from the tip by some nodes.
                if let Some(height) = params[0].as_u64() {
                    self.hashes.insert(height, read().as_str().unwrap().to_owned());
                }
            }
            ("getblock", Some(hash)) => self.block(hash, read()),
            ("getrawtransaction", Some(txid)) => match read() {
                Value::String(hex) => {
                    self.raw_transactions.insert(txid.to_owned(), const_hex::decode(hex).unwrap());
                }
                shown => {
                    self.transactions.insert(txid.to_owned(), shown);
                }
            },
            ("getrawmempool", None) if params[0] != true && params[1].is_null() => {
                self.waiting = serde_json::from_value(read()).unwrap();
            }
            ("getmempoolinfo", None) => self.pool = read(),
            ("getnetworkinfo", None) => self.network = read(),
            // One node tells its version here.
            ("version", None) => self.version = read()["dcrd"]["versionstring"].take(),
            _ => {}
        }
    }

    fn block(&mut self, hash: &str, shown: Value) {
        if let Value::String(hex) = shown {
            self.raw.insert(hash.to_owned(), const_hex::decode(hex).unwrap());
            return;
        }
        if shown["tx"][0].is_string() {
            self.blocks.insert(hash.to_owned(), shown);
            return;
        }
        // A node with two trees names the lists otherwise where it shows the transactions.
        let lists = ["tx", "rawtx", "rawstx"].map(|name| shown[name].as_array());
        for one in lists.into_iter().flatten().flatten() {
            let txid = one["txid"].as_str().unwrap().to_owned();
            self.transactions.entry(txid).or_insert_with(|| one.clone());
        }
    }
}
