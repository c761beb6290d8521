//! Transactions of the chain and the pool, by their hashes.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use chain::ring::Hash;
use node::Node;
use serde::Deserialize;

use super::{hash, hex, post, read_bytes};
use crate::sync::UpstreamError;

/// Transactions that a restricted port gives at once.
pub(crate) const TRANSACTIONS: usize = 100;
/// Transactions that the node has, however many.
pub(super) async fn all(node: &Arc<Node>, hashes: &[Hash]) -> Result<Vec<Given>, UpstreamError> {
    let shape = || UpstreamError::Shape { method: "/get_transactions" };
    let mut all = Vec::with_capacity(hashes.len());
    for hashes in hashes.chunks(TRANSACTIONS) {
        for found in transactions(node, hashes).await? {
            all.push(found.ok_or_else(shape)?);
        }
    }
    Ok(all)
}

/// A transaction as a node gives it.
pub(crate) struct Given {
    /// All of it.
    pub(crate) bytes: Bytes,
    /// It waits.
    pub(crate) in_pool: bool,
    /// Whether it was sent to other nodes, where the node says so.
    pub(crate) relayed: Option<bool>,
    /// The places of its outputs among those of their amounts, where it is in a block and the node
    /// says them.
    pub(super) output_indices: Option<Vec<u64>>,
}

/// Transactions of the chain and the pool by their hashes, at most [`TRANSACTIONS`]; none of one
/// that the node has not.
pub(crate) async fn transactions(
    node: &Arc<Node>,
    hashes: &[Hash],
) -> Result<Vec<Option<Given>>, UpstreamError> {
    #[derive(Deserialize)]
    struct Entry {
        tx_hash: String,
        #[serde(default, deserialize_with = "hex")]
        as_hex: Bytes,
        // All there is of one that has nothing to prune.
        #[serde(default, deserialize_with = "hex")]
        pruned_as_hex: Bytes,
        #[serde(default, deserialize_with = "hex")]
        prunable_as_hex: Bytes,
        #[serde(default)]
        in_pool: bool,
        #[serde(default)]
        relayed: Option<bool>,
        #[serde(default)]
        output_indices: Option<Vec<u64>>,
    }
    #[derive(Deserialize)]
    struct Answer {
        #[serde(default)]
        txs: Vec<Entry>,
        status: String,
    }
    if hashes.is_empty() {
        return Ok(Vec::new());
    }
    let method = "/get_transactions";
    let listed: Vec<String> = hashes.iter().map(|hash| format!("\"{hash}\"")).collect();
    let body =
        format!(r#"{{"txs_hashes":[{}],"decode_as_json":false,"prune":false}}"#, listed.join(","));
    let answer = post(node, method, body).await?;
    let answer: Answer = read_bytes(method, &answer)?;
    if answer.status != "OK" {
        return Err(UpstreamError::Shape { method });
    }
    let mut found = HashMap::with_capacity(answer.txs.len());
    for entry in answer.txs {
        let name = hash(method, &entry.tx_hash)?;
        let bytes = match entry.as_hex.is_empty() {
            true => [entry.pruned_as_hex, entry.prunable_as_hex].concat().into(),
            false => entry.as_hex,
        };
        let Entry { in_pool, relayed, output_indices, .. } = entry;
        let given = Given { bytes, in_pool, relayed, output_indices };
        found.insert(name, given);
    }
    Ok(hashes.iter().map(|hash| found.remove(hash)).collect())
}
