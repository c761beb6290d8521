//! The first load of an empty index, from the node's blocks in order.
//!
//! Fetches the next blocks while the last ones are joined. Leaves rows to `Loader`. Invariants: what
//! the node reorganises away meanwhile is loaded up to there and taken back afterwards like any
//! other block; trouble with a node, a block or the disk costs nothing that was loaded.

use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use chain::Hash32;
use futures_util::{StreamExt, stream};
use node::Node;

use super::follow::blocking;
use super::progress::Line;
use super::{Sync, Trouble};
use crate::utxo::load::Loader;
use crate::utxo::upstream::{self, Best};
use crate::utxo::view::View;
use crate::{FirstLoad, IndexError, Standing};

/// A batch ends with this many raw bytes or blocks.
const BATCH_BYTES: usize = 16 << 20;
const BATCH_BLOCKS: u32 = 500;

/// Consecutive raw blocks with their hashes.
type Batch = Vec<(Hash32, Bytes)>;

/// A first load under way, kept while something is waited for.
pub(super) struct Load {
    /// None: it was lost with the work that it was at.
    loader: Option<Loader>,
    /// What was fetched and not pushed yet.
    fetched: Batch,
    line: Line,
}

impl Load {
    fn loader(&self) -> Result<&Loader, Trouble> {
        self.loader.as_ref().ok_or_else(|| IndexError::failed("the load was cut off").into())
    }

    fn is_sound(&self) -> bool {
        self.loader.as_ref().is_some_and(Loader::is_sound)
    }

    /// Height of the block that is pushed next.
    pub(super) fn next_height(&self) -> u32 {
        self.loader.as_ref().map_or(0, Loader::next_height)
    }

    /// Does something with the loader, away from the runtime.
    async fn work(
        &mut self,
        work: impl FnOnce(&mut Loader) -> Result<(), IndexError> + Send + 'static,
    ) -> Result<(), Trouble> {
        self.loader()?;
        let Some(mut loader) = self.loader.take() else { return Ok(()) };
        let (loader, worked) = blocking(move || {
            let worked = work(&mut loader);
            Ok((loader, worked))
        })
        .await?;
        self.loader = Some(loader);
        Ok(worked?)
    }

    async fn push(&mut self, batch: &[(Hash32, Bytes)]) -> Result<(), Trouble> {
        if batch.is_empty() {
            return Ok(());
        }
        let blocks = batch.iter().map(|(_, raw)| raw.clone()).collect();
        self.work(move |loader| loader.push(blocks)).await
    }
}

impl Sync {
    /// Whether a load was begun and is to be gone on with.
    pub(super) fn load_was_begun(&self) -> bool {
        self.load.is_some() || Loader::was_begun(&self.store())
    }

    /// Loads up to the node's best block.
    pub(super) async fn first_load(&mut self, node: &Arc<Node>, best: Best) -> Result<(), Trouble> {
        let mut load = match self.load.take() {
            Some(load) => load,
            None => self.open_load(best).await?,
        };
        let read = self.read_blocks(&mut load, node, best).await;
        let Err(mut trouble) = read else { return self.end_load(load).await };
        // A block that no node has well may stay so: what stands before it is not read again.
        if matches!(trouble, Trouble::Index(IndexError::Block { .. })) && load.is_sound() {
            trouble = load.work(Loader::checkpoint).await.err().unwrap_or(trouble);
        }
        // What was cut off in the middle goes on from its last segment.
        self.load = Some(load).filter(Load::is_sound);
        Err(trouble)
    }

    async fn open_load(&self, best: Best) -> Result<Load, Trouble> {
        let (store, options) = (Arc::clone(&self.store), self.options.load.clone());
        let least_free = self.options.least_free_bytes;
        let open = move || {
            let store = store.lock().unwrap_or_else(PoisonError::into_inner);
            let loader = Loader::open(&store, options)?;
            loader.keep_free(least_free);
            Ok(loader)
        };
        let loader = blocking(open).await?;
        tracing::info!(
            chain = self.index.chain().slug,
            from = loader.next_height(),
            to = best.height,
            "the first load begins; nothing but the status is served until it is done"
        );
        let line = Line::new(loader.progress());
        Ok(Load { loader: Some(loader), fetched: Vec::new(), line })
    }

    /// Reads the node's blocks up to its best one, or to where they part from those before.
    async fn read_blocks(
        &mut self,
        load: &mut Load,
        node: &Arc<Node>,
        mut best: Best,
    ) -> Result<(), Trouble> {
        while !load.loader()?.is_complete() {
            if *self.end.borrow() {
                return Err(Trouble::Ended);
            }
            self.check_room()?;
            let batch = std::mem::take(&mut load.fetched);
            let fetching = self.fetch(node, load.next_height() + batch.len() as u32, best.height);
            let (pushed, next) = tokio::join!(load.push(&batch), fetching);
            self.index.heard(node.version());
            match pushed {
                Ok(()) => {}
                Err(Trouble::Index(IndexError::NotNext { .. })) => break,
                Err(Trouble::Index(IndexError::Block { height, .. }))
                    if is_in(&batch, load, height) =>
                {
                    self.mend(load, node, batch, height).await?;
                    continue;
                }
                Err(trouble) => {
                    load.fetched = batch;
                    return Err(trouble);
                }
            }
            self.show(load, best.height)?;
            load.fetched = next?;
            if load.fetched.is_empty() {
                let now = upstream::best(node).await?;
                if load.next_height() > best.height && now == best {
                    break;
                }
                if now == best {
                    return Err(Trouble::Changed);
                }
                best = now;
            }
        }
        match load.loader()?.is_complete() {
            true => Ok(()),
            false => load.work(Loader::join_pushed).await,
        }
    }

    /// Pushes the blocks before a bad one, and another node's in its place.
    async fn mend(
        &mut self,
        load: &mut Load,
        node: &Arc<Node>,
        mut batch: Batch,
        bad: u32,
    ) -> Result<(), Trouble> {
        let rest = batch.split_off((bad - load.next_height()) as usize);
        load.push(&batch).await?;
        let Some(((hash, raw), after)) = rest.split_first() else { return Ok(()) };
        let Err(trouble) = load.push(&[(*hash, raw.clone())]).await else { return Ok(()) };
        self.pass_over(node, &trouble);
        for other in self.others(node) {
            let Ok(raw) = upstream::block(&other, hash).await else { continue };
            match load.push(&[(*hash, raw)]).await {
                Ok(()) => {
                    load.fetched = after.to_vec();
                    return Ok(());
                }
                Err(trouble) if trouble.is_of_one_node() => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Err(trouble)
    }

    /// Fetches a batch of the node's blocks from a height on. It ends before one that no node has.
    async fn fetch(&self, node: &Arc<Node>, first: u32, last: u32) -> Result<Batch, Trouble> {
        if first > last {
            return Ok(Vec::new());
        }
        let last = last.min(first.saturating_add(BATCH_BLOCKS - 1));
        let hashes = upstream::hashes(node, first..=last).await?;
        let fetch = |hash: Hash32| {
            let node = Arc::clone(node);
            async move { (hash, upstream::block(&node, &hash).await) }
        };
        let mut blocks = stream::iter(hashes).map(fetch).buffered(self.options.window);
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while let Some((hash, raw)) = blocks.next().await {
            let raw = match raw {
                Ok(raw) => raw,
                Err(error) => match self.block_of_others(node, &hash).await {
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

    async fn block_of_others(&self, node: &Arc<Node>, hash: &Hash32) -> Option<Bytes> {
        for other in self.others(node) {
            if let Ok(raw) = upstream::block(&other, hash).await {
                return Some(raw);
            }
        }
        None
    }

    /// Shows how far the load is.
    fn show(&self, load: &mut Load, target: u32) -> Result<(), Trouble> {
        let loader = load.loader.as_ref();
        let Some(loader) = loader else { return Ok(()) };
        let height = loader.next_height().saturating_sub(1);
        let blocks_per_sec =
            load.line.tell(self.index.chain().slug, height, target, loader.progress());
        self.index.stand(Standing {
            in_sync: false,
            height,
            best_hash: loader.last_hash().map(|hash| hash.to_string()),
            first_load: Some(FirstLoad { target, blocks_per_sec }),
            ..self.index.standing()
        });
        Ok(())
    }

    async fn end_load(&mut self, load: Load) -> Result<(), Trouble> {
        let chain = self.index.chain().slug;
        tracing::info!(chain, "all blocks are read; merging");
        let Some(loader) = load.loader else { return Ok(()) };
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

/// Whether the block of a height is in a batch that is to be pushed next.
fn is_in(batch: &Batch, load: &Load, height: u32) -> bool {
    let next = load.next_height();
    height >= next && ((height - next) as usize) < batch.len()
}
