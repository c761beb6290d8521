//! What the index asks of a node of the Core family, typed.
//!
//! Leaves transport to `node` and what to do with an answer to `sync`. Invariant: an answer of
//! another shape is an error, never a guess.

use std::sync::Arc;

use bytes::Bytes;
use chain::Hash32;
use node::{Node, Weight};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::sync::{Best, UpstreamError};

#[derive(Deserialize)]
struct ChainInfo {
    blocks: u32,
    headers: u32,
    bestblockhash: String,
    #[serde(default)]
    initialblockdownload: bool,
    #[serde(default, rename = "valuePools")]
    value_pools: Vec<ValuePool>,
}

/// What a pool of value holds, by the node's own name of it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ValuePool {
    /// The node's name.
    pub id: String,
    /// Coins in the smallest unit.
    #[serde(rename = "chainValueZat")]
    pub value: i64,
}

fn read<'a, T: Deserialize<'a>>(
    method: &'static str,
    text: &'a RawValue,
) -> Result<T, UpstreamError> {
    serde_json::from_str(text.get()).map_err(|_| UpstreamError::Shape { method })
}

fn hash(method: &'static str, text: &str) -> Result<Hash32, UpstreamError> {
    text.parse().map_err(|_| UpstreamError::Shape { method })
}

/// The node's best block.
pub(crate) async fn best(node: &Arc<Node>) -> Result<Best<Hash32>, UpstreamError> {
    Ok(best_with_pools(node).await?.0)
}

/// The node's best block, and what each pool of value holds after it, where the node says so.
pub(crate) async fn best_with_pools(
    node: &Arc<Node>,
) -> Result<(Best<Hash32>, Vec<ValuePool>), UpstreamError> {
    let method = "getblockchaininfo";
    let text = node.call(method, "[]", Weight::Internal).await?;
    let info: ChainInfo = read(method, &text)?;
    let best = Best {
        height: info.blocks,
        hash: hash(method, &info.bestblockhash)?,
        // On test networks initial download alone means nothing (decision G11).
        behind: info.initialblockdownload && info.headers > info.blocks,
    };
    Ok((best, info.value_pools))
}

/// The hashes of the node's chain at those heights; the list ends before the first that it has
/// not.
pub(crate) async fn hashes(
    node: &Arc<Node>,
    heights: impl IntoIterator<Item = u32>,
) -> Result<Vec<Hash32>, UpstreamError> {
    let method = "getblockhash";
    let calls: Vec<(&str, String)> =
        heights.into_iter().map(|height| (method, format!("[{height}]"))).collect();
    let mut hashes = Vec::with_capacity(calls.len());
    for answer in node.call_batch(&calls, Weight::Internal).await? {
        // -8: the height is out of range, the chain is shorter by now.
        let Ok(text) = answer else { break };
        let text: &str = read(method, &text)?;
        hashes.push(hash(method, text)?);
    }
    Ok(hashes)
}

/// The bytes of a block.
pub(crate) async fn block(node: &Arc<Node>, hash: &Hash32) -> Result<Bytes, UpstreamError> {
    Ok(node.raw_block(&hash.to_string()).await?)
}

/// The list of the mempool, not read yet: it may be long.
pub(crate) async fn mempool(node: &Arc<Node>) -> Result<Box<RawValue>, UpstreamError> {
    Ok(node.call("getrawmempool", "[]", Weight::Internal).await?)
}

/// The ids of such a list.
pub(crate) fn mempool_ids(list: &RawValue) -> Result<Vec<Hash32>, UpstreamError> {
    let method = "getrawmempool";
    let ids: Vec<&str> = read(method, list)?;
    ids.into_iter().map(|id| hash(method, id)).collect()
}

/// Whether transactions still wait, as far as the node says.
pub(crate) async fn still_wait(
    node: &Arc<Node>,
    ids: &[Hash32],
) -> Result<Vec<bool>, UpstreamError> {
    let calls: Vec<(&str, String)> =
        ids.iter().map(|id| ("getmempoolentry", format!("[\"{id}\"]"))).collect();
    let answers = node.call_batch(&calls, Weight::Internal).await?;
    // -5: it is not in the mempool. Any other answer says nothing of that.
    Ok(answers.into_iter().map(|answer| !answer.is_err_and(|error| error.code == -5)).collect())
}

/// The hash of the best block.
pub(crate) async fn best_hash(node: &Arc<Node>) -> Result<Hash32, UpstreamError> {
    let method = "getbestblockhash";
    let text = node.call(method, "[]", Weight::Internal).await?;
    hash(method, read(method, &text)?)
}

/// The bytes of waiting transactions; none of one that waits no longer.
pub(crate) async fn transactions(
    node: &Arc<Node>,
    ids: &[Hash32],
) -> Result<Vec<Option<Vec<u8>>>, UpstreamError> {
    let method = "getrawtransaction";
    let calls: Vec<(&str, String)> =
        ids.iter().map(|id| (method, format!("[\"{id}\",0]"))).collect();
    let answers = node.call_batch(&calls, Weight::Internal).await?;
    let bytes = |answer: Result<Box<RawValue>, node::RpcError>| {
        let Ok(text) = answer else { return Ok(None) };
        let digits: &str = read(method, &text)?;
        let bytes = const_hex::decode(digits);
        bytes.map(Some).map_err(|_| UpstreamError::Shape { method })
    };
    answers.into_iter().map(bytes).collect()
}
