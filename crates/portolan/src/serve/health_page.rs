//! What readiness and metrics say.
//!
//! Invariant: labels come from closed sets (slugs, places in the configuration), and of a node
//! nothing is shown but host, port and what it says of itself (decision B15).

use std::sync::Arc;

use index::ChainIndex;
use meter::Meter;
use node::{NodeState, Pool};
use prometheus::{IntGaugeVec, Opts, Registry, TextEncoder};
use serde::Serialize;

use super::index_metrics::indexes;
use super::meter_metrics::meter;
use super::program_metrics::program;

/// Readiness of the process.
#[derive(Serialize)]
struct Readiness {
    ready: bool,
    draining: bool,
    store: &'static str,
    chains: Vec<ChainState>,
}

/// One chain.
#[derive(Serialize)]
struct ChainState {
    chain: &'static str,
    network: &'static str,
    usable: bool,
    height: Option<u64>,
    nodes: Vec<NodeView>,
    /// How the explorer's index stands, where one is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<&'static str>,
}

/// One node.
#[derive(Serialize)]
struct NodeView {
    host: String,
    state: &'static str,
    height: Option<u64>,
    version: Option<String>,
    note: Option<String>,
}

/// Returns whether calls can be served, and the page that says so: at least one node is usable, and
/// the process serves. It may while a store that machines share is away.
pub(super) fn readiness(
    serves: bool,
    (draining, store_answers): (bool, bool),
    pools: &[Arc<Pool>],
    kept: &[ChainIndex],
) -> (bool, String) {
    let chains: Vec<ChainState> = pools.iter().map(|pool| chain_state(pool, kept)).collect();
    let ready = serves && chains.iter().any(|chain| chain.usable);
    let page = Readiness {
        ready,
        draining,
        store: if store_answers { "open" } else { "unavailable" },
        chains,
    };
    (ready, serde_json::to_string(&page).unwrap_or_default() + "\n")
}

fn chain_state(pool: &Pool, kept: &[ChainIndex]) -> ChainState {
    let index = kept.iter().find(|index| index.chain() == pool.chain());
    let states = pool.states();
    ChainState {
        chain: pool.chain().slug,
        network: pool.network().name,
        usable: states.iter().any(is_usable),
        height: pool.tip(),
        nodes: states.into_iter().map(node_view).collect(),
        index: index.map(index_state),
    }
}

/// How an index stands, in a word.
fn index_state(index: &ChainIndex) -> &'static str {
    match index.standing() {
        standing if standing.stopped.is_some() => "stopped",
        standing if standing.in_sync => "in sync",
        standing if standing.first_load.is_some() => "loading",
        _ => "behind",
    }
}

/// Can calls be answered through it, as far as is known? A node that no probe has reached is tried
/// all the same, but nobody should be sent here for it.
pub(crate) fn is_usable(state: &NodeState) -> bool {
    state.usable() && state.reachable != Some(false) && !state.ejected
}

fn node_view(state: NodeState) -> NodeView {
    NodeView {
        state: state.word(),
        host: state.host,
        height: state.height,
        version: state.version,
        note: state.note,
    }
}

/// Returns the page of Prometheus: what the services count, a row for each node and each
/// index, and what is to be told of the program.
pub(super) fn metrics<'a>(
    services: impl IntoIterator<Item = &'a Registry>,
    counted: &Meter,
    pools: &[Arc<Pool>],
    kept: &[ChainIndex],
) -> String {
    let mut families: Vec<_> = services.into_iter().flat_map(Registry::gather).collect();
    families.extend(nodes(pools).gather());
    families.extend(indexes(kept).gather());
    families.extend(meter(counted).gather());
    families.extend(program().gather());
    TextEncoder::new().encode_to_string(&families).unwrap_or_default()
}

fn nodes(pools: &[Arc<Pool>]) -> Registry {
    let registry = Registry::new();
    let gauge = |name: &str, help: &str| {
        let gauge = IntGaugeVec::new(Opts::new(name, help), &["chain", "node"])
            .expect("the name and the labels are valid");
        registry.register(Box::new(gauge.clone())).expect("each name is registered once");
        gauge
    };
    let usable = gauge("portolan_node_usable", "1 if calls go to the node");
    let height = gauge("portolan_node_height_blocks", "Height of the node's best block");
    let in_flight =
        gauge("portolan_node_in_flight_calls", "Calls that hold a slot or wait for one");
    let states = IntGaugeVec::new(
        Opts::new("portolan_node_state", "1 for the state that the node is in"),
        &["chain", "node", "state"],
    )
    .expect("the name and the labels are valid");
    registry.register(Box::new(states.clone())).expect("each name is registered once");
    for pool in pools {
        for (place, state) in pool.states().iter().enumerate() {
            let place = place.to_string();
            let labels = [pool.chain().slug, place.as_str()];
            for word in NodeState::WORDS {
                let labels = [pool.chain().slug, place.as_str(), word];
                states.with_label_values(&labels).set((word == state.word()).into());
            }
            usable.with_label_values(&labels).set(is_usable(state).into());
            in_flight.with_label_values(&labels).set(wide(state.in_flight));
            if let Some(blocks) = state.height {
                height.with_label_values(&labels).set(i64::try_from(blocks).unwrap_or(i64::MAX));
            }
        }
    }
    registry
}

fn wide(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
