//! Addresses: sums, histories and unspent outputs, and what waiting transactions add.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use testkit::Recording;

use super::{Trial, big, names, number, text};

/// What waiting transactions do to an address.
#[derive(Default)]
pub struct Touched {
    received: i128,
    sent: i128,
    txids: BTreeSet<String>,
}

/// The one address of an output as the node shows it (decision U1).
pub fn address_of(output: &Value) -> Option<&str> {
    let script = &output["scriptPubKey"];
    let class = script["type"].as_str().unwrap();
    let none = ["multisig", "nulldata", "nonstandard", "sstxcommitment", "treasuryadd"];
    if none.contains(&class) || class.starts_with("pubkey") && !class.starts_with("pubkeyhash") {
        return None;
    }
    script["address"].as_str().or_else(|| script["addresses"][0].as_str())
}

pub fn touched(recording: &Recording) -> BTreeMap<String, Touched> {
    let mut touched: BTreeMap<String, Touched> = BTreeMap::new();
    for txid in &recording.waiting {
        let json = &recording.transactions[txid];
        for output in Recording::canonical(&json["vout"]) {
            if let Some(address) = address_of(output) {
                let of = touched.entry(address.to_owned()).or_default();
                of.received += i128::from(recording.amount(&output["value"]));
                of.txids.insert(txid.clone());
            }
        }
        for output in spending(&json["vin"]).map(|input| recording.spent(input)) {
            if let Some(address) = address_of(output) {
                let of = touched.entry(address.to_owned()).or_default();
                of.sent += i128::from(recording.amount(&output["value"]));
                of.txids.insert(txid.clone());
            }
        }
    }
    touched
}

/// The inputs that spend an output.
fn spending(vin: &Value) -> impl Iterator<Item = &Value> {
    Recording::canonical(vin).into_iter().filter(|input| input["txid"].is_string())
}

impl Trial {
    pub(super) async fn address(&mut self, address: &str) {
        let expected = self.recording.expected["addresses"].get(address).cloned();
        let zero =
            || json!({"balance":"0","received":"0","sent":"0","tx_count":0,"txs":[],"utxos":[]});
        let expected = expected.unwrap_or_else(zero);
        let mut totals = json!({
            "address": address, "balance": expected["balance"], "received": expected["received"],
            "sent": expected["sent"], "tx_count": expected["tx_count"],
        });
        let none = Touched::default();
        let pool = self.touched.get(address).unwrap_or(&none);
        if !pool.txids.is_empty() {
            totals["unconfirmed"] = json!({
                "received": pool.received.to_string(), "sent": pool.sent.to_string(),
                "tx_count": pool.txids.len(),
            });
        }
        let waiting = pool.txids.clone();
        assert_eq!(self.ok(&format!("/address/{address}")).await, totals);
        self.history(address, &waiting, &expected).await;
        self.unspent(address, &expected).await;
    }

    pub(super) async fn history(
        &mut self,
        address: &str,
        waiting: &BTreeSet<String>,
        expected: &Value,
    ) {
        let confirmed: Vec<&str> = expected["txs"].as_array().unwrap().iter().map(text).collect();
        let path = format!("/address/{address}/txs");
        for size in [1, 7, 25, 50] {
            let total = waiting.len() + confirmed.len();
            if size == 1 && total > 400 {
                continue;
            }
            let found = self.pages(&path, size, total).await;
            let (first, rest) = found.split_at(waiting.len());
            let ids: BTreeSet<String> =
                first.iter().map(|one| text(&one["txid"]).to_owned()).collect();
            assert_eq!(ids, *waiting, "{address}");
            let seen: Vec<u64> = first.iter().map(|one| number(&one["time"])).collect();
            assert!(seen.is_sorted_by(|newer, older| newer >= older), "{seen:?}");
            let ids: Vec<&str> = rest.iter().map(|one| text(&one["txid"])).collect();
            assert_eq!(ids, confirmed, "{address} by {size}");
            if size == 50 {
                for one in &found {
                    let alone = self.ok(&format!("/tx/{}", text(&one["txid"]))).await;
                    assert_eq!(&alone, one);
                }
            }
        }
    }

    pub(super) async fn unspent(&mut self, address: &str, expected: &Value) {
        let list = self.ok(&format!("/address/{address}/utxo")).await;
        let members = ["count", "tip_hash", "tip_height", "truncated", "utxos"].into();
        assert_eq!(names(&list), members);
        let mut recorded: Vec<&Value> = expected["utxos"].as_array().unwrap().iter().collect();
        // In the order of the chain, where the stake tree of a block comes first.
        let place = |one: &Value| {
            let fact = &self.recording.expected["txs"][text(&one["txid"])];
            (fact["tree"] != 1, number(&fact["pos"]))
        };
        recorded.sort_by_key(|one| {
            let value = std::cmp::Reverse(big(&one["value"]));
            (value, number(&one["height"]), place(one), number(&one["vout"]))
        });
        let spends: BTreeMap<(&str, u64), &String> = self
            .recording
            .waiting
            .iter()
            .flat_map(|txid| {
                let inputs = spending(&self.recording.transactions[txid]["vin"]);
                inputs.map(move |one| ((text(&one["txid"]), number(&one["vout"])), txid))
            })
            .collect();
        let recorded: Vec<Value> = recorded
            .into_iter()
            .map(|one| {
                let mut shown = one.clone();
                // Which tree it is in is told of the transaction.
                let tree = shown.as_object_mut().unwrap().remove("tree");
                assert!(tree.is_none() || self.recording.expected["voided"].is_object());
                let height = number(&one["height"]);
                shown["confirmations"] = json!(self.tip - height + 1);
                let (txid, vout) = (text(&one["txid"]), number(&one["vout"]));
                if self.recording.expected["txs"][txid]["coinbase"] == true {
                    shown["coinbase"] = json!(true);
                }
                let outputs = Recording::canonical(&self.recording.transactions[txid]["vout"]);
                if outputs[vout as usize]["tokenData"].is_object() {
                    shown["token"] = json!(true);
                }
                if let Some(spender) = spends.get(&(txid, vout)) {
                    shown["unconfirmed_spend"] = json!(spender);
                }
                shown
            })
            .collect();
        assert_eq!(list["utxos"], json!(recorded), "{address}");
        assert_eq!(list["count"], recorded.len());
        assert_eq!(list["truncated"], false);
        let sum: i128 = recorded.iter().map(|one| big(&one["value"])).sum();
        assert_eq!(sum, big(&expected["balance"]));
    }
}
