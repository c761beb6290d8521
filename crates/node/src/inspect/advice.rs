//! What an operator should change so that a node serves all that is offered on its chain.
//!
//! Invariant: advice names the node's own option, and shows neither credential nor path.

use std::sync::Arc;

use chain::Dialect;
use serde::Deserialize;
use serde_json::Value;

use super::Inspection;
use crate::node::Node;
use crate::{CallError, Cause, NodeState, Standing};

/// dcrd's `rpcmaxclients` by default.
const DCRD_CLIENTS: usize = 10;
/// Calls that Bitcoin ABC takes at once by default: 4 threads and a queue of 16.
const CORE_CALLS: usize = 16;
/// Modules of geth that the explorer uses besides the default ones.
const GETH_MODULES: [&str; 2] = ["debug", "txpool"];

/// Advice where the node gave no answer.
pub(super) fn without_answer(node: &Node, error: &CallError) -> Vec<String> {
    let dialect = node.chain().dialect;
    let CallError::Node(failed) = error else {
        return vec!["the node is too busy to answer: give it fewer slots".to_owned()];
    };
    let mut advice = match failed.cause {
        Cause::Connect | Cause::TimedOutFirstByte | Cause::TimedOutWhole => {
            vec![format!("is it running and may this machine reach it? {}", listening(dialect))]
        }
        Cause::Tls => vec![tls(dialect).to_owned()],
        Cause::Unauthorized => vec![credentials(dialect).to_owned()],
        Cause::Malformed | Cause::Broken => {
            vec![
                "is this the port of its RPC, and not that of its peers, and is it http or https?"
                    .to_owned(),
            ]
        }
        Cause::TooLarge | Cause::Busy | Cause::SlowReader => Vec::new(),
    };
    if let Some(port) = node.network().default_port
        && failed.cause == Cause::Connect
        && port != node.line.address().port
    {
        advice.push(format!("its port is {port} unless it is told otherwise"));
    }
    advice
}

fn listening(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Core | Dialect::LegacyCore => "It needs server=1, rpcbind and rpcallowip.",
        Dialect::Zebrad => "It needs rpc.listen_addr in zebrad.toml.",
        Dialect::Dcrd => "It needs rpclisten.",
        Dialect::Geth => "It needs --http, --http.addr and --http.port.",
        Dialect::Monerod => "It needs --rpc-bind-ip and --confirm-external-bind.",
    }
}

fn tls(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Dcrd => {
            "set ca to a copy of the node's rpc.cert; if the name differs, set server_name, or make \
             the certificate anew with --altdnsnames"
        }
        _ => {
            "set ca to the authority that signed the node's certificate, or server_name to its name"
        }
    }
}

fn credentials(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Core | Dialect::LegacyCore => {
            "set user and password as in its rpcauth, or cookie to its .cookie file, readable for us"
        }
        Dialect::Zebrad => "set cookie to the file .cookie in its rpc.cookie_dir, readable for us",
        Dialect::Dcrd => "set user and password as its rpcuser and rpcpass",
        Dialect::Geth => "its 8545 port needs no credentials; is there a proxy before it?",
        Dialect::Monerod => "set auth to digest, user and password as in its --rpc-login",
    }
}

/// Advice from what the probe saw.
pub(super) fn by_standing(node: &Node, state: &NodeState) -> Vec<String> {
    let note = state.note.clone().unwrap_or_default();
    let (chain, network) = (node.chain().name, node.network().name);
    match state.standing {
        Standing::Foreign => {
            vec![format!("it is no node of {chain} {network}: correct url or network. {note}")]
        }
        Standing::Syncing => {
            vec!["wait until it is synced; it takes no calls until then".to_owned()]
        }
        Standing::Unprobed if note.contains("RPC is disabled") => {
            vec!["the release has expired: upgrade it, or start it with -expire=0".to_owned()]
        }
        Standing::Unprobed => {
            vec![format!("it does not answer like a node of {chain}: {note}")]
        }
        Standing::Ready => Vec::new(),
    }
}

/// Advice from the node's settings, as far as they show.
pub(super) async fn by_settings(node: &Arc<Node>) -> Vec<String> {
    let mut advice = Vec::new();
    let slots = node.config.slots.unwrap_or_default();
    match node.chain().dialect {
        Dialect::Core | Dialect::LegacyCore => {
            if slots > CORE_CALLS {
                advice.push(format!("{slots} slots need rpcworkqueue={slots} or more"));
            }
            advice.extend(transaction_index(node, "txindex=1").await);
        }
        Dialect::Dcrd => {
            if slots > DCRD_CLIENTS {
                advice.push(format!("{slots} slots need rpcmaxclients={slots} or more"));
            }
            advice.extend(limited_user(node).await);
            advice.extend(transaction_index(node, "--txindex").await);
        }
        Dialect::Geth => advice.extend(modules(node).await),
        Dialect::Monerod => advice.extend(restricted(node).await),
        Dialect::Zebrad => {}
    }
    advice
}

/// Advice about methods that the node does not answer.
pub(super) fn by_missing(node: &Node, inspection: &Inspection) -> Option<String> {
    let missing: Vec<&str> = inspection.missing().collect();
    if missing.is_empty() {
        return None;
    }
    let why = match node.chain().dialect {
        Dialect::Geth => "; enable their namespace in --http.api or use a newer release",
        _ => "; use a newer release",
    };
    Some(format!(
        "it does not know {}{why}, or take them out of the chain's methods",
        missing.join(", ")
    ))
}

/// Whether transactions that no wallet knows are found: the coinbase of block 1 is such a one.
async fn transaction_index(node: &Arc<Node>, option: &str) -> Option<String> {
    let hash = node.call_quietly("getblockhash", "[1]").await.ok()?;
    let block = match node.call_quietly("getblock", &format!("[{}]", hash.get())).await {
        Ok(block) => block,
        Err(CallError::Rpc { message, .. }) if message.contains("pruned") => {
            return Some("it is pruned: old blocks are not served without prune=0".to_owned());
        }
        Err(_) => return None,
    };
    let block: Value = serde_json::from_str(block.get()).ok()?;
    let txid = block["tx"][0].as_str()?;
    match node.call_quietly("getrawtransaction", &format!("[\"{txid}\"]")).await {
        Err(CallError::Rpc { .. }) => {
            Some(format!("getrawtransaction finds no mined transactions: set {option}"))
        }
        _ => None,
    }
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
    #[serde(default)]
    version: String,
}

async fn restricted(node: &Arc<Node>) -> Vec<String> {
    let mut advice = Vec::new();
    if let Ok(raw) = node.call_quietly("get_info", "{}").await
        && let Ok(info) = serde_json::from_str::<Restriction>(raw.get())
        && (info.restricted || info.version.is_empty())
    {
        advice
            .push("its port is restricted: the explorer sees no whole mempool over it".to_owned());
    }
    if !node.line.address().is_private() && node.config.slots.is_none() {
        advice.push(
            "from a public address it takes 3 connections: raise --rpc-max-connections-per-public-ip \
             and slots together"
                .to_owned(),
        );
    }
    advice
}
