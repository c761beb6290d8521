//! `portolan index verify`: the audit of an index with itself, and what the node says of its sums.
//!
//! Leaves indexes of rings to `ring_audit`.

use std::process::ExitCode;
use std::sync::Arc;

use chain::Family;
use chain::utxo::Layout;
use index::utxo::{Agreement, Store, Verdict};
use index::{Again, AtRest, Progress};
use node::{CallError, Node, Weight};
use serde::Serialize;
use serde_json::value::RawValue;

use super::asked::ask_one;
use super::findings::{again_text, faults_text};
use super::{accounts, read_only, ring_audit, served};
use crate::cli::output::{Output, complain, number};
use crate::config::{Config, Served};
use crate::failure::Failure;
use crate::serve::index_dir;

/// What an audit found.
#[derive(Serialize)]
struct Audit {
    chain: &'static str,
    ok: bool,
    height: Option<u32>,
    best_hash: Option<String>,
    blocks: u64,
    transactions: u64,
    scripts: u64,
    unspent_outputs: u64,
    unspent_total: String,
    /// What is in each shielded pool, where the chain has some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pools: Vec<Pooled>,
    /// What is in the treasury, where the chain has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    treasury: Option<String>,
    fault_count: u64,
    faults: Vec<String>,
    /// What the node's own count says: `same`, `differs: …`, or why it was not compared.
    node: String,
    /// Blocks that were read from the node again.
    compared_blocks: u64,
    /// Blocks that were to be, and that it did not give.
    not_compared: u64,
}

/// What is in a pool, in the smallest unit.
#[derive(Serialize)]
struct Pooled {
    id: &'static str,
    value: String,
}

/// Carries `verify` out.
pub(super) fn verify(
    config: &Config,
    slug: &str,
    blocks: bool,
    output: Output,
) -> Result<ExitCode, Failure> {
    let served = served(config, slug)?;
    let dir = index_dir(&config.store.dir, slug);
    let (holds, _) = AtRest::identities(&dir, served.chain, served.network)
        .map_err(|error| Failure::new(error.to_string()))?;
    if holds.is_none() {
        return Err(Failure::new(format!("{} holds nothing yet", dir.display())));
    }
    match served.chain.family {
        Family::Utxo(_) => audit(config, &served, blocks, output),
        Family::Ring => ring_audit::audit(config, &served, blocks, output),
        Family::Account => accounts::verify(config, &served, blocks, output),
    }
}

fn audit(
    config: &Config,
    served: &Served,
    blocks: bool,
    output: Output,
) -> Result<ExitCode, Failure> {
    let store = read_only(config, served)?;
    let mut told = "";
    let verdict = store
        .verify(|progress: Progress| {
            if progress.step != told {
                told = progress.step;
                complain(&format!("portolan: walking the {told}"));
            }
        })
        .map_err(|error| Failure::new(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (node, agrees) = runtime.block_on(ask_node(served, &verdict));
    let again = match blocks {
        true => runtime.block_on(read_again(served, &store))?,
        false => Again::default(),
    };
    runtime.shutdown_background();
    let fault_count = verdict.fault_count + again.fault_count;
    let layout = served.chain.format().map(|format| format.layout);
    let audit = Audit {
        chain: served.chain.slug,
        ok: fault_count == 0 && agrees,
        height: verdict.tip.map(|tip| tip.height),
        best_hash: verdict.tip.map(|tip| tip.hash.to_string()),
        blocks: verdict.blocks,
        transactions: verdict.transactions,
        scripts: verdict.scripts,
        unspent_outputs: verdict.unspent_outputs,
        unspent_total: verdict.unspent_total.to_string(),
        pools: match layout {
            Some(Layout::Shielded) => pools(&verdict),
            _ => Vec::new(),
        },
        treasury: (layout == Some(Layout::Staked)).then(|| verdict.treasury.to_string()),
        fault_count,
        faults: verdict.faults.into_iter().chain(again.faults).collect(),
        node,
        compared_blocks: again.blocks,
        not_compared: again.not_compared,
    };
    output.print(&audit, audit_text)?;
    Ok(if audit.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn pools(verdict: &Verdict) -> Vec<Pooled> {
    let pool = |(id, taken): (&'static str, i128)| Pooled { id, value: (-taken).to_string() };
    verdict.pools.by_name().into_iter().map(pool).collect()
}

/// The node's own count, and whether it leaves nothing to complain of.
async fn ask_node(served: &Served, verdict: &Verdict) -> (String, bool) {
    let Some(format) = served.chain.format() else {
        return ("not asked: it has no such count".into(), true);
    };
    let asked = ask_one(served, async |node| ask(node, Verdict::questions(format)).await).await;
    let answers = match asked {
        Ok(Ok(answers)) => answers,
        Ok(Err(error)) => return (format!("not compared: {error}"), true),
        Err(why) => return (format!("not asked: {why}"), true),
    };
    let answers: Vec<&str> = answers.iter().map(|text| text.get()).collect();
    match verdict.against(&answers, served.chain.decimals) {
        Agreement::Same => ("same".into(), true),
        Agreement::Differs { outputs, total } => {
            (format!("differs: {outputs} outputs of {total} in all"), false)
        }
        Agreement::SumDiffers { what, total } => (format!("differs: {total} in {what}"), false),
        Agreement::OtherBlock { theirs } => {
            (format!("not compared: the node counted at block {theirs}"), true)
        }
        Agreement::Unreadable => ("not compared: the node's count cannot be read".into(), true),
    }
}

/// Every block of a node again.
async fn read_again(served: &Served, store: &Store) -> Result<Again, Failure> {
    complain("portolan: reading the node's blocks again");
    let again = ask_one(served, async |node| store.read_again(node, |_| ()).await).await;
    let again = again.map_err(|why| Failure::new(why.to_string()))?;
    again.map_err(|error| Failure::new(error.to_string()))
}

/// The answers of one node, one after the other.
async fn ask(node: &Arc<Node>, methods: &[&str]) -> Result<Vec<Box<RawValue>>, CallError> {
    let mut answers = Vec::with_capacity(methods.len());
    for method in methods {
        answers.push(node.call(method, "[]", Weight::Internal).await?);
    }
    Ok(answers)
}

fn audit_text(audit: &Audit) -> String {
    let mut text = format!(
        "{}: {} blocks, {} transactions, {} scripts, {} unspent outputs of {} in all\nNode: {}\n",
        audit.chain,
        number(Some(audit.blocks)),
        number(Some(audit.transactions)),
        number(Some(audit.scripts)),
        number(Some(audit.unspent_outputs)),
        audit.unspent_total,
        audit.node,
    );
    for Pooled { id, value } in &audit.pools {
        text += &format!("Pool {id}: {value}\n");
    }
    if let Some(treasury) = &audit.treasury {
        text += &format!("Treasury: {treasury}, what is not yet mature included\n");
    }
    text += &again_text(audit.compared_blocks, audit.not_compared);
    text + &faults_text(audit.chain, &audit.faults, audit.fault_count)
}
