//! `portolan check`: are the configured nodes right, and what is to be changed?
//!
//! Leaves the asking to the pools, which ask what they ask before they let a call through.
//! Invariant: nothing of a node's credentials is shown.

use std::process::ExitCode;
use std::time::Duration;

use node::{NodeState, Pool};
use serde::Serialize;
use tokio::time::timeout;

use super::output::{Output, table};
use crate::config::{Config, Served};
use crate::failure::Failure;
use crate::serve::{is_usable, word};

/// How long all nodes together may take to be asked.
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
    /// What is wrong and what to change.
    advice: Option<String>,
}

/// Asks every configured node; the exit code is 1 if one is not usable.
pub(crate) fn run(config: &Config, output: Output) -> Result<ExitCode, Failure> {
    let served = config.served();
    if served.is_empty() {
        return Err(Failure::new("no chain is configured: give [chain.X] with its nodes"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let findings = runtime.block_on(ask(served))?;
    runtime.shutdown_background();
    output.print(&findings, |findings| people(findings))?;
    let all_ok = findings.iter().all(|finding| finding.ok);
    Ok(if all_ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn ask(served: Vec<Served>) -> Result<Vec<Finding>, Failure> {
    let mut pools = Vec::new();
    for one in served {
        let pool = Pool::new(one.chain, one.network, one.pool)
            .map_err(|error| Failure::new(format!("chain.{}: {error}", one.chain.slug)))?;
        pool.start();
        pools.push(pool);
    }
    // What was not found out by then shows as such.
    let _ = timeout(LONGEST, async {
        for pool in &pools {
            pool.probed().await;
        }
    })
    .await;
    Ok(pools.iter().flat_map(|pool| findings(pool)).collect())
}

fn findings(pool: &Pool) -> Vec<Finding> {
    let states = pool.states().into_iter();
    states.map(|state| finding(pool, state)).collect()
}

fn finding(pool: &Pool, state: NodeState) -> Finding {
    Finding {
        chain: pool.chain().slug,
        network: pool.network().name,
        ok: is_usable(&state) && state.identity == Some(true),
        state: word(&state),
        reachable: state.reachable,
        synced: state.reachable == Some(true) && !state.syncing(),
        right_chain: state.identity,
        node: state.host,
        height: state.height,
        version: state.version,
        advice: state.note,
    }
}

fn people(findings: &[Finding]) -> String {
    let dash = || "-".to_owned();
    let row = |finding: &Finding| {
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
            finding.advice.clone().unwrap_or_else(dash),
        ]
    };
    let head = ["chain", "network", "node", "state", "right chain", "height", "version", "advice"];
    table(&head, &findings.iter().map(row).collect::<Vec<_>>())
}
