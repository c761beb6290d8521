//! Transactions, against what was worked out of them and the node's verbose JSON.

use std::collections::BTreeSet;

use chain::utxo::Layout;
use serde_json::{Value, json};
use testkit::Recording;

use super::addresses::address_of;
use super::{Trial, big, names, number, text};

impl Trial {
    pub(super) async fn transaction(&mut self, txid: &str) {
        let found = self.ok(&format!("/tx/{txid}")).await;
        let expected = self.recording.expected["txs"][txid].clone();
        let height = number(&expected["height"]);
        let block = &self.recording.blocks[height as usize];
        assert_eq!(found["txid"], txid);
        assert_eq!(found["block_height"], height);
        assert_eq!(found["block_hash"], block["hash"]);
        assert_eq!(found["time"], block["time"]);
        assert_eq!(found["confirmations"], self.tip - height + 1);
        assert_eq!(found["fee"], expected["fee"]);
        assert_eq!(found.get("type"), expected.get("type"), "{txid}");
        assert_eq!(found.get("stake"), expected.get("stake"), "{txid}");
        assert_eq!(found["coinbase"] == true, expected["coinbase"] == true);
        if expected["note"].is_null() {
            for name in ["value_in", "value_out", "size", "vsize"] {
                assert_eq!(found.get(name), expected.get(name), "{txid} {name}");
            }
        }
        self.parts(&found);
    }

    /// What the next block voided is listed and found, and counts nowhere.
    pub(super) async fn voided(&mut self) {
        let Some(voided) = self.recording.expected["voided"].as_object() else { return };
        let voided = voided.clone();
        assert!(voided.len() > 5);
        for (txid, fact) in &voided {
            if fact.get("mined_again").is_some() || self.recording.waiting.contains(txid) {
                continue;
            }
            let found = self.ok(&format!("/tx/{txid}")).await;
            assert_eq!(found["confirmations"], 0, "{txid}");
            assert!(found.get("block_hash").is_none() && found.get("block_height").is_none());
            assert_eq!(found["coinbase"] == true, fact["coinbase"] == true);
            let height = number(&fact["height"]);
            assert_eq!(found["time"], self.recording.blocks[height as usize]["time"]);
            self.parts(&found);
            let meaning = json!({ "kind": "tx", "txid": txid });
            assert_eq!(self.ok(&format!("/search/{txid}")).await, meaning);
        }
    }

    /// Members, inputs and outputs of a transaction, against the node's verbose JSON.
    pub(super) fn parts(&self, found: &Value) {
        let waits = found.get("block_hash").is_none();
        let coinbase = found["coinbase"] == true;
        let mut members: BTreeSet<&str> = BTreeSet::from([
            "txid",
            "confirmations",
            "time",
            "size",
            "version",
            "lock_time",
            "value_out",
            "vin",
            "vout",
        ]);
        members.extend((!waits).then_some(["block_hash", "block_height"]).iter().flatten());
        let makes_coins = coinbase || found["type"] == "treasurybase";
        members.extend(coinbase.then_some("coinbase"));
        members.extend((!makes_coins).then_some(["fee", "value_in"]).iter().flatten());
        let stakes = self.recording.chain.format().unwrap().layout == Layout::Staked;
        members.extend(stakes.then_some("type"));
        members.extend((found["type"] == "vote").then_some("stake"));
        members.extend(self.recording.chain.format().unwrap().witness.then_some("vsize"));
        assert_eq!(names(found), members, "{found}");
        let (vin, vout) = (found["vin"].as_array().unwrap(), found["vout"].as_array().unwrap());
        let value_out: i128 = vout.iter().map(|output| big(&output["value"])).sum();
        assert_eq!(value_out, big(&found["value_out"]));
        if !makes_coins {
            let value_in: i128 = vin.iter().map(|input| big(&input["value"])).sum();
            assert_eq!(value_in, big(&found["value_in"]));
            assert_eq!(value_in - value_out, big(&found["fee"]));
        }
        // The coinbase of the first block is the one that nodes do not show.
        let Some(json) = self.recording.transactions.get(text(&found["txid"])) else {
            assert_eq!(found["block_height"], 0);
            return;
        };
        assert_eq!(found["version"], json["version"]);
        assert_eq!(found["lock_time"], json["locktime"]);
        let (inputs, outputs) =
            (Recording::canonical(&json["vin"]), Recording::canonical(&json["vout"]));
        assert_eq!((vin.len(), vout.len()), (inputs.len(), outputs.len()));
        for (n, (found, json)) in vin.iter().zip(inputs).enumerate() {
            self.input(n, found, json);
        }
        for (n, (found, json)) in vout.iter().zip(outputs).enumerate() {
            self.output(n, found, json);
        }
    }

    pub(super) fn input(&self, n: usize, found: &Value, json: &Value) {
        let mut expected = json!({ "n": n, "sequence": json["sequence"] });
        if json["coinbase"].is_string() {
            expected["vout"] = json!(u32::MAX);
            expected["coinbase"] = json["coinbase"].clone();
        } else if !json["txid"].is_string() {
            // A stakebase or what the treasury spends brings something, a treasurybase nothing.
            expected["vout"] = json!(u32::MAX);
            if json["treasurybase"].is_null() {
                expected["value"] = json!(self.recording.amount(&json["amountin"]).to_string());
            }
        } else {
            let spent = self.recording.spent(json);
            expected["txid"] = json["txid"].clone();
            expected["vout"] = json["vout"].clone();
            expected["value"] = json!(self.recording.amount(&spent["value"]).to_string());
            if let Some(address) = address_of(spent) {
                expected["addresses"] = json!([address]);
            }
        }
        assert_eq!(*found, expected);
    }

    pub(super) fn output(&self, n: usize, found: &Value, json: &Value) {
        let script = &json["scriptPubKey"];
        let mut expected = json!({
            "n": n, "value": self.recording.amount(&json["value"]).to_string(),
            "script_hex": script["hex"], "type": script["type"],
        });
        if let Some(address) = address_of(json) {
            expected["addresses"] = json!([address]);
        }
        if json["tokenData"].is_object() {
            expected["token"] = json["tokenData"].clone();
        }
        assert_eq!(*found, expected);
    }
}
