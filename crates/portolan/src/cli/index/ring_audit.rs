//! `portolan index verify` of an index of rings.
//!
//! Invariant: what the node counted at another tip is not held against the index.

use std::process::ExitCode;

use index::ring::{Agreement, Store, Verdict};
use index::{Again, Memory, Progress};
use serde::Serialize;

use super::asked::ask_one;
use super::findings::{again_text, faults_text};
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
    /// Outputs with hidden amounts, and those of coinbases that hide among them.
    hidden_outputs: u64,
    /// Outputs of public amounts besides.
    public_outputs: u64,
    key_images: u64,
    /// What coinbases paid in all, and what of it were fees.
    rewards: String,
    fees: String,
    fault_count: u64,
    faults: Vec<String>,
    /// What the node says of counts, blocks and outputs: `same`, `differs: …`, or why it was not
    /// compared.
    node: String,
    /// Blocks that were read from the node again.
    compared_blocks: u64,
    /// Blocks that were to be, and that it did not give.
    not_compared: u64,
    /// Blocks of a later version of the protocol than is known here, whose hashes cannot be worked out.
    #[serde(skip_serializing_if = "is_zero")]
    not_proved: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Carries the audit out.
pub(super) fn audit(
    config: &Config,
    served: &Served,
    blocks: bool,
    output: Output,
) -> Result<ExitCode, Failure> {
    let failed = |error: index::IndexError| Failure::new(error.to_string());
    let dir = index_dir(&config.store.dir, served.chain.slug);
    let memory = Memory::new(64 << 20, 8 << 20);
    let store =
        Store::open_read_only(&dir, served.chain, served.network, &memory).map_err(failed)?;
    let mut told = "";
    let verdict = store.verify(|progress: Progress| {
        if progress.step != told {
            told = progress.step;
            complain(&format!("portolan: walking the {told}"));
        }
    });
    let verdict = verdict.map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (node, agrees) = runtime.block_on(ask_node(served, &store, &verdict));
    let again = match blocks {
        true => runtime.block_on(read_again(served, &store))?,
        false => Again::default(),
    };
    runtime.shutdown_background();
    let fault_count = verdict.fault_count + again.fault_count;
    let audit = Audit {
        chain: served.chain.slug,
        ok: fault_count == 0 && agrees,
        height: verdict.tip.map(|tip| tip.height),
        best_hash: verdict.tip.map(|tip| tip.hash.to_string()),
        blocks: verdict.blocks,
        transactions: verdict.transactions,
        hidden_outputs: verdict.hidden_outputs,
        public_outputs: verdict.public_outputs,
        key_images: verdict.key_images,
        rewards: verdict.rewards.to_string(),
        fees: verdict.fees.to_string(),
        fault_count,
        faults: verdict.faults.into_iter().chain(again.faults).collect(),
        node,
        compared_blocks: again.blocks,
        not_compared: again.not_compared,
        not_proved: verdict.unproved,
    };
    output.print(&audit, audit_text)?;
    Ok(if audit.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Every block of a node again.
async fn read_again(served: &Served, store: &Store) -> Result<Again, Failure> {
    complain("portolan: reading the node's blocks again");
    let again = ask_one(served, async |node| store.read_again(node, |_| ()).await).await;
    let again = again.map_err(|why| Failure::new(why.to_string()))?;
    again.map_err(|error| Failure::new(error.to_string()))
}

/// What the node says, and whether it leaves nothing to complain of.
async fn ask_node(served: &Served, store: &Store, verdict: &Verdict) -> (String, bool) {
    match ask_one(served, async |node| verdict.against(store, node).await).await {
        Ok(Agreement::Same) => ("same".into(), true),
        Ok(Agreement::Differs(what)) => (format!("differs: {what}"), false),
        Ok(Agreement::OtherBlock { theirs }) => {
            (format!("not compared: the node is at block {theirs}"), true)
        }
        Ok(Agreement::Unreadable(why)) => (format!("not compared: {why}"), true),
        Err(why) => (format!("not asked: {why}"), true),
    }
}

fn audit_text(audit: &Audit) -> String {
    let mut text = format!(
        "{}: {} blocks, {} transactions, {} outputs with hidden amounts and {} without, {} key \
         images\nRewards {}, fees {}\nNode: {}\n",
        audit.chain,
        number(Some(audit.blocks)),
        number(Some(audit.transactions)),
        number(Some(audit.hidden_outputs)),
        number(Some(audit.public_outputs)),
        number(Some(audit.key_images)),
        audit.rewards,
        audit.fees,
        audit.node,
    );
    text += &again_text(audit.compared_blocks, audit.not_compared);
    if audit.not_proved > 0 {
        let count = number(Some(audit.not_proved));
        text +=
            &format!("{count} blocks are of a later version, whose hashes were not worked out\n");
    }
    text + &faults_text(audit.chain, &audit.faults, audit.fault_count)
}
