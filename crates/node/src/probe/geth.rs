//! What go-ethereum and its relatives are asked.
//!
//! Invariant: an object from `eth_syncing` means syncing only while it names a block above the
//! current one: an archive node gives one for as long as it indexes.

use std::sync::Arc;

use chain::NetworkKind;
use serde::Deserialize;
use serde_json::Value;

use super::sight::{Identity, Sight, Tip, is_hash, optional, read, same};
use crate::CallError;
use crate::node::Node;

#[derive(Deserialize)]
struct Header {
    hash: String,
}

pub(super) async fn tip(node: &Arc<Node>) -> Result<Sight, CallError> {
    let height = node.call_quietly("eth_blockNumber", "[]").await?;
    let shape = CallError::Shape { status: http::StatusCode::OK };
    let height = quantity(&read::<Value>(&height)?).ok_or(shape)?;
    let state: Value = read(&node.call_quietly("eth_syncing", "[]").await?)?;
    let behind = quantity(&state["highestBlock"]) > quantity(&state["currentBlock"]);
    // Before the first block is there, geth says that it is not syncing.
    let empty = height == 0 && node.network().kind != NetworkKind::Regtest;
    Ok(Sight::Seen(Tip { height, syncing: behind || empty }))
}

pub(super) async fn identity(node: &Arc<Node>) -> Result<Identity, CallError> {
    let network = node.network();
    let answer = node.call_quietly("web3_clientVersion", "[]").await;
    let version = optional(answer.and_then(|raw| read::<String>(&raw)))?;
    let mut right = block_hash(node, 0).await?.map(|hash| match network.genesis {
        Some(expected) => same("the genesis block", &hash, expected),
        None => Ok(()),
    });
    if let (Some(Ok(())), Some(expected)) = (&right, network.chain_id) {
        let answer = node.call_quietly("eth_chainId", "[]").await;
        let found = optional(answer.and_then(|raw| read::<Value>(&raw)))?;
        right = found.as_ref().and_then(quantity).map(|found| match found == expected {
            true => Ok(()),
            false => Err(format!("wrong chain: eth_chainId is {found}, expected {expected}")),
        });
    }
    Ok(Identity { right, version, version_number: 0 })
}

pub(super) async fn block_hash(node: &Arc<Node>, height: u64) -> Result<Option<String>, CallError> {
    let params = format!(r#"["{height:#x}",false]"#);
    let answer = node.call_quietly("eth_getBlockByNumber", &params).await;
    let header = optional(answer.and_then(|raw| read::<Header>(&raw)))?;
    Ok(header.map(|header| header.hash).filter(|hash| is_hash(hash)))
}

/// A number as the execution API writes it: `0x` and hex digits.
fn quantity(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}
