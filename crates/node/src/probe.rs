//! Asks a node, every two seconds, whether it is there, on the right chain, and synced.
//!
//! What each dialect is asked stands in `probe/`; what follows from it for calls, in `health` and
//! `choice`. Invariant: an answer that is not understood never takes a node out, a well-formed
//! genesis of another chain always does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chain::Dialect;

use crate::health::{Health, Verdict};
use crate::node::Node;
use crate::says::Refusal;
use crate::{CallError, Cause, NodeState, Sent};

mod core;
mod geth;
mod monerod;
mod sight;

use sight::{Identity, Sight};

/// A node's identity is asked again after this many probes (30 s), and after each failure.
const IDENTITY_EVERY: u32 = 15;
/// `RPC_IN_WARMUP` of the Core family, `src/rpc/protocol.h`.
const IN_WARMUP: i64 = -28;
/// `CORE_RPC_ERROR_CODE_CORE_BUSY` of monerod, `src/rpc/core_rpc_server_error_codes.h`.
const CORE_BUSY: i64 = -9;
const CHANGED: &str = "a node changed its state";
/// Longest text of a node that is kept, in characters.
const LONGEST_NOTE: usize = 400;

/// Probes `node` for ever.
pub(crate) async fn keep_probing(node: Arc<Node>, interval: Duration) {
    let (mut until_identity, mut unread) = (0, None);
    loop {
        node.credentials.refresh();
        tell_of_file(&node, &mut unread);
        let known = probe(&node, until_identity == 0).await.is_ok_and(|known| known);
        until_identity = match known {
            true if until_identity == 0 => IDENTITY_EVERY,
            true => until_identity - 1,
            false => 0,
        };
        tokio::time::sleep(interval).await;
    }
}

/// One probe, and what it changes. Whether the node's identity is known to be right.
///
/// # Errors
/// There was no answer.
pub(crate) async fn probe(node: &Arc<Node>, ask_identity: bool) -> Result<bool, CallError> {
    // Calls between two probes may have ejected it.
    tell_of_change(node, &node.state());
    let known = match look(node, ask_identity).await {
        Ok((sight, identity)) => Ok(note_sight(&node.health, sight, identity, ask_identity)),
        Err(error) => {
            note_failure(node, &error);
            Err(error)
        }
    };
    tell_of_change(node, &node.state());
    node.health.probed.send_replace(true);
    known
}

/// Tells of a state that was not told yet. An outage is a warning, so is every state that calls
/// cannot go on in, unless the log was warned of the node less than a minute ago.
fn tell_of_change(node: &Node, state: &NodeState) {
    let (chain, host, word, now) = (node.chain().slug, node.host(), state.word(), Instant::now());
    let Some(changes) = node.health.state_lines.due(word, now) else { return };
    let changes = (changes > 1).then_some(changes);
    let note = state.note.as_deref();
    match state.is_outage() || state.is_trouble() && !node.health.complaints.warned_lately(now) {
        true => {
            node.health.complaints.note_warning(now);
            tracing::warn!(chain, node = host, state = word, changes, note, "{CHANGED}");
        }
        false => tracing::info!(chain, node = host, state = word, changes, note, "{CHANGED}"),
    }
}

/// Says once that a file of credentials cannot be read, and that it can be again.
fn tell_of_file(node: &Node, told: &mut Option<Arc<String>>) {
    let unread = node.credentials.unread();
    if unread == *told {
        return;
    }
    let (chain, host) = (node.chain().slug, node.host());
    match &unread {
        Some(file) => {
            tracing::warn!(chain, node = host, %file, "credentials of a node cannot be read");
        }
        None => tracing::info!(chain, node = host, "credentials of a node can be read again"),
    }
    *told = unread;
}

async fn look(
    node: &Arc<Node>,
    ask_identity: bool,
) -> Result<(Sight, Option<Identity>), CallError> {
    let sight = understood(match node.chain().dialect {
        Dialect::Core | Dialect::LegacyCore | Dialect::Zebrad | Dialect::Dcrd => {
            core::tip(node).await
        }
        Dialect::Geth => geth::tip(node).await,
        Dialect::Monerod => monerod::tip(node).await,
    })?;
    let Sight::Seen(tip) = &sight else { return Ok((sight, None)) };
    if !ask_identity {
        return Ok((sight, None));
    }
    let identity = match node.chain().dialect {
        Dialect::Core | Dialect::LegacyCore | Dialect::Zebrad | Dialect::Dcrd => {
            core::identity(node, tip.height).await?
        }
        Dialect::Geth => geth::identity(node).await?,
        Dialect::Monerod => monerod::identity(node).await?,
    };
    Ok((sight, Some(identity)))
}

/// The hash of the node's block at `height`; nothing where it has none.
///
/// # Errors
/// There was no answer.
pub(crate) async fn hash_at(node: &Arc<Node>, height: u64) -> Result<Option<String>, CallError> {
    match node.chain().dialect {
        Dialect::Core | Dialect::LegacyCore | Dialect::Zebrad | Dialect::Dcrd => {
            core::block_hash(node, height).await
        }
        Dialect::Geth => geth::block_hash(node, height).await,
        Dialect::Monerod => monerod::block_hash(node, height).await,
    }
}

/// An answer is a sight whatever it says; no answer is an error.
fn understood(answer: Result<Sight, CallError>) -> Result<Sight, CallError> {
    match answer {
        Err(CallError::Rpc { code: IN_WARMUP | CORE_BUSY, .. }) => Ok(Sight::WarmingUp),
        Err(error @ (CallError::Rpc { .. } | CallError::Shape { .. })) => {
            Ok(Sight::NotUnderstood(error.to_string()))
        }
        other => other,
    }
}

fn note_sight(
    health: &Health,
    sight: Sight,
    identity: Option<Identity>,
    asked_identity: bool,
) -> bool {
    health.probe_answered();
    let (tip, note) = match sight {
        Sight::Seen(tip) => (Some(tip), None),
        Sight::WarmingUp => (None, Some("the node is warming up".to_owned())),
        Sight::NotUnderstood(text) => (None, Some(text)),
    };
    health.change_facts(|facts| {
        facts.reachable = Some(true);
        facts.note = note.clone().map(shortened);
    });
    let Some(tip) = tip else {
        let warming = note.as_deref() == Some("the node is warming up");
        health.set_verdict(if warming { Verdict::Syncing } else { Verdict::Unprobed });
        health.forget_height();
        return false;
    };
    health.set_height(tip.height);
    if let Some(identity) = identity {
        note_identity(health, identity);
    }
    let right = health.facts().identity;
    health.set_verdict(match right {
        Some(false) => Verdict::Foreign,
        None if asked_identity => Verdict::Unprobed,
        _ if tip.syncing => Verdict::Syncing,
        _ => Verdict::Ready,
    });
    right == Some(true)
}

fn note_identity(health: &Health, identity: Identity) {
    health.set_version_number(identity.version_number);
    health.change_facts(|facts| {
        facts.version = identity.version.map(shortened);
        facts.identity = identity.right.as_ref().map(Result::is_ok);
        facts.note = match identity.right {
            Some(Ok(())) => None,
            Some(Err(wrong)) => Some(shortened(wrong)),
            None => Some("the node's genesis block could not be read".to_owned()),
        };
    });
}

fn note_failure(node: &Node, error: &CallError) {
    let health = &node.health;
    let CallError::Node(failed) = error else {
        // Every slot taken, by the node's word or ours: it lives.
        return;
    };
    if failed.cause == Cause::Busy {
        return;
    }
    health.probe_failed();
    let hung_up = node.chain().dialect == Dialect::Zebrad
        && failed.cause == Cause::Broken
        && failed.sent == Sent::Maybe
        && !failed.got_bytes
        && !failed.reused_connection;
    let refused = hung_up || failed.cause == Cause::Unauthorized;
    if refused {
        health.set_verdict(Verdict::Refused);
    } else if health.verdict() == Verdict::Refused {
        health.set_verdict(Verdict::Unprobed);
    }
    health.change_facts(|facts| {
        // Whoever does not speak our language is not there for us.
        facts.reachable = Some((failed.got_bytes || hung_up) && failed.cause != Cause::Tls);
        facts.note = Some(shortened(match hung_up {
            true => Refusal::HungUp.to_string(),
            false => failed.to_string(),
        }));
    });
}

/// A text of a node, fit for a log line and a table.
fn shortened(text: String) -> String {
    let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    printable.take(LONGEST_NOTE).collect()
}
