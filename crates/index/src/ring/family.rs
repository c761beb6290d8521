//! What the ring family fills in, so that its indexes are kept at the tip.
//!
//! Leaves each part to the file that has it. Invariant: while the first load runs, or was cut off,
//! there is no tip and no view: what is on the disk is gone on with.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chain::ring::Hash;
use chain::{Chain, Network};
use node::Node;

use super::admission::hold_against;
use super::decoded::{RawBlock, decode};
use super::first_load;
use super::kept::Ring;
use super::mempool::Mempool;
use super::store::Store;
use super::upstream;
use super::view::View;
use crate::db::Db;
use crate::sync::{Best, Family, Keeper, Pass, SyncOptions, Trouble, UpstreamError};
use crate::{IndexError, ReadError};

impl Family for Ring {
    type Hash = Hash;
    type Store = Store;
    type View = View;
    type Raw = RawBlock;
    type Waiting = Mempool;

    fn new(_: &Store, options: &SyncOptions) -> Ring {
        Ring::new(options)
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

    fn place(store: &Store) -> (&'static Chain, &'static Network, PathBuf) {
        (store.chain(), store.network(), store.dir())
    }

    fn db(store: &Store) -> &Arc<Db> {
        store.db()
    }

    fn tip(store: &Store) -> Option<(u32, Hash)> {
        store.tip().filter(|_| !store.is_loading()).map(|tip| (tip.height, tip.hash))
    }

    fn hash_at(store: &Store, height: u32) -> Result<Option<Hash>, ReadError> {
        Ok(store.block(height)?.map(|block| block.hash))
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

    fn disconnect(store: &mut Store) -> Result<Option<u32>, IndexError> {
        Ok(store.disconnect()?.map(|tip| tip.height))
    }

    fn view(store: &Store) -> Option<View> {
        if store.is_loading() { None } else { View::of(store) }
    }

    fn tip_of(view: &View) -> (u32, Hash) {
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
