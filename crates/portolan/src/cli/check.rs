//! `portolan check`: are the configured nodes right, and what is to be changed?
//!
//! Leaves the asking and the advice to `node`, which knows the dialects, and what this machine
//! lacks to `serve`.
//! Invariant: nothing of a node's credentials is shown.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use node::{Inspection, Node, Pool, disagreements, inspect};
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::output::{Output, table};
use crate::config::{Config, Served};
use crate::failure::Failure;
use crate::serve::{is_usable, obstacles};

/// How long one node may take to answer everything; all are asked at once.
const LONGEST: Duration = Duration::from_secs(60);

/// What is found out about one node.
#[derive(Serialize)]
struct Finding {
    chain: &'static str,
    network: &'static str,
    node: String,
    ok: bool,
    state: &'static str,
    reachable: Option<bool>,
    synced: bool,
    right_chain: Option<bool>,
    height: Option<u64>,
    version: Option<String>,
    /// Methods of the chain's set that the node answers, as far as that could be found out.
    methods: usize,
    /// Methods of the set that it does not answer.
    missing: Vec<&'static str>,
    /// Methods of the set that cannot be asked for without doing something.
    unasked: Vec<&'static str>,
    /// What to change, in the node's configuration or in ours.
    advice: Vec<String>,
}

/// Asks every configured node; the exit code is 1 if one is not usable.
pub(crate) fn run(config: &Config, output: Output) -> Result<ExitCode, Failure> {
    let served = config.served();
    if served.is_empty() {
        return Err(Failure::new(
            "no chain is configured: give [chain.X] with its nodes, in ./portolan.toml or in the \
             file that --config names",
        ));
    }
    // What keeps `serve` from serving is said before anybody is asked.
    let mut obstacles = obstacles(config);
    obstacles.extend(buckets_away(config));
    if !obstacles.is_empty() {
        return Err(Failure::new(obstacles.join("; ")));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let findings = runtime.block_on(ask(served))?;
    runtime.shutdown_background();
    output.print(&findings, |findings| people(findings))?;
    let all_ok = findings.iter().all(|finding| finding.ok);
    Ok(if all_ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Shared buckets that cannot be had; `serve` would make do with shares of the rates.
fn buckets_away(config: &Config) -> Option<String> {
    let address = config.store.buckets().ok()??;
    let why = address.try_it().err()?;
    Some(format!("store.buckets {}: {why}", address.url()))
}

async fn ask(served: Vec<Served>) -> Result<Vec<Finding>, Failure> {
    let mut asked = JoinSet::new();
    let mut pools = Vec::with_capacity(served.len());
    for one in served {
        let pool = Pool::new(one.chain, one.network, one.pool)
            .map_err(|error| Failure::new(format!("chain.{}: {error}", one.chain.slug)))?;
        for node in pool.nodes() {
            let (place, pool) = (asked.len(), Arc::clone(&pool));
            asked.spawn(async move { (place, finding(&pool, &node).await) });
        }
        pools.push(pool);
    }
    let mut findings = asked.join_all().await;
    findings.sort_by_key(|(place, _)| *place);
    let mut findings: Vec<Finding> = findings.into_iter().map(|(_, finding)| finding).collect();
    let mut of_pool = &mut findings[..];
    for pool in pools {
        let nodes = pool.nodes();
        let (own, others) = of_pool.split_at_mut(nodes.len());
        compare(&nodes, own).await;
        of_pool = others;
    }
    Ok(findings)
}

/// Names nodes of one chain that have other blocks than the first of it.
async fn compare(nodes: &[Arc<Node>], findings: &mut [Finding]) {
    let fit = |place: &usize| findings[*place].right_chain == Some(true);
    let places: Vec<usize> = (0..nodes.len()).filter(fit).collect();
    if places.len() < 2 {
        return;
    }
    let nodes: Vec<Arc<Node>> = places.iter().map(|place| Arc::clone(&nodes[*place])).collect();
    for one in timeout(LONGEST, disagreements(&nodes)).await.unwrap_or_default() {
        let finding = &mut findings[places[one.place]];
        finding.ok &= !one.deep;
        finding.advice.push(one.text);
    }
}

async fn finding(pool: &Pool, node: &Arc<Node>) -> Finding {
    let inspection = timeout(LONGEST, inspect(node)).await.unwrap_or_else(|_| Inspection {
        state: node.state(),
        offers: Vec::new(),
        advice: vec!["it takes too long to answer".into()],
    });
    let state = &inspection.state;
    Finding {
        chain: pool.chain().slug,
        network: pool.network().name,
        node: state.host.clone(),
        ok: is_usable(state) && state.identity == Some(true),
        state: state.word(),
        reachable: state.reachable,
        synced: state.reachable == Some(true) && !state.syncing(),
        right_chain: state.identity,
        height: state.height,
        version: state.version.clone(),
        methods: inspection.offers.iter().filter(|offer| offer.there == Some(true)).count(),
        missing: inspection.missing().collect(),
        unasked: inspection.unasked().collect(),
        advice: inspection.advice,
    }
}

fn people(findings: &[Finding]) -> String {
    let dash = || "-".to_owned();
    let row = |finding: &Finding| {
        let set = chain::find(finding.chain).map_or(0, |chain| chain.methods().len());
        vec![
            finding.chain.into(),
            finding.network.into(),
            finding.node.clone(),
            finding.state.into(),
            match finding.right_chain {
                Some(true) => "yes".into(),
                Some(false) => "no".into(),
                None => "unknown".into(),
            },
            finding.height.map_or_else(dash, |height| height.to_string()),
            finding.version.clone().unwrap_or_else(dash),
            match finding.unasked.len() {
                0 => format!("{} of {set}", finding.methods),
                unasked => format!("{} of {set}, {unasked} not asked", finding.methods),
            },
        ]
    };
    let head = ["chain", "network", "node", "state", "right chain", "height", "version", "methods"];
    let mut text = table(&head, &findings.iter().map(row).collect::<Vec<_>>());
    for finding in findings {
        for advice in &finding.advice {
            text += &format!("\n{} {}: {advice}", finding.chain, finding.node);
        }
    }
    text
}
