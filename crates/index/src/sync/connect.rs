//! Blocks of a node are fetched and connected one by one.
//!
//! Invariant: a block that one node has not, or has spoilt, is asked of the others that are ready
//! before anything is given up.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use node::Node;

use super::round::Round;
use super::{Best, Family, HashOf, Passes, TipView, Trouble, UpstreamError, Waiting, away, locked};
use crate::IndexError;

impl<F: Family> Round<F> {
    /// Connects the node's blocks of those heights; several are fetched at once.
    pub(super) async fn connect_from(
        &mut self,
        node: &Arc<Node>,
        first: u32,
        last: u32,
        best: Best<HashOf<F>>,
    ) -> Result<(), Trouble> {
        if first > last {
            return Ok(());
        }
        let hashes = F::hashes(node, (first..=last).collect()).await?;
        let fetch = |hash: HashOf<F>| {
            let node = Arc::clone(node);
            async move { (hash, F::block(&node, hash).await) }
        };
        let window = self.keeper.options.window;
        let mut blocks = std::pin::pin!(stream::iter(hashes).map(fetch).buffered(window));
        while let Some((hash, raw)) = blocks.next().await {
            self.keeper.check_end()?;
            self.take(node, hash, raw, best).await?;
        }
        Ok(())
    }

    /// Connects a block of a node, or another node's.
    async fn take(
        &mut self,
        node: &Arc<Node>,
        hash: HashOf<F>,
        raw: Result<F::Raw, UpstreamError>,
        best: Best<HashOf<F>>,
    ) -> Result<(), Trouble> {
        let connected = match raw {
            Ok(raw) => self.connect(hash, raw, best).await,
            Err(error) => Err(error.into()),
        };
        let trouble = match connected {
            Err(trouble) if trouble.is_of_one_node() => trouble,
            connected => {
                self.keeper.last_node = Some(node.id());
                return connected;
            }
        };
        for other in self.keeper.nodes.others(node) {
            let Ok(raw) = F::block(&other, hash).await else { continue };
            match self.connect(hash, raw, best).await {
                Err(trouble) if trouble.is_of_one_node() => {}
                connected => {
                    self.keeper.nodes.pass_over(node, &trouble);
                    self.keeper.last_node = Some(other.id());
                    return connected;
                }
            }
        }
        self.keeper.nodes.pass_over(node, &trouble);
        Err(trouble)
    }

    async fn connect(
        &mut self,
        hash: HashOf<F>,
        raw: F::Raw,
        best: Best<HashOf<F>>,
    ) -> Result<(), Trouble> {
        let store = Arc::clone(&self.keeper.store);
        let mut waiting = self.family.passes().waiting().clone();
        let (held_at, is_loose) = (self.keeper.held_at, self.is_loose);
        // At the node's best after a reorganisation the pool is brought up first.
        let is_shown = move |height: u32| match held_at {
            None => true,
            Some(held_at) => height >= held_at && hash != best.hash,
        };
        let connect = move || {
            let mut store = locked(&store);
            F::connect(&mut store, hash, raw, &mut waiting)?;
            let view = F::view(&store).filter(|view| is_shown(view.tip().0));
            if let Some(view) = view.as_ref().filter(|_| is_loose) {
                waiting.hold_against(view)?;
            }
            Ok((view, waiting))
        };
        let (view, waiting) = match away(connect).await {
            Err(Trouble::Index(IndexError::NotNext { .. })) => return Err(Trouble::Changed),
            connected => connected?,
        };
        self.family.passes_mut().moved_to(waiting);
        if let Some(view) = view {
            self.is_loose = false;
            self.publish(&view, false);
            self.stand(None);
        }
        Ok(())
    }
}
