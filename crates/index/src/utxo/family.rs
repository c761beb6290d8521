//! What the utxo family fills in, so that its indexes are kept at the tip.
//!
//! Leaves each part to the file that has it. Invariant: a block is decoded and held against its own
//! header before a row of it is made.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chain::utxo::Block;
use chain::{Chain, Hash32, Network};
use node::Node;

use super::admission::hold_against;
use super::first_load;
use super::kept::Utxo;
use super::mempool::Mempool;
use super::store::Store;
use super::under_way::Load;
use super::upstream;
use super::view::View;
use crate::db::Db;
use crate::sync::{Best, Family, Keeper, Pass, SyncOptions, Trouble, UpstreamError};
use crate::{IndexError, ReadError};

impl Family for Utxo {
    type Hash = Hash32;
    type Store = Store;
    type View = View;
    type Raw = Bytes;
    type Waiting = Mempool;

    fn new(store: &Store, options: &SyncOptions) -> Utxo {
        Utxo::new(store, options)
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

    fn place(store: &Store) -> (&'static Chain, &'static Network, PathBuf) {
        (store.chain(), store.network(), store.dir())
    }

    fn db(store: &Store) -> &Arc<Db> {
        store.db()
    }

    fn tip(store: &Store) -> Option<(u32, Hash32)> {
        store.tip().map(|tip| (tip.height, tip.hash))
    }

    fn hash_at(store: &Store, height: u32) -> Result<Option<Hash32>, ReadError> {
        Ok(store.block(height)?.map(|block| block.hash))
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

    fn disconnect(store: &mut Store) -> Result<Option<u32>, IndexError> {
        Ok(store.disconnect()?.map(|tip| tip.height))
    }

    fn view(store: &Store) -> Option<View> {
        View::of(store)
    }

    fn tip_of(view: &View) -> (u32, Hash32) {
        (view.height(), view.hash())
    }

    fn showing(view: &View, waiting: Option<Mempool>) -> View {
        view.with_mempool(waiting)
    }

    fn shows_waiting(view: &View) -> bool {
        view.mempool().is_some()
    }

    fn waiting(&self) -> &Mempool {
        self.passes.mempool()
    }

    fn count(waiting: &Mempool) -> u64 {
        waiting.count()
    }

    fn moved_to(&mut self, waiting: Mempool) {
        self.passes.moved_to(waiting);
    }

    fn hold_against(waiting: &mut Mempool, view: &View) -> Result<(), ReadError> {
        hold_against(waiting, view)
    }

    fn rest(&self) -> Duration {
        self.passes.rest()
    }

    async fn pass(&mut self, node: &Arc<Node>, view: &Arc<View>) -> Result<Pass, Trouble> {
        self.passes.pass(node, view).await
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
