//! What the recorded node itself said in a phase: blocks, transactions, members of rings.
//!
//! Only the node's own words are in it. What was not recorded again after the reorganisation stands
//! as before, but for members of rings, whose places are given anew.

use std::collections::HashMap;

use replay::Phase;
use serde_json::{Value, json};

use crate::ring::rig::{items, text};

/// The node's words.
#[derive(Default)]
pub struct Said {
    /// Answers of `get_block` by height.
    pub blocks: HashMap<u64, Value>,
    /// Entries of `/get_transactions` by hash.
    pub transactions: HashMap<String, Value>,
    /// Members of rings by their place among the outputs with hidden amounts.
    pub outs: HashMap<u64, Value>,
    /// Hashes of the transactions that wait.
    pub waiting: Vec<String>,
}

impl Said {
    /// What was said up to a phase.
    pub fn up_to(phase: Phase) -> Said {
        let mut said = Said::default();
        for line in replay::recorded("xmr").unwrap() {
            let counts = line.phase() == Phase::A || line.phase() == phase;
            let Some(result) = line.result().filter(|_| counts && !line.restricted()) else {
                continue;
            };
            let Ok(result) = serde_json::from_slice::<Value>(&result) else { continue };
            let params: Value = serde_json::from_str(line.params()).unwrap_or_default();
            match (line.path(), line.method()) {
                (_, "get_block") if params["height"].is_u64() => {
                    said.blocks.insert(params["height"].as_u64().unwrap(), result);
                }
                ("/get_transactions", _) => said.hear_transactions(&result),
                ("/get_outs", _) if line.phase() == phase => said.hear_outs(&params, &result),
                ("/get_transaction_pool_hashes", _) => {
                    let hashes = result["tx_hashes"].as_array().into_iter().flatten();
                    said.waiting = hashes.map(|hash| text(hash).to_owned()).collect();
                }
                _ => {}
            }
        }
        said
    }

    fn hear_transactions(&mut self, result: &Value) {
        for entry in result["txs"].as_array().into_iter().flatten() {
            if entry["as_json"].as_str().is_some_and(|it| !it.is_empty()) {
                self.transactions.insert(text(&entry["tx_hash"]).to_owned(), entry.clone());
            }
        }
    }

    fn hear_outs(&mut self, params: &Value, result: &Value) {
        let asked = params["outputs"].as_array().into_iter().flatten();
        for (asked, out) in asked.zip(result["outs"].as_array().into_iter().flatten()) {
            if asked["amount"] == 0 {
                self.outs.insert(asked["index"].as_u64().unwrap(), out.clone());
            }
        }
    }

    /// The rings of a transaction as an answer of ours shows them; none where not every member of
    /// them was recorded.
    pub fn rings(&self, hash: &str) -> Option<Value> {
        let entry: Value = serde_json::from_str(text(&self.transactions[hash]["as_json"])).unwrap();
        let mut inputs = Vec::new();
        for input in items(&entry["vin"]) {
            let (mut place, mut ring) = (0, Vec::new());
            for offset in items(&input["key"]["key_offsets"]) {
                place += offset.as_u64().unwrap();
                let out = self.outs.get(&place)?;
                ring.push(json!({
                    "height": out["height"], "public_key": out["key"], "tx_hash": out["txid"],
                }));
            }
            inputs.push(json!({"key_image": input["key"]["k_image"], "ring": ring}));
        }
        Some(json!(inputs))
    }
}
