//! From our tip to the node's best block: where the chains part, and back to there.
//!
//! Leaves connecting to `connect`. Invariant: a node that is only behind us takes nothing back.

use std::sync::Arc;
use std::time::Instant;

use node::Node;

use super::half_done::HalfDone;
use super::round::Round;
use super::{Best, Family, HashOf, TipView, Trouble, away, locked};
use crate::store::LastBlock;

/// Hashes that are asked for in one request.
const HASHES: u32 = 200;

impl<F: Family> Round<F> {
    /// Brings our tip to the node's best block, and gives that.
    pub(super) async fn follow(
        &mut self,
        node: &Arc<Node>,
        mut best: Best<HashOf<F>>,
    ) -> Result<Best<HashOf<F>>, Trouble> {
        loop {
            let tip = F::tip(&self.keeper.store());
            let Some((height, hash)) = tip else {
                if !self.family.load(&mut self.keeper, node, best).await? {
                    self.connect_from(node, 0, best.height.min(HASHES), best).await?;
                }
                self.stand(None);
                best = self.family.best(node).await?;
                continue;
            };
            if hash == best.hash {
                self.keeper.last_node = Some(node.id());
                self.keeper.alone_since = None;
                return Ok(best);
            }
            let fork = self.fork(node, height, best).await?;
            if fork < height {
                self.may_leave(node, fork, height, best)?;
                self.disconnect_to(fork).await?;
            }
            let last = best.height.min(fork.saturating_add(HASHES));
            self.connect_from(node, fork + 1, last, best).await?;
            self.keeper.index.heard(node.version());
            best = self.family.best(node).await?;
            self.keeper.check_room()?;
        }
    }

    /// The height of the last block that our chain and the node's have in common.
    async fn fork(
        &self,
        node: &Arc<Node>,
        tip: u32,
        best: Best<HashOf<F>>,
    ) -> Result<u32, Trouble> {
        let mut top = tip.min(best.height);
        let mut step = 1;
        loop {
            let bottom = top.saturating_sub(step - 1);
            let heights: Vec<u32> = (bottom..=top).rev().collect();
            let theirs = F::hashes(node, heights.clone()).await?;
            if theirs.is_empty() {
                return Err(Trouble::Changed);
            }
            for (height, hash) in heights.into_iter().zip(theirs) {
                if self.keeper.store().hash_at(height)? == Some(hash) {
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
        tip: u32,
        best: Best<HashOf<F>>,
    ) -> Result<(), Trouble> {
        let keeper = &mut self.keeper;
        let only_behind = fork == best.height;
        if only_behind && best.behind {
            return Err(Trouble::Behind(best.height));
        }
        let another = keeper.last_node.is_some_and(|last| last != node.id());
        if another && (only_behind || best.height < tip) {
            let since = *keeper.alone_since.get_or_insert_with(Instant::now);
            if since.elapsed() < keeper.options.patience {
                return Err(Trouble::Behind(best.height));
            }
        }
        Ok(())
    }

    async fn disconnect_to(&mut self, fork: u32) -> Result<(), Trouble> {
        let keeper = &mut self.keeper;
        if keeper.held_at.is_none() {
            keeper.held_at = keeper.index.view().map(|view| view.tip().0);
        }
        let (tip, dir) = {
            let store = keeper.store();
            (F::tip(&store), store.dir())
        };
        HalfDone::of(&dir).note(fork)?;
        let mut height = tip.map_or(0, |(height, _)| height);
        let chain = keeper.slug();
        tracing::info!(
            chain,
            from = height,
            to = fork,
            "the node left our chain; taking blocks back"
        );
        while height > fork {
            self.keeper.check_end()?;
            let store = Arc::clone(&self.keeper.store);
            let before = away(move || locked(&store).disconnect()).await?;
            self.is_loose = true;
            height = before.map_or(0, |tip| tip.height());
        }
        Ok(())
    }
}
