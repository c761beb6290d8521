//! A recording, and the explorer held to it over HTTP.

mod addresses;
mod blocks;
mod transactions;

use std::collections::{BTreeMap, BTreeSet};

use replay::Phase;
use serde_json::{Value, json};
use testkit::Recording;

use crate::utxo::rig::{Client, Rig};
use addresses::{Touched, touched};

/// A recording and the client that holds the explorer to it.
pub struct Trial {
    recording: Recording,
    client: Client,
    base: String,
    tip: u64,
    best: String,
    touched: BTreeMap<String, Touched>,
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

fn big(value: &Value) -> i128 {
    text(value).parse().unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no whole number: {value}"))
}

/// Which members an object has, so that nothing is null or more than said.
fn names(object: &Value) -> BTreeSet<&str> {
    let members = object.as_object().unwrap();
    assert!(members.values().all(|value| !value.is_null()), "{object}");
    members.keys().map(String::as_str).collect()
}

impl Trial {
    pub async fn of(rig: &Rig, slug: &str, phase: Phase) -> Trial {
        let recording = Recording::of(slug, phase);
        Trial {
            client: rig.client().await,
            base: format!("/api/v1/{slug}"),
            tip: number(&recording.expected["tip"]),
            best: text(&recording.expected["best"]).to_owned(),
            touched: touched(&recording),
            recording,
        }
    }

    async fn ok(&mut self, path: &str) -> Value {
        self.client.ok(&format!("{}{path}", self.base)).await
    }

    async fn absent(&mut self, path: &str) {
        self.client.refused(&format!("{}{path}", self.base), 404, "NOT_FOUND").await;
    }

    pub async fn hold(&mut self) {
        self.status().await;
        self.hold_lists().await;
    }

    /// Everything but the status.
    async fn hold_lists(&mut self) {
        self.blocks().await;
        for height in 0..=self.tip {
            self.block(height).await;
        }
        let above = self.tip + 1;
        self.absent(&format!("/block/{above}")).await;
        self.absent(&format!("/block/{above}/txs")).await;
        let txids: Vec<String> =
            self.recording.expected["txs"].as_object().unwrap().keys().cloned().collect();
        for txid in &txids {
            self.transaction(txid).await;
        }
        self.voided().await;
        self.mempool().await;
        let known = self.recording.expected["addresses"].as_object().unwrap().keys();
        let addresses: BTreeSet<String> = known.chain(self.touched.keys()).cloned().collect();
        for address in &addresses {
            self.address(address).await;
        }
        self.searches().await;
    }

    async fn status(&mut self) {
        let status = self.ok("/status").await;
        let chain = self.recording.chain;
        let best = self.recording.blocks.last().unwrap();
        let mut expected = json!({
            "best_hash": self.best, "chain": chain.slug, "decimals": chain.decimals,
            "difficulty": best["difficulty"].as_f64(), "family": "utxo", "height": self.tip,
            "in_sync": true, "mempool_count": self.recording.pool["size"], "name": chain.name,
            "network": self.recording.on().name, "symbol": chain.symbol,
        });
        if chain.slug != "dcr" {
            expected["node_version"] = self.recording.network["subversion"].clone();
        }
        if let Some(pools) = self.recording.expected["value_pools"].as_array() {
            let shown = |pool: &Value| json!({ "id": pool["id"], "value": pool["chainValueZat"].to_string() });
            expected["pools"] = pools.iter().map(shown).collect();
        }
        assert_eq!(status, expected);
    }

    async fn mempool(&mut self) {
        let pool = self.ok("/mempool").await;
        assert_eq!(names(&pool), ["bytes", "count", "txids"].into());
        assert_eq!(pool["count"], self.recording.pool["size"]);
        assert_eq!(pool["bytes"], self.recording.pool["bytes"]);
        let listed: Vec<String> = serde_json::from_value(pool["txids"].clone()).unwrap();
        let waiting: BTreeSet<String> = self.recording.waiting.iter().cloned().collect();
        assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), waiting);
        let mut seen = Vec::new();
        for txid in &listed {
            let found = self.ok(&format!("/tx/{txid}")).await;
            assert_eq!(found["confirmations"], 0);
            assert!(found.get("block_hash").is_none() && found.get("block_height").is_none());
            assert!(number(&found["time"]) > number(&self.recording.blocks[0]["time"]));
            assert_eq!(found["size"], self.recording.size(txid));
            if let Some(fact) = self.recording.expected["mempool"].get(txid) {
                for name in ["type", "stake", "fee", "value_in", "value_out"] {
                    assert_eq!(found.get(name), fact.get(name), "{txid} {name}");
                }
            }
            self.parts(&found);
            seen.push(number(&found["time"]));
        }
        assert!(seen.is_sorted_by(|newer, older| newer >= older), "{seen:?}");
    }

    async fn search(&mut self, query: &str, expected: Value) {
        assert_eq!(self.ok(&format!("/search/{query}")).await, expected);
    }

    async fn searches(&mut self) {
        for height in [0, 1, self.tip / 2, self.tip] {
            let hash = text(&self.recording.blocks[height as usize]["hash"]).to_owned();
            let block = json!({ "kind": "block", "hash": hash, "height": height });
            self.search(&height.to_string(), block.clone()).await;
            self.search(&format!("%20{height}%20"), block.clone()).await;
            self.search(&hash, block.clone()).await;
            self.search(&format!("%09{}", hash.to_uppercase()), block).await;
        }
        self.search(&(self.tip + 1).to_string(), json!({ "kind": "none" })).await;
        let txs = self.recording.expected["txs"].as_object().unwrap();
        let some: Vec<(String, u64)> = txs
            .iter()
            .step_by(17)
            .map(|(txid, one)| (txid.clone(), number(&one["height"])))
            .collect();
        for (txid, height) in some {
            let meaning = json!({ "kind": "tx", "txid": txid, "height": height });
            self.search(&txid, meaning).await;
        }
        for txid in self.recording.waiting.clone() {
            self.search(&txid, json!({ "kind": "tx", "txid": txid })).await;
        }
        let addresses = self.recording.expected["addresses"].as_object().unwrap();
        for address in addresses.keys().cloned().collect::<Vec<_>>() {
            let meaning = json!({ "kind": "address", "address": address });
            self.search(&address, meaning.clone()).await;
            self.search(&format!("{address}%20"), meaning).await;
        }
        self.search(&"0".repeat(64), json!({ "kind": "none" })).await;
    }
}
