//! Fills in the past, from the index's base down to where it begins.
//!
//! Leaves the tip to `sync`, which goes first. Invariants: a block is added only below the one that
//! names it as its parent; what a node has pruned is never taken for empty: another node is asked,
//! and where none has it the base stays where it is, and it is asked for again later; the past never
//! takes the room that the tip needs.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use node::Node;

use super::aside::Aside;
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

/// Why a step was none.
enum Pause {
    /// Nothing to do, nobody has it, or the tip goes first.
    Idle,
    Trouble(String),
}

/// Fills in until it is through or ended.
pub(super) async fn run(index: Arc<Index>) {
    let mut end = index.end_asked();
    let (mut waits, mut failing, mut pruned) = (Waits::default(), false, Aside::default());
    loop {
        let step = tokio::select! {
            step = step(&index, &mut pruned) => step,
            () = asked(&mut end) => return,
        };
        let pause = match step {
            Ok(()) => {
                waits.forget();
                failing = false;
                continue;
            }
            Err(Pause::Idle) => IDLE,
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

/// Adds one batch of blocks, of the first node that has the highest of them.
async fn step(index: &Arc<Index>, pruned: &mut Aside) -> Result<(), Pause> {
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
    // The tip goes on with half of it.
    room::check(&dir, index.options.least_free_bytes.saturating_mul(2))
        .map_err(|error| Pause::Trouble(error.to_string()))?;
    let heights = base.height.saturating_sub(BATCH).max(floor)..base.height;
    let (mut tried, mut trouble) = (pruned.tried(&index.nodes.pool), None);
    while let Ok(node) = index.nodes.pick(&tried) {
        let (blocks, error) = fetch(index, &node, heights.clone()).await;
        if !blocks.is_empty() {
            return add(index, blocks).await;
        }
        match error {
            // It may come to them yet.
            Some(error @ UpstreamError::NotThere) if is_below(&node, base.height) => {
                trouble = Some(error.to_string());
            }
            // A block below one that exists exists: who does not know it has pruned it.
            Some(UpstreamError::Pruned | UpstreamError::NotThere) => {
                let chain = index.chain().slug;
                tracing::warn!(chain, host = node.host(), "the node has pruned what is older");
                pruned.put(&node, index.options.retry_after);
            }
            Some(error) => trouble = Some(error.to_string()),
            None => return Err(Pause::Idle),
        }
        tried.add(&node);
    }
    Err(trouble.map_or(Pause::Idle, Pause::Trouble))
}

/// Whether a node is not known to have come as far.
fn is_below(node: &Node, height: u32) -> bool {
    node.height().is_none_or(|best| best < u64::from(height))
}

/// A node's blocks of those heights, the highest first, and why there are no more.
async fn fetch(
    index: &Index,
    node: &Arc<Node>,
    heights: Range<u32>,
) -> (Vec<Block>, Option<UpstreamError>) {
    let fetch = |height| index.nodes.upstream.block(node, height);
    let mut fetched = stream::iter(heights.rev()).map(fetch).buffered(index.options.window);
    let (mut blocks, mut transactions): (Vec<Block>, usize) = (Vec::new(), 0);
    while let Some(block) = fetched.next().await {
        match block {
            Ok(block) => {
                transactions += block.transactions.len();
                blocks.push(block);
            }
            Err(error) => return (blocks, Some(error)),
        }
        if transactions >= BATCH_TRANSACTIONS {
            break;
        }
    }
    (blocks, None)
}

async fn add(index: &Arc<Index>, blocks: Vec<Block>) -> Result<(), Pause> {
    match index.change(move |store| store.prepend(&blocks)).await {
        // Our base was taken back meanwhile, or the node follows another chain.
        Err(IndexError::NotNext { .. }) => Err(Pause::Idle),
        Err(error) => Err(Pause::Trouble(error.to_string())),
        Ok(()) => {
            index.more.notify_waiters();
            Ok(())
        }
    }
}
