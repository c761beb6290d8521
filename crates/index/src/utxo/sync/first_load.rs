//! The first load of an empty index, from the node's blocks in order.
//!
//! Fetches the next blocks while the last ones are joined. Leaves rows to `Loader`. Invariant: what
//! the node reorganises away meanwhile is loaded up to there and taken back afterwards like any
//! other block.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use chain::Hash32;
use futures_util::{StreamExt, TryStreamExt, stream};
use node::Node;

use super::follow::blocking;
use super::{Sync, Trouble};
use crate::utxo::load::{LoadProgress, Loader};
use crate::utxo::upstream::{self, Best};
use crate::utxo::view::View;
use crate::{IndexError, Standing};

/// A batch ends with this many raw bytes or blocks.
const BATCH_BYTES: usize = 16 << 20;
const BATCH_BLOCKS: u32 = 500;
/// Between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(10);

impl Sync {
    /// Whether a load was begun and is to be gone on with.
    pub(super) fn load_was_begun(&self) -> bool {
        Loader::was_begun(&self.store())
    }

    /// Loads up to the node's best block.
    pub(super) async fn first_load(
        &mut self,
        node: &Arc<Node>,
        mut best: Best,
    ) -> Result<(), Trouble> {
        let (store, options) = (Arc::clone(&self.store), self.options.load.clone());
        let open = move || {
            let store = store.lock().unwrap_or_else(PoisonError::into_inner);
            Loader::open(&store, options)
        };
        let mut loader = blocking(open).await?;
        let mut line = Line::new(loader.progress());
        tracing::info!(
            chain = self.index.chain().slug,
            from = loader.next_height(),
            to = best.height,
            "the first load begins; nothing but the status is served until it is done"
        );
        let mut fetched: Option<Vec<Bytes>> = None;
        while !loader.is_complete() {
            if *self.end.borrow() {
                return Err(Trouble::Ended);
            }
            self.check_room()?;
            let blocks = fetched.take().unwrap_or_default();
            let first = loader.next_height() + blocks.len() as u32;
            let fetching = self.fetch(node, first, best.height);
            let pushing = push(loader, blocks);
            let (pushed, next) = tokio::join!(pushing, fetching);
            let (back, parted) = pushed?;
            loader = back;
            self.index.heard(node.version());
            self.show(&loader, &mut line, best.height);
            let next = next?;
            if parted || (next.is_empty() && loader.next_height() > best.height) {
                break;
            }
            if next.is_empty() {
                let now = upstream::best(node).await?;
                if now == best {
                    break;
                }
                best = now;
            }
            fetched = Some(next);
        }
        self.end_load(loader).await
    }

    /// Fetches a batch of the node's blocks from a height on.
    async fn fetch(&self, node: &Arc<Node>, first: u32, last: u32) -> Result<Vec<Bytes>, Trouble> {
        if first > last {
            return Ok(Vec::new());
        }
        let last = last.min(first.saturating_add(BATCH_BLOCKS - 1));
        let hashes = upstream::hashes(node, first..=last).await?;
        let fetch = |hash: Hash32| {
            let node = Arc::clone(node);
            async move { upstream::block(&node, &hash).await }
        };
        let mut blocks = stream::iter(hashes).map(fetch).buffered(self.options.window);
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while let Some(raw) = blocks.try_next().await? {
            bytes += raw.len();
            batch.push(raw);
            if bytes >= BATCH_BYTES {
                break;
            }
        }
        Ok(batch)
    }

    /// Shows how far the load is.
    fn show(&self, loader: &Loader, line: &mut Line, target: u32) {
        let height = loader.next_height().saturating_sub(1);
        self.index.stand(Standing {
            in_sync: false,
            height,
            best_hash: loader.last_hash().map(|hash| hash.to_string()),
            ..self.index.standing()
        });
        line.tell(self.index.chain().slug, height, target, loader.progress());
    }

    async fn end_load(&mut self, loader: Loader) -> Result<(), Trouble> {
        let chain = self.index.chain().slug;
        tracing::info!(chain, "all blocks are read; merging");
        let store = Arc::clone(&self.store);
        let finish = move || {
            let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
            let tip = loader.finish(&mut store)?;
            Ok((tip, View::of(&store)))
        };
        let (tip, view) = blocking(finish).await?;
        tracing::info!(chain, height = tip.height, "the first load is done");
        if let Some(view) = view {
            self.index.publish(view);
            self.stand(None);
        }
        Ok(())
    }
}

/// Joins a batch away from the runtime. Gives the loader back, and whether the blocks part from
/// those before them.
async fn push(mut loader: Loader, blocks: Vec<Bytes>) -> Result<(Loader, bool), Trouble> {
    if blocks.is_empty() {
        return Ok((loader, false));
    }
    blocking(move || match loader.push(blocks) {
        Ok(()) => Ok((loader, false)),
        Err(IndexError::NotNext { .. }) => Ok((loader, true)),
        Err(error) => Err(error),
    })
    .await
}

/// The line of progress.
struct Line {
    told: Instant,
    at: LoadProgress,
}

impl Line {
    fn new(at: LoadProgress) -> Line {
        Line { told: Instant::now(), at }
    }

    fn tell(&mut self, chain: &str, height: u32, target: u32, now: LoadProgress) {
        let took = self.told.elapsed();
        if took < PROGRESS {
            return;
        }
        let per_sec = |amount: u64| amount as f64 / took.as_secs_f64();
        let (bytes, blocks) = (per_sec(now.bytes - self.at.bytes), now.blocks - self.at.blocks);
        let left = f64::from(target.saturating_sub(height)) / per_sec(blocks).max(0.001);
        tracing::info!(
            chain,
            height,
            target,
            blocks_per_sec = per_sec(blocks) as u64,
            tx_per_sec = per_sec(now.transactions - self.at.transactions) as u64,
            mb_per_sec = (bytes / 1e6) as u64,
            seconds_left = left as u64,
            "first load"
        );
        *self = Line::new(now);
    }
}
