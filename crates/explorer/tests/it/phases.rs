//! Everything that recorded nodes said, before and after a reorganisation, asked over HTTP.

use std::collections::{BTreeMap, BTreeSet};

use replay::Phase;
use serde_json::{Value, json};
use testkit::Recording;

use crate::rig::{Client, Plan, Rig};

/// What waiting transactions do to an address.
#[derive(Default)]
struct Touched {
    received: i128,
    sent: i128,
    txids: BTreeSet<String>,
}

/// A recording and the client that holds the explorer to it.
struct Trial {
    recording: Recording,
    client: Client,
    base: String,
    tip: u64,
    best: String,
    touched: BTreeMap<String, Touched>,
}

fn text(value: &Value) -> &str {
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

/// The one address of an output as the node shows it (decision U1).
fn address_of(output: &Value) -> Option<&str> {
    let script = &output["scriptPubKey"];
    let class = script["type"].as_str().unwrap();
    if ["pubkey", "multisig", "nulldata", "nonstandard"].contains(&class) {
        return None;
    }
    script["address"].as_str().or_else(|| script["addresses"][0].as_str())
}

fn touched(recording: &Recording) -> BTreeMap<String, Touched> {
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
        for output in
            Recording::canonical(&json["vin"]).into_iter().map(|input| recording.spent(input))
        {
            if let Some(address) = address_of(output) {
                let of = touched.entry(address.to_owned()).or_default();
                of.sent += i128::from(recording.amount(&output["value"]));
                of.txids.insert(txid.clone());
            }
        }
    }
    touched
}

impl Trial {
    async fn of(rig: &Rig, slug: &str, phase: Phase) -> Trial {
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

    async fn hold(&mut self) {
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
        let expected = json!({
            "best_hash": self.best, "chain": chain.slug, "decimals": chain.decimals,
            "difficulty": best["difficulty"], "family": "utxo", "height": self.tip,
            "in_sync": true, "mempool_count": self.recording.pool["size"], "name": chain.name,
            "network": "regtest", "node_version": self.recording.network["subversion"],
            "symbol": chain.symbol,
        });
        assert_eq!(status, expected);
    }

    fn summary(&self, height: u64) -> Value {
        let json = &self.recording.blocks[height as usize];
        json!({
            "hash": json["hash"], "height": height, "size": json["size"], "time": json["time"],
            "tx_count": json["tx"].as_array().unwrap().len(),
        })
    }

    async fn blocks(&mut self) {
        let whole: Vec<Value> = (0..=self.tip).rev().map(|height| self.summary(height)).collect();
        assert_eq!(self.ok("/blocks").await, json!(whole[..10]));
        for limit in [1, 24, 25] {
            let mut found = Vec::new();
            while found.len() < whole.len() {
                let start = self.tip - found.len() as u64;
                let page = self.ok(&format!("/blocks?limit={limit}&start={start}")).await;
                let page = page.as_array().unwrap().clone();
                assert_eq!(page.len(), limit.min(whole.len() - found.len()));
                found.extend(page);
            }
            assert_eq!(found, whole);
        }
        self.absent(&format!("/blocks?start={}", self.tip + 1)).await;
    }

    async fn block(&mut self, height: u64) {
        let by_height = self.ok(&format!("/block/{height}")).await;
        let json = &self.recording.blocks[height as usize];
        let hash = text(&json["hash"]).to_owned();
        let listed: Vec<String> =
            json["tx"].as_array().unwrap().iter().map(|txid| text(txid).to_owned()).collect();
        let mut expected = json!({
            "bits": json["bits"], "confirmations": self.tip - height + 1,
            "difficulty": json["difficulty"], "hash": hash, "height": height,
            "merkle_root": json["merkleroot"], "nonce": json["nonce"].to_string(),
            "size": json["size"], "time": json["time"],
            "tx_count": json["tx"].as_array().unwrap().len(), "version": json["version"],
        });
        if height > 0 {
            expected["previous_hash"] = json["previousblockhash"].clone();
        }
        if height < self.tip {
            // An old block's own JSON may name a block that was left behind.
            expected["next_hash"] = self.recording.blocks[height as usize + 1]["hash"].clone();
        }
        assert_eq!(by_height, expected);
        assert_eq!(self.ok(&format!("/block/{hash}")).await, expected);
        assert_eq!(self.ok(&format!("/block/{}", hash.to_uppercase())).await, expected);
        self.block_transactions(height, &hash, &listed).await;
    }

    async fn block_transactions(&mut self, height: u64, hash: &str, listed: &[String]) {
        for size in [1, 2, 7, 25, 50] {
            if size > 2 && listed.len() == 1 {
                continue;
            }
            let place = if size % 2 == 0 { height.to_string() } else { hash.to_owned() };
            let path = format!("/block/{place}/txs");
            let found = self.pages(&path, size, listed.len()).await;
            let ids: Vec<&str> = found.iter().map(|one| text(&one["txid"])).collect();
            assert_eq!(ids, listed);
            if size == 50 || listed.len() == 1 {
                for one in &found {
                    let alone = self.ok(&format!("/tx/{}", text(&one["txid"]))).await;
                    // Two coinbases of one id: what a block lists stands at its own height.
                    assert_eq!(&alone, one);
                }
            }
        }
    }

    /// Every page of a list, and the one behind the last; what envelopes say is checked.
    async fn pages(&mut self, path: &str, size: usize, total: usize) -> Vec<Value> {
        let mut found = Vec::new();
        let pages = total.div_ceil(size);
        for page in 1..=pages + 1 {
            let json = self.ok(&format!("{path}?page={page}&page_size={size}")).await;
            let members =
                ["page", "tip_hash", "tip_height", "total_pages", "tx_count", "txs"].into();
            assert_eq!(names(&json), members);
            assert_eq!(json["page"], page);
            assert_eq!((number(&json["total_pages"]), number(&json["tx_count"])), {
                (pages as u64, total as u64)
            });
            assert_eq!((number(&json["tip_height"]), text(&json["tip_hash"])), {
                (self.tip, self.best.as_str())
            });
            let txs = json["txs"].as_array().unwrap();
            let left = total - found.len();
            assert_eq!(txs.len(), left.min(size), "{path} page {page} of {size}");
            found.extend(txs.iter().cloned());
        }
        found
    }

    async fn transaction(&mut self, txid: &str) {
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
        assert_eq!(found["coinbase"] == true, expected["coinbase"] == true);
        if expected["note"].is_null() {
            for name in ["value_in", "value_out", "size", "vsize"] {
                assert_eq!(found[name], expected[name], "{txid} {name}");
            }
        }
        self.parts(&found);
    }

    /// Members, inputs and outputs of a transaction, against the node's verbose JSON.
    fn parts(&self, found: &Value) {
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
        members.extend(if coinbase { &["coinbase"][..] } else { &["fee", "value_in"] });
        members.extend(self.recording.chain.format.unwrap().witness.then_some("vsize"));
        assert_eq!(names(found), members, "{found}");
        let (vin, vout) = (found["vin"].as_array().unwrap(), found["vout"].as_array().unwrap());
        let value_out: i128 = vout.iter().map(|output| big(&output["value"])).sum();
        assert_eq!(value_out, big(&found["value_out"]));
        if !coinbase {
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

    fn input(&self, n: usize, found: &Value, json: &Value) {
        let mut expected = json!({ "n": n, "sequence": json["sequence"] });
        if json["coinbase"].is_string() {
            expected["vout"] = json!(u32::MAX);
            expected["coinbase"] = json["coinbase"].clone();
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

    fn output(&self, n: usize, found: &Value, json: &Value) {
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
            assert_eq!(found["size"], self.recording.transactions[txid]["size"]);
            self.parts(&found);
            seen.push(number(&found["time"]));
        }
        assert!(seen.is_sorted_by(|newer, older| newer >= older), "{seen:?}");
    }

    async fn address(&mut self, address: &str) {
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

    async fn history(&mut self, address: &str, waiting: &BTreeSet<String>, expected: &Value) {
        let confirmed: Vec<&str> = expected["txs"].as_array().unwrap().iter().map(text).collect();
        let path = format!("/address/{address}/txs");
        for size in [1, 7, 25, 50] {
            let total = waiting.len() + confirmed.len();
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

    async fn unspent(&mut self, address: &str, expected: &Value) {
        let list = self.ok(&format!("/address/{address}/utxo")).await;
        let members = ["count", "tip_hash", "tip_height", "truncated", "utxos"].into();
        assert_eq!(names(&list), members);
        let mut recorded: Vec<&Value> = expected["utxos"].as_array().unwrap().iter().collect();
        let place =
            |one: &Value| number(&self.recording.expected["txs"][text(&one["txid"])]["pos"]);
        recorded.sort_by_key(|one| {
            let value = std::cmp::Reverse(big(&one["value"]));
            (value, number(&one["height"]), place(one), number(&one["vout"]))
        });
        let spends: BTreeMap<(&str, u64), &String> = self
            .recording
            .waiting
            .iter()
            .flat_map(|txid| {
                let inputs =
                    Recording::canonical(&self.recording.transactions[txid]["vin"]).into_iter();
                inputs.map(move |one| ((text(&one["txid"]), number(&one["vout"])), txid))
            })
            .collect();
        let recorded: Vec<Value> = recorded
            .into_iter()
            .map(|one| {
                let mut shown = one.clone();
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

/// What only the chain before the reorganisation had is not found any more.
async fn left_behind(rig: &Rig, slug: &str) {
    let (before, after) = (Recording::of(slug, Phase::A), Recording::of(slug, Phase::B));
    let base = format!("/api/v1/{slug}");
    let mut client = rig.client().await;
    let (mut blocks, mut txs) = (0, 0);
    for (old, new) in before.blocks.iter().zip(&after.blocks) {
        if old["hash"] != new["hash"] {
            let hash = text(&old["hash"]);
            client.refused(&format!("{base}/block/{hash}"), 404, "NOT_FOUND").await;
            client.refused(&format!("{base}/block/{hash}/txs"), 404, "NOT_FOUND").await;
            let none = json!({ "kind": "none" });
            assert_eq!(client.ok(&format!("{base}/search/{hash}")).await, none);
            blocks += 1;
        }
    }
    for txid in before.expected["txs"].as_object().unwrap().keys() {
        if after.expected["txs"].get(txid).is_none() && !after.waiting.contains(txid) {
            client.refused(&format!("{base}/tx/{txid}"), 404, "NOT_FOUND").await;
            txs += 1;
        }
    }
    for address in before.expected["addresses"].as_object().unwrap().keys() {
        if after.expected["addresses"].get(address).is_none() {
            client.refused(&format!("{base}/address/{address}"), 404, "NOT_FOUND").await;
        }
    }
    assert_eq!(blocks, 3);
    assert!(txs >= 3, "{slug}: {txs} coinbases were left behind");
}

async fn check(slug: &'static str) {
    let mut rig = Plan::of(&[slug]).start().await;
    Trial::of(&rig, slug, Phase::A).await.hold().await;
    rig.followed[0].turn(Phase::B).await;
    Trial::of(&rig, slug, Phase::B).await.hold().await;
    left_behind(&rig, slug).await;
    rig.restart().await;
    rig.followed[0].in_sync(Phase::B).await;
    Trial::of(&rig, slug, Phase::B).await.hold().await;
    left_behind(&rig, slug).await;
}

/// The same, from an index that was loaded in bulk.
async fn check_loaded(slug: &'static str) {
    let rig = Plan { bulk_from: 1, ..Plan::of(&[slug]) }.start().await;
    Trial::of(&rig, slug, Phase::A).await.hold().await;
    rig.followed[0].turn(Phase::B).await;
    Trial::of(&rig, slug, Phase::B).await.hold().await;
    left_behind(&rig, slug).await;
}

macro_rules! recorded {
    ($($slug:ident)*) => {$(
        mod $slug {
            #[tokio::test(flavor = "multi_thread")]
            async fn block_by_block() {
                super::check(stringify!($slug)).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn loaded_in_bulk() {
                super::check_loaded(stringify!($slug)).await;
            }
        }
    )*};
}

recorded!(btc ltc doge bch xec);
