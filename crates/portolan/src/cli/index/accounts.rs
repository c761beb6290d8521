//! `portolan index verify` of a chain of accounts: the audit of its index with itself, and what a
//! node says of the same blocks, traces and balances.

use std::process::ExitCode;

use index::account::{Comparison, Incomparable, Store, Verdict};
use index::{Memory, Progress};
use serde::Serialize;

use super::asked::ask_one;
use super::findings::faults_text;
use crate::cli::output::{Output, complain, number};
use crate::config::{Config, Served};
use crate::failure::Failure;
use crate::serve::index_dir;

/// What an audit found.
#[derive(Serialize)]
struct Audit {
    chain: &'static str,
    ok: bool,
    from_height: Option<u32>,
    height: Option<u32>,
    best_hash: Option<String>,
    blocks: u64,
    transactions: u64,
    logs: u64,
    internal_operations: u64,
    untraced_blocks: u64,
    fault_count: u64,
    faults: Vec<String>,
    /// What the node says: `same`, `differs`, or why it was not compared.
    node: String,
    compared_blocks: u64,
    compared_traces: u64,
    compared_balances: u64,
    not_compared: u64,
}

/// Carries `verify` out; every block is read from the node again where `all` is given, else some.
pub(super) fn verify(
    config: &Config,
    served: &Served,
    all: bool,
    output: Output,
) -> Result<ExitCode, Failure> {
    let failed = |error: index::IndexError| Failure::new(error.to_string());
    let dir = index_dir(&config.store.dir, served.chain.slug);
    let memory = Memory::new(64 << 20, 8 << 20);
    let store =
        Store::open_read_only(&dir, served.chain, served.network, &memory).map_err(failed)?;
    let mut told = "";
    let mut tell = |progress: Progress| {
        if progress.step != told {
            told = progress.step;
            complain(&format!("portolan: walking the {told}"));
        }
    };
    let verdict = store.verify(&mut tell).map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let compared = runtime.block_on(compare(served, &store, all, &mut tell));
    runtime.shutdown_background();
    let audit = audit(served, verdict, compared);
    output.print(&audit, audit_text)?;
    Ok(if audit.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What a node says, or why none was asked.
async fn compare(
    served: &Served,
    store: &Store,
    all: bool,
    tell: impl FnMut(Progress),
) -> Result<Comparison, Incomparable> {
    let asked = ask_one(served, async |node| store.compare(node, all, tell).await).await;
    asked.map_err(|why| Incomparable::Node(why.to_string()))?
}

fn audit(served: &Served, verdict: Verdict, compared: Result<Comparison, Incomparable>) -> Audit {
    let (node, compared) = match compared {
        Ok(compared) if compared.fault_count == 0 => ("same".to_owned(), compared),
        Ok(compared) => ("differs".to_owned(), compared),
        Err(why) => (format!("not compared: {why}"), Comparison::default()),
    };
    let fault_count = verdict.fault_count + compared.fault_count;
    Audit {
        chain: served.chain.slug,
        ok: fault_count == 0,
        from_height: verdict.from_height,
        height: verdict.tip.map(|tip| tip.height),
        best_hash: verdict.tip.map(|tip| tip.hash.to_string()),
        blocks: verdict.blocks,
        transactions: verdict.transactions,
        logs: verdict.logs,
        internal_operations: verdict.operations,
        untraced_blocks: verdict.untraced,
        fault_count,
        faults: verdict.faults.into_iter().chain(compared.faults).collect(),
        node,
        compared_blocks: compared.blocks,
        compared_traces: compared.traces,
        compared_balances: compared.balances,
        not_compared: compared.not_compared,
    }
}

fn audit_text(audit: &Audit) -> String {
    let shown = |count: u64| number(Some(count));
    let mut text = format!(
        "{}: {} blocks, {} of them not traced, {} transactions, {} logs, {} internal operations\n",
        audit.chain,
        shown(audit.blocks),
        shown(audit.untraced_blocks),
        shown(audit.transactions),
        shown(audit.logs),
        shown(audit.internal_operations),
    );
    text += &format!(
        "Node: {}; {} blocks, the calls of {}, {} balances, and {} that it does not have any more\n",
        audit.node,
        shown(audit.compared_blocks),
        shown(audit.compared_traces),
        shown(audit.compared_balances),
        shown(audit.not_compared),
    );
    text + &faults_text(audit.chain, &audit.faults, audit.fault_count)
}
