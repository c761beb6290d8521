//! The first load of an empty index, from the node's blocks in order, many at once.
//!
//! The next blocks are fetched while the last ones are decoded on all cores and connected, many in
//! one batch. Leaves rows to `Store`. Invariants: rows are those of connecting block by block;
//! every batch has its tip, so that a kill costs at most one of them; what the node reorganises
//! away meanwhile is loaded up to there and taken back afterwards like any other block.

use std::sync::Arc;

use chain::Network;
use chain::ring::Hash;
use futures_util::{StreamExt, stream};
use node::Node;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};

use super::decoded::{DecodedBlock, RawBlock, decode};
use super::kept::Ring;
use super::store::Store;
use super::upstream;
use super::view::View;
use crate::progress::{LoadLog, LoadProgress};
use crate::sync::{self, Trouble, away, locked};
use crate::{FirstLoad, IndexError, Standing};

/// Blocks that are asked for at once where there is no endpoint for many.
const BLOCKS: u32 = 100;
/// One batch of rows is made of raw blocks of about so many bytes.
const BATCH_BYTES: usize = 16 << 20;

/// What keeps the index.
type Keeper = sync::Keeper<Ring>;
/// The node's best block.
type Best = sync::Best<Hash>;

/// Loads an empty index up to the node's best block, where that is worth while or was begun;
/// `false` where it is not. `height` is that of the block that is loaded next, while a load is kept.
pub(super) async fn go_on(
    height: &mut Option<u32>,
    keeper: &mut Keeper,
    node: &Arc<Node>,
    best: Best,
) -> Result<bool, Trouble> {
    let is_under_way = keeper.store().is_loading();
    if !is_under_way && best.height < keeper.options.bulk_from {
        return Ok(false);
    }
    let from = {
        let mut store = keeper.store();
        store.begin_load();
        store.next_height()
    };
    if height.is_none() {
        tracing::info!(
            chain = keeper.slug(),
            from,
            to = best.height,
            "the first load begins; nothing but the status is served until it is done"
        );
    }
    let mut load = Load {
        height,
        next: from,
        log: LoadLog::new(LoadProgress::default()),
        done: LoadProgress::default(),
    };
    *load.height = Some(from);
    load.read_blocks(keeper, node, best).await?;
    *load.height = None;
    end(keeper).await?;
    Ok(true)
}

/// A first load under way.
struct Load<'a> {
    /// Shown to whoever waits.
    height: &'a mut Option<u32>,
    /// Height of the block that is loaded next.
    next: u32,
    log: LoadLog,
    done: LoadProgress,
}

impl Load<'_> {
    /// Reads the node's blocks up to its best one, or to where they part from those before.
    async fn read_blocks(
        &mut self,
        keeper: &mut Keeper,
        node: &Arc<Node>,
        mut best: Best,
    ) -> Result<(), Trouble> {
        let mut fetched = fetch(keeper, node, self.next, best.height).await?;
        loop {
            keeper.check_end()?;
            keeper.check_room()?;
            let first = self.next + fetched.len() as u32;
            let fetching = fetch(keeper, node, first, best.height);
            let (pushed, next) = tokio::join!(push(keeper, self.next, &fetched), fetching);
            keeper.index.heard(node.version());
            self.took(keeper, &fetched, best.height);
            match pushed {
                Ok(()) => fetched = next?,
                Err(Trouble::Index(IndexError::NotNext { .. })) => return Ok(()),
                Err(trouble) if trouble.is_of_one_node() => {
                    self.mend(keeper, node, trouble).await?;
                    fetched = fetch(keeper, node, self.next, best.height).await?;
                }
                Err(trouble) => return Err(trouble),
            }
            if fetched.is_empty() {
                let now = upstream::seen(node).await?.best;
                if now == best {
                    let all = self.next > best.height;
                    return if all { Ok(()) } else { Err(Trouble::Changed) };
                }
                best = now;
                fetched = fetch(keeper, node, self.next, best.height).await?;
                if fetched.is_empty() && self.next > best.height {
                    return Ok(());
                }
            }
        }
    }

    /// Another node's block in the place of a bad one.
    async fn mend(
        &mut self,
        keeper: &mut Keeper,
        node: &Arc<Node>,
        trouble: Trouble,
    ) -> Result<(), Trouble> {
        keeper.nodes.pass_over(node, &trouble);
        for other in keeper.nodes.others(node) {
            let Ok(block) = one(&other, self.next).await else { continue };
            match push(keeper, self.next, std::slice::from_ref(&block)).await {
                Err(trouble) if trouble.is_of_one_node() => {}
                pushed => {
                    self.took(keeper, &[block], self.next);
                    return pushed;
                }
            }
        }
        Err(trouble)
    }

    /// Counts and shows what was pushed.
    fn took(&mut self, keeper: &Keeper, pushed: &[RawBlock], target: u32) {
        let (next, hash) = {
            let store = keeper.store();
            (store.next_height(), store.tip().map(|tip| tip.hash.to_string()))
        };
        let count = next.saturating_sub(self.next) as usize;
        for block in pushed.iter().take(count) {
            self.done.blocks += 1;
            self.done.transactions += 1 + block.transactions.len() as u64;
            self.done.bytes += block.size() as u64;
        }
        self.next = next;
        *self.height = Some(next);
        let height = next.saturating_sub(1);
        let blocks_per_sec = self.log.tell(keeper.slug(), height, target, self.done);
        keeper.index.stand(Standing {
            in_sync: false,
            height,
            best_hash: hash,
            first_load: Some(FirstLoad { target, blocks_per_sec }),
            ..keeper.index.standing()
        });
    }
}

async fn end(keeper: &Keeper) -> Result<(), Trouble> {
    let store = Arc::clone(&keeper.store);
    let finish = move || {
        let mut store = locked(&store);
        store.end_load()?;
        Ok(View::of(&store))
    };
    let view = away(finish).await?;
    let height = view.as_ref().map(View::height);
    tracing::info!(chain = keeper.slug(), height, "the first load is done");
    view.into_iter().for_each(|view| keeper.index.publish(view));
    Ok(())
}

/// The node's blocks from a height on; empty where it has none so high.
async fn fetch(
    keeper: &Keeper,
    node: &Arc<Node>,
    first: u32,
    last: u32,
) -> Result<Vec<RawBlock>, Trouble> {
    if first > last {
        return Ok(Vec::new());
    }
    if let Some(mut blocks) = upstream::span(node, first).await? {
        // Of a later version than is known here more has to be asked for.
        let known = blocks.iter().take_while(|block| !block.is_later()).count();
        if known > 0 {
            blocks.truncate(known);
            return Ok(blocks);
        }
    }
    let last = last.min(first.saturating_add(BLOCKS - 1));
    let heights: Vec<u32> = (first..=last).collect();
    let hashes = upstream::hashes(node, &heights).await?;
    let fetch = |hash: Hash| {
        let node = Arc::clone(node);
        async move { upstream::block(&node, &hash).await }
    };
    let mut found = stream::iter(hashes).map(fetch).buffered(keeper.options.window);
    let (mut blocks, mut bytes) = (Vec::new(), 0);
    while let Some(block) = found.next().await {
        let block = block?;
        bytes += block.size();
        blocks.push(block);
        if bytes >= BATCH_BYTES {
            break;
        }
    }
    Ok(blocks)
}

/// The block of one height.
async fn one(node: &Arc<Node>, height: u32) -> Result<RawBlock, Trouble> {
    let hash = upstream::hashes(node, &[height]).await?.pop().ok_or(Trouble::Changed)?;
    Ok(upstream::block(node, &hash).await?)
}

/// Decodes and connects blocks, the first of which is of that height, away from the runtime. What
/// stands before a bad one is connected.
async fn push(keeper: &Keeper, height: u32, blocks: &[RawBlock]) -> Result<(), Trouble> {
    if blocks.is_empty() {
        return Ok(());
    }
    let (store, blocks) = (Arc::clone(&keeper.store), blocks.to_vec());
    away(move || {
        let network = locked(&store).network();
        let mut first = height;
        let mut rest = &blocks[..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(batch_length(rest));
            append(&mut locked(&store), decode_all(now, first, network))?;
            first += now.len() as u32;
            rest = later;
        }
        Ok(())
    })
    .await
}

/// How many blocks make a batch.
fn batch_length(blocks: &[RawBlock]) -> usize {
    let mut bytes = 0;
    let fits = |block: &&RawBlock| {
        bytes += block.size();
        bytes <= BATCH_BYTES
    };
    blocks.iter().take_while(fits).count().max(1)
}

/// Connects what could be decoded before the first that could not; all in one batch, or one by one
/// where one of them does not fit.
fn append(
    store: &mut Store,
    decoded: Vec<Result<DecodedBlock, IndexError>>,
) -> Result<(), IndexError> {
    let mut blocks = Vec::with_capacity(decoded.len());
    let mut problem = Ok(());
    for block in decoded {
        match block {
            Ok(block) => blocks.push(block),
            Err(error) => {
                problem = Err(error);
                break;
            }
        }
    }
    match store.append(&blocks) {
        Err(IndexError::Block { .. } | IndexError::NotNext { .. }) => {
            blocks.chunks(1).try_for_each(|block| store.append(block))?;
        }
        appended => appended?,
    }
    problem
}

/// Decodes blocks that follow each other, on all cores.
fn decode_all(
    blocks: &[RawBlock],
    first: u32,
    network: &Network,
) -> Vec<Result<DecodedBlock, IndexError>> {
    let decode = |(place, block)| decode(block, first + place as u32, network);
    blocks.par_iter().enumerate().map(decode).collect()
}
