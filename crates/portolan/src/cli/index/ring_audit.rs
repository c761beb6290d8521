//! `portolan index verify` of an index of rings.
//!
//! Invariant: what the node counted at another tip is not held against the index.

use std::process::ExitCode;

use index::Memory;
use index::ring::{Agreement, Progress, Store, Verdict};
use node::{Pool, Tried};
use serde::Serialize;

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
}

/// Carries the audit out.
pub(super) fn audit(config: &Config, served: &Served, output: Output) -> Result<ExitCode, Failure> {
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
    runtime.shutdown_background();
    let audit = Audit {
        chain: served.chain.slug,
        ok: verdict.fault_count == 0 && agrees,
        height: verdict.tip.map(|tip| tip.height),
        best_hash: verdict.tip.map(|tip| tip.hash.to_string()),
        blocks: verdict.blocks,
        transactions: verdict.transactions,
        hidden_outputs: verdict.hidden_outputs,
        public_outputs: verdict.public_outputs,
        key_images: verdict.key_images,
        rewards: verdict.rewards.to_string(),
        fees: verdict.fees.to_string(),
        fault_count: verdict.fault_count,
        faults: verdict.faults,
        node,
    };
    output.print(&audit, audit_text)?;
    Ok(if audit.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the node says, and whether it leaves nothing to complain of.
async fn ask_node(served: &Served, store: &Store, verdict: &Verdict) -> (String, bool) {
    let Ok(pool) = Pool::new(served.chain, served.network, served.pool.clone()) else {
        return ("not asked: its settings cannot be used".into(), true);
    };
    pool.start();
    pool.probed().await;
    let said = match pool.pick(&Tried::new()) {
        Ok(node) => match verdict.against(store, &node).await {
            Agreement::Same => ("same".into(), true),
            Agreement::Differs(what) => (format!("differs: {what}"), false),
            Agreement::OtherBlock { theirs } => {
                (format!("not compared: the node is at block {theirs}"), true)
            }
            Agreement::Unreadable(why) => (format!("not compared: {why}"), true),
        },
        Err(_) => ("not asked: no node can be asked".into(), true),
    };
    pool.stop();
    said
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
    for fault in &audit.faults {
        text += &format!("  {fault}\n");
    }
    text + &match audit.fault_count {
        0 => "No faults.".to_owned(),
        count => {
            format!("{} faults: `portolan index rebuild {}`", number(Some(count)), audit.chain)
        }
    }
}
