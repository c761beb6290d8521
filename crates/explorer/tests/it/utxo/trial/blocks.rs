//! Blocks and the pages of their transactions.

use serde_json::{Value, json};
use testkit::Recording;

use super::{Trial, names, number, text};

impl Trial {
    pub(super) fn summary(&self, height: u64) -> Value {
        let json = &self.recording.blocks[height as usize];
        json!({
            "hash": json["hash"], "height": height, "size": self.size(height),
            "time": json["time"], "tx_count": Recording::listed(json).len(),
        })
    }

    /// Bytes of a block; one node says 0 of the first.
    fn size(&self, height: u64) -> u64 {
        match number(&self.recording.blocks[height as usize]["size"]) {
            0 => self.recording.raw[height as usize].len() as u64,
            size => size,
        }
    }

    pub(super) async fn blocks(&mut self) {
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

    pub(super) async fn block(&mut self, height: u64) {
        let by_height = self.ok(&format!("/block/{height}")).await;
        let json = &self.recording.blocks[height as usize];
        let hash = text(&json["hash"]).to_owned();
        let listed: Vec<String> = Recording::listed(json).into_iter().map(str::to_owned).collect();
        let mut expected = json!({
            "bits": json["bits"], "confirmations": self.tip - height + 1,
            "difficulty": json["difficulty"].as_f64(), "hash": hash, "height": height,
            "merkle_root": json["merkleroot"],
            "nonce": json["nonce"].to_string().trim_matches('"'),
            "size": self.size(height), "time": json["time"], "tx_count": listed.len(), "version": json["version"],
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

    pub(super) async fn block_transactions(&mut self, height: u64, hash: &str, listed: &[String]) {
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
    pub(super) async fn pages(&mut self, path: &str, size: usize, total: usize) -> Vec<Value> {
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
}
