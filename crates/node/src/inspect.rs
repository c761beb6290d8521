//! Looks closely at one node for `check`: is it there, right and synced, which methods does it
//! answer, and what is to be changed in its own configuration.
//!
//! What to advise stands in `inspect/`: `reach` for nodes that do not answer us, `settings` and
//! `advice` for those that do, `unknown` for what their answers do not tell; `agreement` compares
//! several. Invariant: nothing that is asked changes anything on the node or costs it much; a method is
//! probed with parameters that it refuses, or that are its cheapest.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use chain::{Dialect, Method};
use http::StatusCode;

use crate::ids::Ids;
use crate::node::{Node, Route};
use crate::probe::probe;
use crate::{CallError, Cause, NodeError, Verdict};

mod advice;
mod agreement;
mod inspection;
mod reach;
mod settings;
mod unknown;

pub use agreement::{Disagreement, disagreements};
pub use inspection::{Inspection, Offer};

/// JSON-RPC's "method not found".
const NO_METHOD: i64 = -32601;

/// Asks `node` everything that `check` shows. The answers also count as a probe.
pub async fn inspect(node: &Arc<Node>) -> Inspection {
    let outcome = probe(node, true).await;
    let mut state = node.state();
    let mut inspection =
        Inspection { state: state.clone(), offers: Vec::new(), advice: Vec::new() };
    if let Err(error) = outcome {
        inspection.advice = reach::without_answer(node, &error).await;
        return inspection;
    }
    inspection.advice = reach::unread_file(node);
    inspection.advice.extend(advice::by_verdict(node, &state));
    if matches!(state.verdict, Verdict::Ready | Verdict::Syncing) && state.identity == Some(true) {
        inspection.offers = offers(node).await;
        inspection.advice.extend(settings::advice(node).await);
        inspection.advice.extend(advice::by_missing(node, &inspection));
    }
    state = node.state();
    inspection.state = state;
    inspection
}

/// The chain's methods and whether the node answers them.
async fn offers(node: &Arc<Node>) -> Vec<Offer> {
    let listed = match node.chain().dialect {
        Dialect::Core | Dialect::LegacyCore | Dialect::Dcrd => listed(node).await,
        Dialect::Zebrad | Dialect::Geth | Dialect::Monerod => None,
    };
    let mut offers = Vec::new();
    for method in node.chain().methods().iter() {
        let name = method.alias_of.unwrap_or(method.name);
        let there = match &listed {
            Some(listed) if listed.contains(name) => Some(true),
            // Hidden commands are not in the list, but have a page of their own.
            Some(_) => has_help(node, name).await,
            None => answers(node, method).await,
        };
        offers.push(Offer { method: method.name, there });
    }
    offers
}

/// The commands that `help` lists.
async fn listed(node: &Arc<Node>) -> Option<HashSet<String>> {
    let raw = node.call_quietly("help", "[]").await.ok()?;
    let text: String = serde_json::from_str(raw.get()).ok()?;
    let words = text.lines().filter_map(|line| line.split_whitespace().next());
    Some(words.map(str::to_owned).collect())
}

async fn has_help(node: &Arc<Node>, name: &str) -> Option<bool> {
    match node.call_quietly("help", &format!("[\"{name}\"]")).await {
        Ok(raw) => Some(!raw.get().starts_with("\"help: unknown command")),
        // dcrd, internal/rpcserver/rpcserver.go: "Unknown method: X". Any other error is none about it.
        Err(CallError::Rpc { code, message }) => {
            let is_unknown = message.to_ascii_lowercase().contains("unknown");
            (code == NO_METHOD || is_unknown).then_some(false)
        }
        Err(_) => None,
    }
}

/// Whether the node knows a method that it is called with harmless parameters.
async fn answers(node: &Arc<Node>, method: &Method) -> Option<bool> {
    let monerod = node.chain().dialect == Dialect::Monerod;
    let params = if monerod { harmless(method)? } else { "[]" };
    if method.path {
        let path = format!("/{}", method.name);
        let body = Bytes::from_static(params.as_bytes());
        return match node.ask_quietly(Route::Path(&path), body, Ids::None).await {
            Ok((StatusCode::NOT_FOUND, _)) => Some(false),
            Ok((StatusCode::OK, _)) => Some(true),
            // More than is read.
            Err(CallError::Node(NodeError { cause: Cause::TooLarge, .. })) => Some(true),
            _ => None,
        };
    }
    match node.call_quietly(method.name, params).await {
        Ok(_) => Some(true),
        Err(CallError::Rpc { code, .. }) => Some(code != NO_METHOD),
        Err(_) => None,
    }
}

/// Parameters of a monerod method that cost it nothing and are no mistake: it bans hosts that make
/// some. `None`: there are none such.
fn harmless(method: &Method) -> Option<&'static str> {
    Some(match method.alias_of.unwrap_or(method.name) {
        "on_get_block_hash" => "[0]",
        "get_block" | "get_block_header_by_height" => r#"{"height":0}"#,
        "get_block_headers_range" => r#"{"start_height":0,"end_height":0}"#,
        "get_output_distribution" => r#"{"amounts":[1],"from_height":0,"to_height":0}"#,
        "get_output_histogram" => r#"{"amounts":[1]}"#,
        "get_outs" => r#"{"outputs":[]}"#,
        "get_transactions" => r#"{"txs_hashes":[]}"#,
        "is_key_image_spent" => r#"{"key_images":[]}"#,
        "get_block_header_by_hash" | "send_raw_transaction" => return None,
        _ => "{}",
    })
}
