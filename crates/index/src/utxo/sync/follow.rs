//! From our tip to the node's best block: disconnects down to where the chains part, connects
//! what follows.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use chain::Hash32;
use chain::utxo::Block;
use futures_util::{StreamExt, stream};
use node::Node;

use super::{Sync, Trouble};
use crate::IndexError;
use crate::utxo::admission::hold_against;
use crate::utxo::half_done::HalfDone;
use crate::utxo::tip::Tip;
use crate::utxo::upstream::{self, Best, UpstreamError};
use crate::utxo::view::View;

/// Hashes that are asked for in one request.
const HASHES: u32 = 200;

impl Sync {
    /// Brings our tip to the node's best block, and gives that.
    pub(super) async fn follow(
        &mut self,
        node: &Arc<Node>,
        mut best: Best,
    ) -> Result<Best, Trouble> {
        loop {
            let tip = self.store().tip();
            let Some(tip) = tip else {
                self.begin(node, best).await?;
                best = upstream::best(node).await?;
                continue;
            };
            if tip.hash == best.hash {
                self.last_node = Some(node.id());
                self.alone_since = None;
                return Ok(best);
            }
            let fork = self.fork(node, tip, best).await?;
            if fork < tip.height {
                self.may_leave(node, fork, tip, best)?;
                self.disconnect_to(fork).await?;
            }
            let last = best.height.min(fork.saturating_add(HASHES));
            self.connect_from(node, fork + 1, last, best).await?;
            self.index.heard(node.version());
            best = upstream::best(node).await?;
            self.check_room()?;
        }
    }

    /// An empty index: in bulk where much is missing, else block by block.
    async fn begin(&mut self, node: &Arc<Node>, best: Best) -> Result<(), Trouble> {
        if best.height >= self.options.bulk_from || self.load_was_begun() {
            return self.first_load(node, best).await;
        }
        self.connect_from(node, 0, best.height.min(HASHES), best).await
    }

    /// The height of the last block that our chain and the node's have in common.
    async fn fork(&self, node: &Arc<Node>, tip: Tip, best: Best) -> Result<u32, Trouble> {
        let mut top = tip.height.min(best.height);
        let mut step = 1;
        loop {
            let bottom = top.saturating_sub(step - 1);
            let heights = (bottom..=top).rev();
            let theirs = upstream::hashes(node, heights.clone()).await?;
            if theirs.is_empty() {
                return Err(Trouble::Changed);
            }
            for (height, hash) in heights.zip(theirs) {
                let ours = self.store().block(height)?;
                if ours.is_some_and(|ours| ours.hash == hash) {
                    return Ok(height);
                }
            }
            top = bottom.checked_sub(1).ok_or(Trouble::Stranger)?;
            step = (step * 4).min(HASHES);
        }
    }

    /// Whether blocks of ours may be taken back: not for a node that only has to catch up.
    fn may_leave(
        &mut self,
        node: &Arc<Node>,
        fork: u32,
        tip: Tip,
        best: Best,
    ) -> Result<(), Trouble> {
        let only_behind = fork == best.height;
        if only_behind && best.behind {
            return Err(Trouble::Behind(best.height));
        }
        let another = self.last_node.is_some_and(|last| last != node.id());
        if another && (only_behind || best.height < tip.height) {
            let since = *self.alone_since.get_or_insert_with(Instant::now);
            if since.elapsed() < self.options.patience {
                return Err(Trouble::Behind(best.height));
            }
        }
        Ok(())
    }

    async fn disconnect_to(&mut self, fork: u32) -> Result<(), Trouble> {
        if self.held_at.is_none() {
            self.held_at = self.index.view().map(|view| view.height());
        }
        HalfDone::of(&self.store().dir()).note(fork)?;
        let mut height = self.store().tip().map_or(0, |tip| tip.height);
        tracing::info!(
            chain = self.index.chain().slug,
            from = height,
            to = fork,
            "the node left our chain; taking blocks back"
        );
        while height > fork {
            if *self.end.borrow() {
                return Err(Trouble::Ended);
            }
            let store = Arc::clone(&self.store);
            let disconnect = move || {
                let mut store = store.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                store.disconnect()
            };
            let tip = blocking(disconnect).await?;
            self.passes.loosen();
            height = tip.map_or(0, |tip| tip.height);
        }
        Ok(())
    }

    /// Connects the node's blocks of those heights; several are fetched at once.
    async fn connect_from(
        &mut self,
        node: &Arc<Node>,
        first: u32,
        last: u32,
        best: Best,
    ) -> Result<(), Trouble> {
        if first > last {
            return Ok(());
        }
        let hashes = upstream::hashes(node, first..=last).await?;
        let fetch = |hash: Hash32| {
            let node = Arc::clone(node);
            async move { (hash, upstream::block(&node, &hash).await) }
        };
        let mut blocks = stream::iter(hashes).map(fetch).buffered(self.options.window);
        while let Some((hash, raw)) = blocks.next().await {
            if *self.end.borrow() {
                return Err(Trouble::Ended);
            }
            self.take(node, hash, raw, best).await?;
        }
        Ok(())
    }

    /// Connects a block of a node. One that it does not have, or has spoilt, is asked of the
    /// others that are ready.
    async fn take(
        &mut self,
        node: &Arc<Node>,
        hash: Hash32,
        raw: Result<Bytes, UpstreamError>,
        best: Best,
    ) -> Result<(), Trouble> {
        let connected = match raw {
            Ok(raw) => self.connect(hash, raw, best).await,
            Err(error) => Err(error.into()),
        };
        let trouble = match connected {
            Err(trouble) if trouble.is_of_one_node() => trouble,
            connected => {
                self.last_node = Some(node.id());
                return connected;
            }
        };
        for other in self.others(node) {
            let Ok(raw) = upstream::block(&other, &hash).await else { continue };
            match self.connect(hash, raw, best).await {
                Err(trouble) if trouble.is_of_one_node() => {}
                connected => {
                    self.pass_over(node, &trouble);
                    self.last_node = Some(other.id());
                    return connected;
                }
            }
        }
        self.pass_over(node, &trouble);
        Err(trouble)
    }

    async fn connect(&mut self, hash: Hash32, raw: Bytes, best: Best) -> Result<(), Trouble> {
        let store = Arc::clone(&self.store);
        let mut mempool = self.passes.mempool().clone();
        let (held_at, is_loose) = (self.held_at, self.passes.is_loose());
        // At the node's best after a reorganisation the pool is brought up first.
        let is_shown = move |height: u32| match held_at {
            None => true,
            Some(held_at) => height >= held_at && hash != best.hash,
        };
        let connect = move || {
            let mut store = store.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
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
            mempool.confirm(&block);
            let view = View::of(&store).filter(|view| is_shown(view.height()));
            if let Some(view) = view.as_ref().filter(|_| is_loose) {
                hold_against(&mut mempool, view)?;
            }
            Ok((view, mempool))
        };
        let (view, mempool) = match blocking(connect).await {
            Err(Trouble::Index(IndexError::NotNext { .. })) => return Err(Trouble::Changed),
            other => other?,
        };
        self.passes.moved_to(mempool);
        if let Some(view) = view {
            self.passes.tighten();
            self.publish(&view, false);
            self.stand(None);
        }
        Ok(())
    }
}

/// Runs what reads and writes the disk away from the runtime.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, IndexError> + Send + 'static,
) -> Result<T, Trouble> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done?),
        Err(error) => Err(IndexError::failed(format!("a change was cut off: {error}")).into()),
    }
}
