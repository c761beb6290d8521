//! The way from our tip to the node's best block: what the index begins with, what is taken back,
//! what is connected.
//!
//! Leaves when to look to `sync`. Invariants: a block is connected only if it follows our tip; a
//! reorganisation is one batch as far as memory allows, and is seen whole or not at all (decision
//! E7); what is final stays.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Instant;

use chain::NetworkKind;
use futures_util::{StreamExt, TryStreamExt, stream};
use node::Node;

use super::facts::Block;
use super::rows::End;
use super::store::Store;
use super::sync::Sync;
use super::upstream::Head;
use crate::IndexError;
use crate::sync::Trouble;

/// Blocks whose hashes are asked for in one request.
const HEADS: u32 = 64;
/// Blocks that are taken into one batch with what they replace.
const AT_ONCE: u32 = 256;

impl Sync {
    /// Brings our tip to the node's best block, and gives that.
    pub(super) async fn follow(
        &mut self,
        node: &Arc<Node>,
        mut best: Head,
    ) -> Result<Head, Trouble> {
        loop {
            let tip = self.index.locked().tip();
            match tip {
                Some(tip) if tip.hash == best.hash => {
                    self.index.nodes.came_from(node);
                    self.alone_since = None;
                    return Ok(best);
                }
                Some(tip) => self.approach(node, tip, best).await?,
                None => self.begin(node, best).await?,
            }
            self.index.heard();
            self.index.more.notify_waiters();
            self.stand(node, best);
            best = self.index.nodes.upstream.best(node).await?;
            self.check_room()?;
        }
    }

    /// Takes the first blocks of an empty index.
    async fn begin(&self, node: &Arc<Node>, best: Head) -> Result<(), Trouble> {
        let options = &self.index.options;
        let floor = options.floor(best.height).min(best.height);
        let first = best.height.saturating_sub(options.first_blocks.max(1) - 1).max(floor);
        let blocks = self.fetch(node, first..=best.height).await?;
        let height = best.height;
        let begin = move |store: &mut Store| {
            store.begin_at(height);
            store.replace(None, &blocks)
        };
        unless_changed(self.index.change(begin).await)
    }

    /// Comes one step nearer to the node's best block.
    async fn approach(&mut self, node: &Arc<Node>, tip: End, best: Head) -> Result<(), Trouble> {
        let fork = match best.parent == tip.hash {
            true => Some(tip.height),
            false => self.fork(node, tip, best).await?,
        };
        if fork == Some(tip.height) {
            let last = best.height.min(tip.height.saturating_add(AT_ONCE));
            return self.extend(node, tip.height + 1..=last, best).await;
        }
        self.may_leave(node, fork, tip, best)?;
        tracing::info!(
            chain = self.index.chain().slug,
            from = tip.height,
            to = fork,
            "the node left our chain; taking blocks back"
        );
        let first = match fork {
            Some(fork) => fork + 1,
            None => best.height,
        };
        let last = best.height.min(first.saturating_add(AT_ONCE - 1));
        let blocks = self.fetch(node, first..=last).await?;
        let seen = self.index.view().map_or(0, |view| view.tip().height);
        self.index.set_held(last < seen && last < best.height);
        unless_changed(self.index.change(move |store| store.replace(fork, &blocks)).await)
    }

    /// The height of the last block that our chain and the node's have in common, of those that we
    /// hold; none where they have none.
    async fn fork(&self, node: &Arc<Node>, tip: End, best: Head) -> Result<Option<u32>, Trouble> {
        let base = self.index.locked().base().ok_or(Trouble::Changed)?.height;
        if best.height < base {
            return Ok(None);
        }
        let mut top = tip.height.min(best.height);
        let mut step = 1;
        loop {
            let bottom = top.saturating_sub(step - 1).max(base);
            let theirs = self.index.nodes.upstream.heads(node, (bottom..=top).rev()).await?;
            if theirs.is_empty() {
                return Err(Trouble::Changed);
            }
            for head in &theirs {
                let ours = self.index.locked().block(head.height)?;
                if ours.is_some_and(|ours| ours.hash == head.hash) {
                    return Ok(Some(head.height));
                }
            }
            top = match bottom.checked_sub(1) {
                Some(top) if top >= base => top,
                _ => return Ok(None),
            };
            step = (step * 4).min(HEADS);
        }
    }

    /// Whether blocks of ours may be taken back: not for a node that only has to catch up, and not
    /// what is final. On a private network the operator does as he likes.
    fn may_leave(
        &mut self,
        node: &Arc<Node>,
        fork: Option<u32>,
        tip: End,
        best: Head,
    ) -> Result<(), Trouble> {
        let private = self.index.network().kind == NetworkKind::Regtest;
        if let Some(last_final) = self.last_final.filter(|_| !private)
            && fork.is_none_or(|fork| fork < last_final)
        {
            return Err(Trouble::BelowFinal(last_final));
        }
        let base = self.index.locked().base();
        if fork.is_none() && (!private || base.is_some_and(|base| base.height == 0)) {
            return Err(Trouble::Stranger);
        }
        let only_behind = fork == Some(best.height);
        if only_behind && node.state().syncing() {
            return Err(Trouble::Behind(best.height));
        }
        let another = self.index.nodes.last().is_some_and(|last| last != node.id());
        if another && (only_behind || best.height < tip.height) {
            let since = *self.alone_since.get_or_insert_with(Instant::now);
            if since.elapsed() < self.index.options.patience {
                return Err(Trouble::Behind(best.height));
            }
        }
        Ok(())
    }

    /// Connects the node's blocks of those heights, each as it comes.
    async fn extend(
        &self,
        node: &Arc<Node>,
        heights: RangeInclusive<u32>,
        best: Head,
    ) -> Result<(), Trouble> {
        let seen = self.index.view().map_or(0, |view| view.tip().height);
        let fetch = |height| self.index.nodes.upstream.block(node, height);
        let mut blocks = stream::iter(heights).map(fetch).buffered(self.index.options.window);
        while let Some(block) = blocks.try_next().await? {
            if *self.end.borrow() {
                return Err(Trouble::Ended);
            }
            if block.facts.height >= seen || block.facts.hash == best.hash {
                self.index.set_held(false);
            }
            let connected = self.index.change(move |store| store.extend(&block)).await;
            unless_changed(connected)?;
            self.index.nodes.came_from(node);
            self.index.more.notify_waiters();
        }
        Ok(())
    }

    async fn fetch(
        &self,
        node: &Arc<Node>,
        heights: RangeInclusive<u32>,
    ) -> Result<Vec<Block>, Trouble> {
        let fetch = |height| self.index.nodes.upstream.block(node, height);
        let blocks = stream::iter(heights).map(fetch).buffered(self.index.options.window);
        Ok(blocks.try_collect().await?)
    }
}

/// Blocks that do not follow each other come of a chain that changed while it was read.
fn unless_changed(done: Result<(), IndexError>) -> Result<(), Trouble> {
    match done {
        Err(IndexError::NotNext { .. }) => Err(Trouble::Changed),
        done => Ok(done?),
    }
}
