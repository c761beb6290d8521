//! Fills in the past, from the index's base down to where it begins.
//!
//! Leaves the tip to `sync`, which goes first. Invariants: a block is added only below the one that
//! names it as its parent; what a node has pruned is never taken for empty: the base stays where
//! it is, and is asked for again later.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use node::{Tried, Unusable};

use super::facts::Block;
use super::index::{Index, asked};
use super::upstream::UpstreamError;
use crate::IndexError;

/// Blocks that are added in one batch.
const BATCH: u32 = 64;
/// Transactions after which a batch is added before it is full.
const BATCH_TRANSACTIONS: usize = 20_000;
/// Between two looks while there is nothing to do, or the tip goes first.
const IDLE: Duration = Duration::from_millis(250);
/// Before what a node has pruned is asked for again.
const PRUNED: Duration = Duration::from_secs(3600);
/// The longest pause after trouble with a node.
const LONGEST: Duration = Duration::from_secs(60);

/// Why a step was none.
enum Pause {
    /// Nothing to do, or the tip goes first.
    Idle,
    Pruned,
    Trouble(String),
}

/// Fills in until it is through or ended.
pub(super) async fn run(index: Arc<Index>) {
    let mut end = index.end_asked();
    let mut failures = 0u32;
    loop {
        let step = tokio::select! {
            step = step(&index) => step,
            () = asked(&mut end) => return,
        };
        let pause = match step {
            Ok(()) => {
                failures = 0;
                continue;
            }
            Err(Pause::Idle) => IDLE,
            Err(Pause::Pruned) => {
                tracing::warn!(chain = index.chain().slug, "the node has pruned what is older");
                PRUNED
            }
            Err(Pause::Trouble(text)) => {
                failures += 1;
                let chain = index.chain().slug;
                match failures {
                    1 => tracing::warn!(chain, "filling in the past waits: {text}"),
                    _ => tracing::debug!(chain, "filling in the past waits: {text}"),
                }
                (IDLE * 2u32.saturating_pow(failures.min(10))).min(LONGEST)
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = asked(&mut end) => return,
        }
    }
}

/// Adds one batch of blocks.
async fn step(index: &Arc<Index>) -> Result<(), Pause> {
    let (base, floor) = {
        let store = index.locked();
        let (Some(base), Some(begun_at)) = (store.base(), store.begun_at()) else {
            return Err(Pause::Idle);
        };
        (base, index.options.floor(begun_at))
    };
    if base.height <= floor || index.lagging.load(Ordering::Relaxed) {
        return Err(Pause::Idle);
    }
    if is_full(index) {
        return Err(Pause::Trouble("too little is free on the disk".into()));
    }
    let node = index.node(&Tried::new()).map_err(|_: Unusable| Pause::Idle)?;
    let lowest = base.height.saturating_sub(BATCH).max(floor);
    let fetch = |height| index.upstream.block(&node, height);
    let heights = (lowest..base.height).rev();
    let mut fetched = stream::iter(heights).map(fetch).buffered(index.options.window);
    let (mut blocks, mut transactions): (Vec<Block>, usize) = (Vec::new(), 0);
    let mut trouble = None;
    while let Some(block) = fetched.next().await {
        match block {
            Ok(block) => {
                transactions += block.transactions.len();
                blocks.push(block);
            }
            Err(error) => {
                trouble = Some(error);
                break;
            }
        }
        if transactions >= BATCH_TRANSACTIONS {
            break;
        }
    }
    drop(fetched);
    if !blocks.is_empty() {
        return match index.change(move |store| store.prepend(&blocks)).await {
            // Our base was taken back meanwhile, or the node follows another chain.
            Err(IndexError::NotNext { .. }) => Err(Pause::Idle),
            Err(error) => Err(Pause::Trouble(error.to_string())),
            Ok(()) => {
                index.more.notify_waiters();
                Ok(())
            }
        };
    }
    Err(match trouble {
        // A block below one that exists exists: who does not know it has pruned it.
        Some(UpstreamError::Pruned | UpstreamError::NotThere) => Pause::Pruned,
        Some(error) => Pause::Trouble(error.to_string()),
        None => Pause::Idle,
    })
}

fn is_full(index: &Index) -> bool {
    let free = rustix::fs::statvfs(index.locked().dir()).ok();
    let free = free.map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    free.is_some_and(|free| free < index.options.least_free_bytes)
}
