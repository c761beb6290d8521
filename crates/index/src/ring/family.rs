//! What the ring family fills in, so that its indexes are kept at the tip.
//!
//! Leaves each part to the file that has it. Invariant: while the first load runs, or was cut off,
//! there is no tip and no view: what is on the disk is gone on with.

use std::sync::Arc;

use chain::ring::Hash;
use node::Node;

use super::decoded::{RawBlock, decode};
use super::first_load;
use super::kept::Ring;
use super::mempool::Mempool;
use super::pool_pass::PoolPasses;
use super::store::{Rings, Store};
use super::upstream;
use super::view::View;
use crate::IndexError;
use crate::sync::{Best, Family, Keeper, SyncOptions, Trouble, UpstreamError};

impl Family for Ring {
    type Schema = Rings;
    type View = View;
    type Raw = RawBlock;
    type Waiting = Mempool;
    type Passes = PoolPasses;

    fn new(_: &Store, options: &SyncOptions) -> Ring {
        let passes = PoolPasses::new(options.mempool_every, options.mempool_bytes);
        Ring { passes, load_height: None, fee_at: None }
    }

    fn passes(&self) -> &PoolPasses {
        &self.passes
    }

    fn passes_mut(&mut self) -> &mut PoolPasses {
        &mut self.passes
    }

    async fn best(&mut self, node: &Arc<Node>) -> Result<Best<Hash>, UpstreamError> {
        let seen = upstream::seen(node).await?;
        self.note(node, seen.best, seen.facts).await;
        Ok(seen.best)
    }

    async fn hashes(node: &Arc<Node>, heights: Vec<u32>) -> Result<Vec<Hash>, UpstreamError> {
        upstream::hashes(node, &heights).await
    }

    async fn block(node: &Arc<Node>, hash: Hash) -> Result<RawBlock, UpstreamError> {
        upstream::block(node, &hash).await
    }

    fn tip(store: &Store) -> Option<(u32, Hash)> {
        store.tip().filter(|_| !store.is_loading()).map(|tip| (tip.height, tip.hash))
    }

    fn connect(
        store: &mut Store,
        hash: Hash,
        raw: RawBlock,
        waiting: &mut Mempool,
    ) -> Result<(), IndexError> {
        let height = store.next_height();
        let block = decode(&raw, height, store.network())?;
        if block.hash != hash {
            let problem = "it is another block than the one asked for".into();
            return Err(IndexError::Block { height, problem });
        }
        store.append(std::slice::from_ref(&block))?;
        block.transactions.iter().for_each(|transaction| waiting.confirm(transaction));
        Ok(())
    }

    fn view(store: &Store) -> Option<View> {
        if store.is_loading() { None } else { View::of(store) }
    }

    async fn load(
        &mut self,
        keeper: &mut Keeper<Ring>,
        node: &Arc<Node>,
        best: Best<Hash>,
    ) -> Result<bool, Trouble> {
        first_load::go_on(&mut self.load_height, keeper, node, best).await
    }

    fn load_height(&self) -> Option<u32> {
        self.load_height
    }
}
