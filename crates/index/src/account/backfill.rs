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
use crate::sync::{UpstreamError, Waits};
use crate::{IndexError, room};

/// Blocks that are added in one batch.
const BATCH: u32 = 64;
/// Transactions after which a batch is added before it is full.
const BATCH_TRANSACTIONS: usize = 20_000;
/// Between two looks while there is nothing to do, or the tip goes first.
const IDLE: Duration = Duration::from_millis(250);
/// Before what a node has pruned is asked for again.
const PRUNED: Duration = Duration::from_secs(3600);

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
    let (mut waits, mut failing) = (Waits::default(), false);
    loop {
        let step = tokio::select! {
            step = step(&index) => step,
            () = asked(&mut end) => return,
        };
        let pause = match step {
            Ok(()) => {
                waits.forget();
                failing = false;
                continue;
            }
            Err(Pause::Idle) => IDLE,
            Err(Pause::Pruned) => {
                tracing::warn!(chain = index.chain().slug, "the node has pruned what is older");
                PRUNED
            }
            Err(Pause::Trouble(text)) => {
                let chain = index.chain().slug;
                match std::mem::replace(&mut failing, true) {
                    false => tracing::warn!(chain, "filling in the past waits: {text}"),
                    true => tracing::debug!(chain, "filling in the past waits: {text}"),
                }
                let base = index.locked().base().map_or(0, |base| base.height);
                waits.next(IDLE, base)
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
    let dir = index.locked().dir();
    room::check(&dir, index.options.least_free_bytes)
        .map_err(|error| Pause::Trouble(error.to_string()))?;
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
