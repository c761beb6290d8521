//! What the Core family, zebrad and dcrd are asked.
//!
//! Invariant: initial block download alone never counts as syncing: a private chain whose last
//! block is old stays in it for ever.

use std::sync::Arc;

use chain::{Dialect, NetworkKind};
use serde::Deserialize;

use super::sight::{Identity, Sight, Tip, is_hash, optional, read, same};
use crate::CallError;
use crate::node::Node;

/// zebrad has no word for initial download. Its estimate of the height comes from the clock, so
/// some blocks of difference are normal; this many are two hours.
const ZEBRAD_BEHIND: u64 = 100;

#[derive(Deserialize)]
struct ChainInfo {
    blocks: u64,
    #[serde(default)]
    headers: u64,
    /// dcrd.
    #[serde(default)]
    syncheight: u64,
    #[serde(default)]
    initialblockdownload: bool,
    /// zebrad.
    #[serde(default)]
    estimatedheight: u64,
}

#[derive(Deserialize)]
struct NetworkInfo {
    #[serde(default)]
    version: u64,
    #[serde(default)]
    subversion: String,
}

#[derive(Deserialize)]
struct DcrdVersion {
    dcrd: DcrdVersionString,
}

#[derive(Deserialize)]
struct DcrdVersionString {
    versionstring: String,
}

pub(super) async fn tip(node: &Arc<Node>) -> Result<Sight, CallError> {
    let info: ChainInfo = read(&node.call_quietly("getblockchaininfo", "[]").await?)?;
    let syncing = match node.chain().dialect {
        Dialect::Zebrad => {
            let main = node.network().kind == NetworkKind::Main;
            main && info.blocks.saturating_add(ZEBRAD_BEHIND) < info.estimatedheight
        }
        _ => info.initialblockdownload && info.headers.max(info.syncheight) > info.blocks,
    };
    Ok(Sight::Seen(Tip { height: info.blocks, syncing }))
}

pub(super) async fn identity(node: &Arc<Node>, height: u64) -> Result<Identity, CallError> {
    let network = node.network();
    let (version, version_number) = version(node).await?;
    let mut right = None;
    if let Some(genesis) = block_hash(node, 0).await? {
        right = Some(match network.genesis {
            Some(expected) => same("the genesis block", &genesis, expected),
            None => Ok(()),
        });
    }
    if let (Some(Ok(())), Some(fork)) = (&right, network.fork_block)
        && height >= u64::from(fork.height)
    {
        let what = format!("block {}", fork.height);
        right = block_hash(node, u64::from(fork.height))
            .await?
            .map(|hash| same(&what, &hash, fork.hash));
    }
    if let (Some(Ok(())), Some(agents)) = (&right, network.user_agent) {
        right = version.as_deref().map(|found| {
            match agents.iter().any(|agent| found.contains(agent)) {
                true => Ok(()),
                false => Err(format!("wrong chain: the node is {found}")),
            }
        });
    }
    Ok(Identity { right, version, version_number })
}

async fn version(node: &Arc<Node>) -> Result<(Option<String>, u64), CallError> {
    if node.chain().dialect == Dialect::Dcrd {
        let answer = node.call_quietly("version", "[]").await;
        let version = optional(answer.and_then(|raw| read::<DcrdVersion>(&raw)))?;
        return Ok((version.map(|version| version.dcrd.versionstring), 0));
    }
    let answer = node.call_quietly("getnetworkinfo", "[]").await;
    let info = optional(answer.and_then(|raw| read::<NetworkInfo>(&raw)))?;
    Ok(match info {
        Some(info) if !info.subversion.is_empty() => (Some(info.subversion), info.version),
        _ => (None, 0),
    })
}

pub(super) async fn block_hash(node: &Arc<Node>, height: u64) -> Result<Option<String>, CallError> {
    let answer = node.call_quietly("getblockhash", &format!("[{height}]")).await;
    let hash = optional(answer.and_then(|raw| read::<String>(&raw)))?;
    Ok(hash.filter(|hash| is_hash(hash)))
}
