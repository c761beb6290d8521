//! The first load of an empty index, from the node's blocks in order.
//!
//! Fetches the next blocks while the last ones are joined. Leaves rows to `Loader`. Invariants: what
//! the node reorganises away meanwhile is loaded up to there and taken back afterwards like any
//! other block; trouble with a node, a block or the disk costs nothing that was loaded.

use std::sync::Arc;

use bytes::Bytes;
use chain::Hash32;
use futures_util::{StreamExt, stream};
use node::Node;

use super::kept::Utxo;
use super::load::Loader;
use super::under_way::{Batch, Load};
use super::upstream;
use super::view::View;
use crate::progress::LoadLog;
use crate::sync::{self, Trouble, away, locked};
use crate::{FirstLoad, IndexError, Standing};

/// A batch ends with this many raw bytes or blocks.
const BATCH_BYTES: usize = 16 << 20;
const BATCH_BLOCKS: u32 = 500;

/// What keeps the index.
type Keeper = sync::Keeper<Utxo>;
/// The node's best block.
type Best = sync::Best<Hash32>;

/// Loads an empty index up to the node's best block, where that is worth while or was begun;
/// `false` where it is not. `kept` is the load that something is waited for.
pub(super) async fn go_on(
    kept: &mut Option<Load>,
    keeper: &mut Keeper,
    node: &Arc<Node>,
    best: Best,
) -> Result<bool, Trouble> {
    let is_under_way = kept.is_some() || Loader::was_begun(&keeper.store());
    if !is_under_way && best.height < keeper.options.bulk_from {
        return Ok(false);
    }
    let mut load = match kept.take() {
        Some(load) => load,
        None => Load::open(keeper, best).await?,
    };
    let read = load.read_blocks(keeper, node, best).await;
    let Err(mut trouble) = read else { return load.end(keeper).await };
    // A block that no node has well may stay so: what stands before it is not read again.
    if matches!(trouble, Trouble::Index(IndexError::Block { .. })) && load.is_sound() {
        trouble = load.work(Loader::checkpoint).await.err().unwrap_or(trouble);
    }
    // What was cut off in the middle goes on from its last segment.
    *kept = Some(load).filter(Load::is_sound);
    Err(trouble)
}

impl Load {
    async fn open(keeper: &Keeper, best: Best) -> Result<Load, Trouble> {
        let (store, options) = (Arc::clone(&keeper.store), keeper.options.load.clone());
        let least_free = keeper.options.least_free_bytes;
        let open = move || {
            let loader = Loader::open(&locked(&store), options)?;
            loader.keep_free(least_free);
            Ok(loader)
        };
        let loader = away(open).await?;
        tracing::info!(
            chain = keeper.slug(),
            from = loader.next_height(),
            to = best.height,
            "the first load begins; nothing but the status is served until it is done"
        );
        let log = LoadLog::new(loader.progress());
        Ok(Load { loader: Some(loader), fetched: Vec::new(), log })
    }

    /// Reads the node's blocks up to its best one, or to where they part from those before.
    async fn read_blocks(
        &mut self,
        keeper: &mut Keeper,
        node: &Arc<Node>,
        mut best: Best,
    ) -> Result<(), Trouble> {
        while !self.loader()?.is_complete() {
            keeper.check_end()?;
            keeper.check_room()?;
            let batch = std::mem::take(&mut self.fetched);
            let first = self.next_height() + batch.len() as u32;
            let fetching = fetch(keeper, node, first, best.height);
            let (pushed, next) = tokio::join!(self.push(&batch), fetching);
            keeper.index.heard(node.version());
            match pushed {
                Ok(()) => {}
                Err(Trouble::Index(IndexError::NotNext { .. })) => break,
                Err(Trouble::Index(IndexError::Block { height, .. }))
                    if self.is_next(&batch, height) =>
                {
                    self.mend(keeper, node, batch, height).await?;
                    continue;
                }
                Err(trouble) => {
                    self.fetched = batch;
                    return Err(trouble);
                }
            }
            self.show(keeper, best.height);
            self.fetched = next?;
            if self.fetched.is_empty() {
                let now = upstream::best(node).await?;
                match now == best {
                    true if self.next_height() > best.height => break,
                    true => return Err(Trouble::Changed),
                    false => best = now,
                }
            }
        }
        match self.loader()?.is_complete() {
            true => Ok(()),
            false => self.work(Loader::join_pushed).await,
        }
    }

    /// Whether the block of a height is in a batch that is to be pushed next.
    fn is_next(&self, batch: &Batch, height: u32) -> bool {
        let place = height.checked_sub(self.next_height());
        place.is_some_and(|place| (place as usize) < batch.len())
    }

    /// Pushes the blocks before a bad one, and another node's in its place.
    async fn mend(
        &mut self,
        keeper: &mut Keeper,
        node: &Arc<Node>,
        mut batch: Batch,
        bad: u32,
    ) -> Result<(), Trouble> {
        let rest = batch.split_off((bad - self.next_height()) as usize);
        self.push(&batch).await?;
        let Some(((hash, raw), after)) = rest.split_first() else { return Ok(()) };
        let Err(trouble) = self.push(&[(*hash, raw.clone())]).await else { return Ok(()) };
        keeper.nodes.pass_over(node, &trouble);
        for other in keeper.nodes.others(node) {
            let Ok(raw) = upstream::block(&other, hash).await else { continue };
            match self.push(&[(*hash, raw)]).await {
                Ok(()) => {
                    self.fetched = after.to_vec();
                    return Ok(());
                }
                Err(trouble) if trouble.is_of_one_node() => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Err(trouble)
    }

    /// Shows how far the load is.
    fn show(&mut self, keeper: &Keeper, target: u32) {
        let Some(loader) = &self.loader else { return };
        let height = loader.next_height().saturating_sub(1);
        let blocks_per_sec = self.log.tell(keeper.slug(), height, target, loader.progress());
        keeper.index.stand(Standing {
            in_sync: false,
            height,
            best_hash: loader.last_hash().map(|hash| hash.to_string()),
            first_load: Some(FirstLoad { target, blocks_per_sec }),
            ..keeper.index.standing()
        });
    }

    async fn end(self, keeper: &Keeper) -> Result<bool, Trouble> {
        let chain = keeper.slug();
        tracing::info!(chain, "all blocks are read; merging");
        let Some(loader) = self.loader else { return Ok(false) };
        let store = Arc::clone(&keeper.store);
        let finish = move || {
            let mut store = locked(&store);
            let tip = loader.finish(&mut store)?;
            Ok((tip, View::of(&store)))
        };
        let (tip, view) = away(finish).await?;
        tracing::info!(chain, height = tip.height, "the first load is done");
        view.into_iter().for_each(|view| keeper.index.publish(view));
        Ok(true)
    }
}

/// Fetches a batch of the node's blocks from a height on. It ends before one that no node has.
async fn fetch(keeper: &Keeper, node: &Arc<Node>, first: u32, last: u32) -> Result<Batch, Trouble> {
    if first > last {
        return Ok(Vec::new());
    }
    let last = last.min(first.saturating_add(BATCH_BLOCKS - 1));
    let hashes = upstream::hashes(node, first..=last).await?;
    let fetch = |hash: Hash32| {
        let node = Arc::clone(node);
        async move { (hash, upstream::block(&node, &hash).await) }
    };
    let mut blocks = stream::iter(hashes).map(fetch).buffered(keeper.options.window);
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while let Some((hash, raw)) = blocks.next().await {
        let raw = match raw {
            Ok(raw) => raw,
            Err(error) => match block_of_others(keeper, node, &hash).await {
                Some(raw) => raw,
                None if batch.is_empty() => return Err(error.into()),
                None => break,
            },
        };
        bytes += raw.len();
        batch.push((hash, raw));
        if bytes >= BATCH_BYTES {
            break;
        }
    }
    Ok(batch)
}

async fn block_of_others(keeper: &Keeper, node: &Arc<Node>, hash: &Hash32) -> Option<Bytes> {
    for other in keeper.nodes.others(node) {
        if let Ok(raw) = upstream::block(&other, hash).await {
            return Some(raw);
        }
    }
    None
}
