//! What the index asks of monerod, typed.
//!
//! Leaves transport to `node` and what to do with an answer to `sync`. Invariants: an answer of
//! another shape is an error, never a guess; nothing is asked that a restricted port refuses, but
//! what only an open one has to hide.

mod later;
mod transactions;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use chain::ring::Hash;
use chain::{Network, NetworkKind};
use node::{CallError, Node, Weight};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::decoded::RawBlock;
use super::facts::NodeFacts;
use crate::sync::{Best, UpstreamError};
use transactions::all;

pub(crate) use transactions::{Given, TRANSACTIONS, transactions};

/// As which monerod refuses a height above its tip (`CORE_RPC_ERROR_CODE_TOO_BIG_HEIGHT`).
const TOO_HIGH: i64 = -2;

#[derive(Deserialize)]
struct Info {
    /// Blocks, the genesis block included.
    height: u32,
    top_block_hash: String,
    #[serde(default)]
    target_height: u64,
    #[serde(default)]
    synchronized: Option<bool>,
    #[serde(default)]
    restricted: bool,
    wide_difficulty: String,
    #[serde(default)]
    target: u64,
    #[serde(default)]
    block_weight_limit: u64,
    #[serde(default)]
    block_weight_median: u64,
    #[serde(default)]
    tx_count: u64,
}

/// The node's view of its chain, and what else it said with it.
pub(crate) struct Seen {
    pub(crate) best: Best<Hash>,
    /// Without a fee.
    pub(crate) facts: NodeFacts,
    /// Whether the node shows us only what is public.
    pub(crate) restricted: bool,
    /// Transactions of its chain, coinbases left out.
    pub(crate) tx_count: u64,
}

fn read<'a, T: Deserialize<'a>>(method: &'static str, text: &'a str) -> Result<T, UpstreamError> {
    serde_json::from_str(text).map_err(|_| UpstreamError::Shape { method })
}

fn hash(method: &'static str, text: &str) -> Result<Hash, UpstreamError> {
    text.parse().map_err(|_| UpstreamError::Shape { method })
}

async fn call(
    node: &Arc<Node>,
    method: &'static str,
    params: &str,
) -> Result<Box<RawValue>, UpstreamError> {
    Ok(node.call(method, params, Weight::Internal).await?)
}

/// Posts to a path; the answer is text.
async fn post(node: &Arc<Node>, path: &'static str, body: String) -> Result<Bytes, UpstreamError> {
    Ok(node.call_path(path, body, Weight::Internal).await?)
}

fn read_bytes<'a, T: Deserialize<'a>>(
    method: &'static str,
    answer: &'a [u8],
) -> Result<T, UpstreamError> {
    serde_json::from_slice(answer).map_err(|_| UpstreamError::Shape { method })
}

/// The node's best block, and what it says of its chain.
pub(crate) async fn seen(node: &Arc<Node>) -> Result<Seen, UpstreamError> {
    let method = "get_info";
    let text = call(node, method, "{}").await?;
    let info: Info = read(method, text.get())?;
    let shape = UpstreamError::Shape { method };
    let digits = info.wide_difficulty.strip_prefix("0x");
    let difficulty = digits.and_then(|digits| u128::from_str_radix(digits, 16).ok());
    let is_behind = info.target_height > u64::from(info.height);
    let is_main = node.network().kind == NetworkKind::Main;
    let best = Best {
        height: info.height.checked_sub(1).ok_or(UpstreamError::Shape { method })?,
        hash: hash(method, &info.top_block_hash)?,
        // On test networks alone it means nothing (decision G11).
        behind: info.synchronized == Some(false) && (is_behind || is_main),
    };
    let facts = NodeFacts {
        difficulty: difficulty.ok_or(shape)?,
        target_secs: info.target,
        block_size_limit: info.block_weight_limit,
        median_block_size: info.block_weight_median,
        fee_per_byte: None,
    };
    Ok(Seen { best, facts, restricted: info.restricted, tx_count: info.tx_count })
}

/// The fee of a byte at the lowest priority.
pub(crate) async fn fee_per_byte(node: &Arc<Node>) -> Result<u64, UpstreamError> {
    #[derive(Deserialize)]
    struct Estimate {
        fee: u64,
    }
    let method = "get_fee_estimate";
    let text = call(node, method, "{}").await?;
    read::<Estimate>(method, text.get()).map(|estimate| estimate.fee)
}

#[derive(Deserialize)]
struct Header {
    hash: String,
    height: u32,
    #[serde(default)]
    block_weight: Option<u64>,
    #[serde(default)]
    orphan_status: bool,
}

/// The hashes of the node's chain at those heights; the list ends before the first that it has
/// not.
pub(crate) async fn hashes(node: &Arc<Node>, heights: &[u32]) -> Result<Vec<Hash>, UpstreamError> {
    #[derive(Deserialize)]
    struct Headers {
        #[serde(default)]
        headers: Vec<Header>,
    }
    let method = "get_block_headers_range";
    let (Some(first), Some(last)) = (heights.iter().min(), heights.iter().max()) else {
        return Ok(Vec::new());
    };
    let params = format!(r#"{{"start_height":{first},"end_height":{last}}}"#);
    let text = match call(node, method, &params).await {
        Ok(text) => text,
        // The chain is shorter by now.
        Err(UpstreamError::Call(CallError::Rpc { code: TOO_HIGH, .. })) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let Headers { headers } = read(method, text.get())?;
    let mut found = HashMap::with_capacity(headers.len());
    for header in headers {
        found.insert(header.height, hash(method, &header.hash)?);
    }
    Ok(heights.iter().map_while(|height| found.get(height).copied()).collect())
}

/// A block by its hash, with all its transactions.
pub(crate) async fn block(node: &Arc<Node>, wanted: &Hash) -> Result<RawBlock, UpstreamError> {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(deserialize_with = "hex")]
        blob: Bytes,
        block_header: Header,
        #[serde(default)]
        tx_hashes: Vec<String>,
    }
    let method = "get_block";
    let text = call(node, method, &format!(r#"{{"hash":"{wanted}"}}"#)).await?;
    let answer: Answer = read(method, text.get())?;
    let hashes = answer.tx_hashes.iter().map(|text| hash(method, text));
    let hashes = hashes.collect::<Result<Vec<Hash>, _>>()?;
    let given = all(node, &hashes).await?;
    // Of a block that left the chain the node tells the weight of the one in its place.
    let weight = answer.block_header.block_weight.filter(|_| !answer.block_header.orphan_status);
    let transactions = given.iter().map(|given| given.bytes.clone()).collect();
    let raw = RawBlock { block: answer.blob, transactions, weight, ..RawBlock::default() };
    match raw.is_later() {
        true => later::told(node, wanted, text.get(), raw, (hashes, given)).await,
        false => Ok(raw),
    }
}

/// Blocks from a height on, as many as the node gives at once; none where it has no endpoint for
/// that.
pub(crate) async fn span(
    node: &Arc<Node>,
    first: u32,
) -> Result<Option<Vec<RawBlock>>, UpstreamError> {
    let method = "/get_blocks.bin";
    let genesis = genesis(node.network()).ok_or(UpstreamError::Shape { method })?;
    let Some(span) = node.raw_span(&genesis.0, first.into()).await? else { return Ok(None) };
    if span.start_height != u64::from(first) || span.blocks.is_empty() {
        return Err(UpstreamError::Shape { method });
    }
    let raw = |block: node::SpanBlock| RawBlock {
        block: block.block,
        transactions: block.transactions,
        weight: None,
        output_indices: block.output_indices,
        told: None,
    };
    Ok(Some(span.blocks.into_iter().map(raw).collect()))
}

fn genesis(network: &Network) -> Option<Hash> {
    network.genesis?.parse().ok()
}

/// The hashes of the mempool.
pub(crate) async fn mempool(node: &Arc<Node>) -> Result<Vec<Hash>, UpstreamError> {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(default)]
        tx_hashes: Vec<String>,
        status: String,
    }
    let method = "/get_transaction_pool_hashes";
    let answer = post(node, method, "{}".into()).await?;
    let answer: Answer = read_bytes(method, &answer)?;
    if answer.status != "OK" {
        return Err(UpstreamError::Shape { method });
    }
    answer.tx_hashes.iter().map(|text| hash(method, text)).collect()
}

/// The hashes of what waits and was shown to the whole network, as an open port tells it apart
/// from what only some nodes are to know: a transaction in its stem phase has no time at which it
/// was relayed last. Source: monero, src/cryptonote_core/tx_pool.cpp,
/// `get_transactions_and_spent_keys_info`.
pub(crate) async fn public_mempool(node: &Arc<Node>) -> Result<HashSet<Hash>, UpstreamError> {
    #[derive(Deserialize)]
    struct Entry {
        id_hash: String,
        #[serde(default)]
        relayed: bool,
        #[serde(default)]
        do_not_relay: bool,
        #[serde(default)]
        last_relayed_time: u64,
    }
    #[derive(Deserialize)]
    struct Answer {
        #[serde(default)]
        transactions: Vec<Entry>,
    }
    let method = "/get_transaction_pool";
    let answer = post(node, method, "{}".into()).await?;
    // What wallets write may be in it; only these fields are looked at.
    let answer: Answer = read_bytes(method, &answer)?;
    let is_public =
        |entry: &&Entry| entry.relayed && !entry.do_not_relay && entry.last_relayed_time != 0;
    answer.transactions.iter().filter(is_public).map(|entry| hash(method, &entry.id_hash)).collect()
}

/// Bytes as hex digits, decoded where they stand.
fn hex<'de, D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
    let digits = <&'de str>::deserialize(from)?;
    const_hex::decode(digits).map(Bytes::from).map_err(serde::de::Error::custom)
}
