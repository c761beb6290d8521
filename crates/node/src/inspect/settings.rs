//! What an operator should change in the settings of a node that answers, as far as they show.
//!
//! Invariant: nothing that is asked changes anything on the node or costs it much.

use std::sync::Arc;

use chain::Dialect;
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::unknown::could_not_find_out;
use crate::node::Node;
use crate::{CallError, zmq};

/// dcrd's `rpcmaxclients` by default.
const DCRD_CLIENTS: usize = 10;
/// Calls that wait at most in nodes of the Core family by default, `-rpcworkqueue`; Bitcoin Core
/// has 64 from 29.0 on.
const CORE_QUEUE: usize = 16;
const CORE_WITH_LONG_QUEUE: u64 = 290_000;
/// Modules of geth that the explorer uses besides the default ones.
const GETH_MODULES: [&str; 2] = ["debug", "txpool"];
/// Bitcoin Core's `RPC_INVALID_ADDRESS_OR_KEY`, of a transaction that is not found.
const NOT_FOUND: i64 = -5;
/// What the node has to publish for news by ZMQ.
const TOPICS: [&str; 2] = ["pubhashblock", "pubhashtx"];

/// Advice from the node's settings, as far as they show.
pub(super) async fn advice(node: &Arc<Node>) -> Vec<String> {
    let mut advice = Vec::new();
    let slots = node.config.slots.unwrap_or_default();
    match node.chain().dialect {
        Dialect::Core | Dialect::LegacyCore => {
            advice.extend(work_queue(node, slots));
            match is_pruned(node).await {
                true => advice.push(PRUNED.to_owned()),
                false => advice.extend(transaction_index(node, "txindex=1").await),
            }
            advice.extend(rest(node).await);
            advice.extend(news(node).await);
        }
        Dialect::Dcrd => {
            if slots > DCRD_CLIENTS {
                advice.push(format!("{slots} slots need rpcmaxclients={slots} or more"));
            }
            advice.extend(websocket(node).await);
            advice.extend(limited_user(node).await);
            advice.extend(
                transaction_index(node, "--txindex, which the explorer does not need").await,
            );
        }
        Dialect::Geth => advice.extend(modules(node).await),
        Dialect::Monerod => advice.extend(restricted(node).await),
        Dialect::Zebrad => {}
    }
    advice
}

const PRUNED: &str = "it is pruned: old blocks are not served, and no explorer can be built from it, \
                      without prune=0";

/// How many calls may wait cannot be asked.
fn work_queue(node: &Node, slots: usize) -> Option<String> {
    let version = node.health.version_number();
    let is_core = node.chain().dialect == Dialect::Core;
    if is_core && (version == 0 || version >= CORE_WITH_LONG_QUEUE) {
        let queue = 4 * CORE_QUEUE;
        return (slots > queue).then(|| format!("{slots} slots need rpcworkqueue={slots} or more"));
    }
    let wanted = slots.max(4 * CORE_QUEUE);
    Some(format!(
        "see that rpcworkqueue={wanted} is set, which cannot be asked: by default it refuses calls \
         when {CORE_QUEUE} wait"
    ))
}

async fn is_pruned(node: &Arc<Node>) -> bool {
    let Ok(raw) = node.call_quietly("getblockchaininfo", "[]").await else { return false };
    serde_json::from_str::<Value>(raw.get()).is_ok_and(|info| info["pruned"] == true)
}

/// Whether transactions that no wallet knows are found: the coinbase of block 1 is such a one. It lacks
/// the index for certain only where it says that it does not find it, or speaks of the index.
async fn transaction_index(node: &Arc<Node>, option: &str) -> Option<String> {
    let could_not =
        |error: &CallError| could_not_find_out("getrawtransaction finds mined transactions", error);
    // There may be none.
    let hash = node.call_quietly("getblockhash", "[1]").await.ok()?;
    let block = match node.call_quietly("getblock", &format!("[{}]", hash.get())).await {
        Ok(block) => block,
        Err(CallError::Rpc { message, .. }) if message.contains("pruned") => {
            return Some(PRUNED.to_owned());
        }
        Err(error) => return Some(could_not(&error)),
    };
    let block: Value = serde_json::from_str(block.get()).ok()?;
    let txid = block["tx"][0].as_str()?;
    match node.call_quietly("getrawtransaction", &format!("[\"{txid}\"]")).await {
        Ok(_) => None,
        Err(CallError::Rpc { message, .. }) if message.contains("being indexed") => Some(
            "its index of transactions is still being made: until then getrawtransaction does not find \
             all mined ones"
                .to_owned(),
        ),
        Err(CallError::Rpc { code, message }) if code == NOT_FOUND || message.contains("txindex") => {
            Some(format!("getrawtransaction finds no mined transactions: set {option}"))
        }
        Err(error) => Some(could_not(&error)),
    }
}

/// Blocks come as bytes by REST. Bitcoin Core, src/httpserver.cpp: a path that nothing is
/// registered for is a 404 without a text; those of REST have one.
async fn rest(node: &Arc<Node>) -> Option<String> {
    match node.get_quietly("/rest/chaininfo.json").await {
        Ok((StatusCode::NOT_FOUND, text)) if text.is_empty() => Some(
            "rest=1 lets the explorer read blocks as bytes, which is faster than without"
                .to_owned(),
        ),
        Ok((StatusCode::FORBIDDEN, _)) => {
            Some("its REST is closed to us: the explorer reads blocks faster with it".to_owned())
        }
        Ok((StatusCode::OK, _)) => None,
        Ok((status, _)) => {
            let answer = format!("the node answered {status}");
            Some(could_not_find_out("it has REST", &answer))
        }
        Err(error) => Some(could_not_find_out("it has REST", &error)),
    }
}

#[derive(Deserialize)]
struct Notification {
    #[serde(rename = "type")]
    topic: String,
    address: String,
}

/// Whether the configured publisher is heard and says both things; or that there is one.
async fn news(node: &Arc<Node>) -> Option<String> {
    let published = published(node).await;
    if let Some(publisher) = &node.publisher {
        if let Err(error) = zmq::greet(publisher).await {
            return Some(format!(
                "its ZMQ publisher is not heard ({error}): set zmqpubhashblock and zmqpubhashtx to \
                 the address in zmq, reachable from here; without it news are asked for"
            ));
        }
        let missing: Vec<&str> = TOPICS
            .into_iter()
            .filter(|topic| {
                published.as_ref().is_some_and(|all| all.iter().all(|n| n.topic != *topic))
            })
            .collect();
        return (!missing.is_empty())
            .then(|| format!("it does not publish all news: set {} too", missing.join(" and ")));
    }
    let published = published?;
    let found =
        published.iter().find(|notification| TOPICS.contains(&notification.topic.as_str()))?;
    let address: String = found.address.chars().filter(char::is_ascii_graphic).take(60).collect();
    Some(format!("it publishes its news at {address}: with zmq set they are seen at once"))
}

/// `None` where the node cannot say.
async fn published(node: &Arc<Node>) -> Option<Vec<Notification>> {
    let raw = node.call_quietly("getzmqnotifications", "[]").await.ok()?;
    serde_json::from_str(raw.get()).ok()
}

/// Whether the explorer's calls share a connection, of which dcrd closes every other one.
async fn websocket(node: &Arc<Node>) -> Option<String> {
    matches!(node.multiplex().await, Ok(None)).then(|| {
        "it grants us no websocket at /ws: raise rpcmaxwebsockets, or let what stands before it pass \
         upgrades on; without one the explorer opens a connection for each call"
            .to_owned()
    })
}

/// dcrd keeps four offered methods from its limited user.
async fn limited_user(node: &Arc<Node>) -> Option<String> {
    match node.call_quietly("getmempoolinfo", "[]").await {
        Err(CallError::Rpc { message, .. }) if message.contains("limited user") => {
            Some("it knows us as rpclimituser: use rpcuser and rpcpass".to_owned())
        }
        _ => None,
    }
}

async fn modules(node: &Arc<Node>) -> Option<String> {
    let raw = node.call_quietly("rpc_modules", "[]").await.ok()?;
    let modules: serde_json::Map<String, Value> = serde_json::from_str(raw.get()).ok()?;
    let missing: Vec<&str> =
        GETH_MODULES.into_iter().filter(|module| !modules.contains_key(*module)).collect();
    if missing.is_empty() {
        return None;
    }
    Some(format!(
        "the explorer needs {} as well: --http.api eth,net,web3,debug,txpool",
        missing.join(" and ")
    ))
}

#[derive(Deserialize)]
struct Restriction {
    #[serde(default)]
    restricted: bool,
    /// Blank on a restricted port.
    version: Option<String>,
}

async fn restricted(node: &Arc<Node>) -> Vec<String> {
    let mut advice = Vec::new();
    if let Ok(raw) = node.call_quietly("get_info", "{}").await
        && let Ok(info) = serde_json::from_str::<Restriction>(raw.get())
        && (info.restricted || info.version.as_deref() == Some(""))
    {
        advice
            .push("its port is restricted: the explorer sees no whole mempool over it".to_owned());
    }
    if !node.connections.address().is_private() && node.config.slots.is_none() {
        advice.push(
            "from a public address it takes 3 connections: raise --rpc-max-connections-per-public-ip \
             and slots together"
                .to_owned(),
        );
    }
    advice
}
