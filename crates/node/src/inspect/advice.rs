//! What an operator should change so that a node serves all that is offered on its chain.
//!
//! Invariant: advice names the node's own option, and shows neither credential nor path.

use chain::Dialect;

use super::inspection::Inspection;
use crate::node::Node;
use crate::{NodeState, Verdict};

/// Advice from what the probe saw.
pub(super) fn by_verdict(node: &Node, state: &NodeState) -> Vec<String> {
    let note = state.note.clone().unwrap_or_default();
    let (chain, network) = (node.chain().name, node.network().name);
    match state.verdict {
        Verdict::Foreign => {
            vec![format!("it is no node of {chain} {network}: correct url or network. {note}")]
        }
        Verdict::Syncing => {
            vec!["wait until it is synced; it takes no calls until then".to_owned()]
        }
        Verdict::Unprobed if note.contains("RPC is disabled") => {
            vec!["the release has expired: upgrade it, or start it with -expire=0".to_owned()]
        }
        Verdict::Unprobed => {
            vec![format!("it does not answer like a node of {chain}: {note}")]
        }
        // Told where it is known why.
        Verdict::Refused | Verdict::Ready => Vec::new(),
    }
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
