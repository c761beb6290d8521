//! An audit held against the node: its counts, hashes of its blocks, places of its outputs.
//!
//! Invariant: what the node counted at another tip than ours says nothing and is not compared.

use std::fmt::Write;
use std::sync::Arc;

use ::node::{Node, Weight};
use serde::Deserialize;

use super::Verdict;
use crate::ring::outputs::OutputRow;
use crate::ring::record::read_hash;
use crate::ring::schema::{OUTPUT_BY_INDEX, TX_BY_NUM};
use crate::ring::store::Store;
use crate::ring::upstream;
use crate::row::u40;
use crate::sync::UpstreamError;

/// Blocks and outputs that are compared, spread over all there are.
const SAMPLES: u64 = 64;

/// What the node says of an index that was audited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The same.
    Same,
    /// This is another thing to the node.
    Differs(String),
    /// It is at another block.
    OtherBlock {
        /// That block's hash.
        theirs: String,
    },
    /// It could not be asked, or gave something else than it should.
    Unreadable(String),
}

#[derive(Deserialize)]
struct Outs {
    #[serde(default)]
    outs: Vec<Out>,
}

#[derive(Deserialize)]
struct Out {
    key: String,
    txid: String,
}

impl Verdict {
    /// Asks a node for its own counts, and for some of its blocks and outputs.
    pub async fn against(&self, store: &Store, node: &Arc<Node>) -> Agreement {
        match self.compare(store, node).await {
            Ok(agreement) => agreement,
            Err(error) => Agreement::Unreadable(error.to_string()),
        }
    }

    async fn compare(&self, store: &Store, node: &Arc<Node>) -> Result<Agreement, UpstreamError> {
        let seen = upstream::seen(node).await?;
        let Some(tip) = self.tip.filter(|tip| tip.hash == seen.best.hash) else {
            return Ok(Agreement::OtherBlock { theirs: seen.best.hash.to_string() });
        };
        let ours = self.transactions.saturating_sub(self.blocks);
        if seen.tx_count != ours {
            return Ok(Agreement::Differs(format!("{} transactions", seen.tx_count)));
        }
        for height in samples(u64::from(tip.height) + 1) {
            let height = height as u32;
            let theirs = upstream::hashes(node, &[height]).await?.pop();
            let ours = store.block(height).ok().flatten().map(|block| block.hash);
            if theirs != ours {
                return Ok(Agreement::Differs(format!("the block at {height}")));
            }
        }
        self.compare_outputs(store, node).await
    }

    async fn compare_outputs(
        &self,
        store: &Store,
        node: &Arc<Node>,
    ) -> Result<Agreement, UpstreamError> {
        let method = "/get_outs";
        let indices: Vec<u64> = samples(self.hidden_outputs).collect();
        if indices.is_empty() {
            return Ok(Agreement::Same);
        }
        let mut body = String::from("{\"get_txid\":true,\"outputs\":[");
        for (place, index) in indices.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            // Writing into a text does not fail.
            let _ = write!(body, r#"{comma}{{"amount":0,"index":{index}}}"#);
        }
        body.push_str("]}");
        let answer = node.call_path(method, body, Weight::Internal).await?;
        let shape = |_| UpstreamError::Shape { method };
        let Outs { outs } = serde_json::from_slice(&answer).map_err(shape)?;
        if outs.len() != indices.len() {
            return Err(UpstreamError::Shape { method });
        }
        for (index, out) in indices.into_iter().zip(outs) {
            let ours = output(store, index);
            let same = |(key, txid): (Option<String>, String)| {
                key.is_none_or(|key| key == out.key) && txid == out.txid
            };
            if !ours.is_some_and(same) {
                return Ok(Agreement::Differs(format!("the output at {index}")));
            }
        }
        Ok(Agreement::Same)
    }
}

/// Key, where it is known, and transaction of one of our outputs.
fn output(store: &Store, index: u64) -> Option<(Option<String>, String)> {
    let reader = store.db().latest();
    let row = reader.get(OUTPUT_BY_INDEX, &u40(index)).ok()??;
    let output = OutputRow::read(&row).ok()?;
    let record = reader.get(TX_BY_NUM, &u40(output.txnum)).ok()??;
    let key = output.key.map(|key| key.to_string());
    Some((key, read_hash(&record).ok()?.to_string()))
}

/// Some of so many places, the first and the last included.
fn samples(count: u64) -> impl Iterator<Item = u64> {
    let step = count.div_ceil(SAMPLES).max(1);
    let last = count.checked_sub(1).filter(|last| last % step != 0);
    (0..count).step_by(step as usize).chain(last)
}
