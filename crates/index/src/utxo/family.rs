//! What the utxo family fills in, so that its indexes are kept at the tip.
//!
//! Leaves each part to the file that has it. Invariant: a block is decoded and held against its own
//! header before a row of it is made.

use std::sync::Arc;

use bytes::Bytes;
use chain::Hash32;
use chain::utxo::Block;
use node::Node;

use super::first_load;
use super::kept::Utxo;
use super::mempool::Mempool;
use super::pool_pass::{PoolPasses, PoolRules};
use super::store::{Outputs, Store};
use super::under_way::Load;
use super::upstream;
use super::view::View;
use crate::IndexError;
use crate::sync::{Best, Family, Keeper, SyncOptions, Trouble, UpstreamError};

impl Family for Utxo {
    type Schema = Outputs;
    type View = View;
    type Raw = Bytes;
    type Waiting = Mempool;
    type Passes = PoolPasses;

    fn new(store: &Store, options: &SyncOptions) -> Utxo {
        let rules = PoolRules {
            format: *store.format(),
            limit: options.mempool_bytes,
            every: options.mempool_every,
        };
        Utxo { passes: PoolPasses::new(rules), load: None }
    }

    fn passes(&self) -> &PoolPasses {
        &self.passes
    }

    fn passes_mut(&mut self) -> &mut PoolPasses {
        &mut self.passes
    }

    async fn best(&mut self, node: &Arc<Node>) -> Result<Best<Hash32>, UpstreamError> {
        let (best, pools) = upstream::best_with_pools(node).await?;
        self.passes.note_value_pools(best.hash, pools);
        Ok(best)
    }

    async fn hashes(node: &Arc<Node>, heights: Vec<u32>) -> Result<Vec<Hash32>, UpstreamError> {
        upstream::hashes(node, heights).await
    }

    async fn block(node: &Arc<Node>, hash: Hash32) -> Result<Bytes, UpstreamError> {
        upstream::block(node, &hash).await
    }

    fn connect(
        store: &mut Store,
        hash: Hash32,
        raw: Bytes,
        waiting: &mut Mempool,
    ) -> Result<(), IndexError> {
        let height = store.tip().map_or(0, |tip| tip.height + 1);
        let bad = |problem: String| IndexError::Block { height, problem };
        let format = *store.format();
        let block = Block::decode(&raw, &format).map_err(|error| bad(error.to_string()))?;
        if block.header.hash != hash {
            return Err(bad("it is another block than the one asked for".into()));
        }
        if !block.is_whole() {
            return Err(bad("its transactions are not those of its header".into()));
        }
        store.connect(&block)?;
        waiting.confirm(&block);
        Ok(())
    }

    fn view(store: &Store) -> Option<View> {
        View::of(store)
    }

    async fn load(
        &mut self,
        keeper: &mut Keeper<Utxo>,
        node: &Arc<Node>,
        best: Best<Hash32>,
    ) -> Result<bool, Trouble> {
        first_load::go_on(&mut self.load, keeper, node, best).await
    }

    fn load_height(&self) -> Option<u32> {
        self.load.as_ref().map(Load::next_height)
    }
}
