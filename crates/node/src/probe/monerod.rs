//! What monerod is asked.
//!
//! Invariant: `get_info.height` counts blocks, so the tip is one below it.

use std::sync::Arc;

use chain::{Network, NetworkKind};
use serde::Deserialize;

use super::sight::{Identity, Sight, Tip, is_hash, optional, read, same};
use crate::CallError;
use crate::node::Node;

#[derive(Deserialize)]
struct Info {
    /// Blocks, the genesis block included.
    height: u64,
    #[serde(default)]
    target_height: u64,
    #[serde(default)]
    synchronized: Option<bool>,
    #[serde(default)]
    nettype: String,
    #[serde(default)]
    status: String,
    /// Empty on a restricted port.
    #[serde(default)]
    version: String,
}

#[derive(Deserialize)]
struct Block {
    block_header: Header,
}

#[derive(Deserialize)]
struct Header {
    hash: String,
}

pub(super) async fn tip(node: &Arc<Node>) -> Result<Sight, CallError> {
    let info = info(node).await?;
    if info.status == "BUSY" {
        return Ok(Sight::WarmingUp);
    }
    let Some(height) = info.height.checked_sub(1) else {
        return Ok(Sight::NotUnderstood("get_info knows no block".to_owned()));
    };
    let behind = info.target_height > info.height;
    let main = node.network().kind == NetworkKind::Main;
    let syncing = info.synchronized == Some(false) && (behind || main);
    Ok(Sight::Seen(Tip { height, syncing }))
}

pub(super) async fn identity(node: &Arc<Node>) -> Result<Identity, CallError> {
    let network = node.network();
    let info = info(node).await?;
    let answer = node.call_quietly("get_block", "{\"height\":0}").await;
    let genesis = optional(answer.and_then(|raw| read::<Block>(&raw)))?;
    let mut right =
        genesis.map(|block| block.block_header.hash).filter(|hash| is_hash(hash)).map(|hash| {
            match network.genesis {
                Some(expected) => same("the genesis block", &hash, expected),
                None => Ok(()),
            }
        });
    if right == Some(Ok(())) && !info.nettype.is_empty() {
        right = Some(same("nettype", &info.nettype, net_type(network)));
    }
    let version = Some(info.version).filter(|version| !version.is_empty());
    Ok(Identity { right, version, version_number: 0 })
}

pub(super) async fn block_hash(node: &Arc<Node>, height: u64) -> Result<Option<String>, CallError> {
    let answer = node.call_quietly("on_get_block_hash", &format!("[{height}]")).await;
    let hash = optional(answer.and_then(|raw| read::<String>(&raw)))?;
    Ok(hash.filter(|hash| is_hash(hash)))
}

async fn info(node: &Arc<Node>) -> Result<Info, CallError> {
    read(&node.call_quietly("get_info", "{}").await?)
}

/// `get_info.nettype`: the network's name, `fakechain` with `--regtest`.
fn net_type(network: &Network) -> &str {
    match network.kind {
        NetworkKind::Regtest => "fakechain",
        NetworkKind::Main | NetworkKind::Test => network.name,
    }
}
