//! Round after round: one look at the node, and everything that follows from it.
//!
//! Leaves the way to the node's tip to `follow`. Invariants: a pool that blocks were taken back
//! from under is not shown before it was held against the chain; what goes wrong again and again is
//! tried ever more rarely.

use std::sync::Arc;
use std::time::{Duration, Instant};

use node::{Node, Pool};
use tokio::sync::watch;

use super::half_done::{HalfDone, back_to_fork};
use super::nodes::Nodes;
use super::tidings::Tidings;
use super::waits::Waits;
use super::{
    Best, Family, HashOf, Index, Keeper, Pass, Passes, SyncOptions, TipView, Trouble, Waiting,
    away, locked,
};
use crate::Standing;
use crate::store::Store;

/// Between two looks at the nodes' probes while none can be asked.
const NO_NODE: Duration = Duration::from_millis(100);
/// Between two rounds that follow each other as fast as may be.
const AT_ONCE: Duration = Duration::from_millis(20);

/// An index and what keeps it at the tip.
pub(super) struct Round<F: Family> {
    pub(super) keeper: Keeper<F>,
    pub(super) family: F,
    /// Blocks were taken back since what waits was held against the chain.
    pub(super) is_loose: bool,
    /// Whether the pool is the node's at our tip.
    passed: bool,
    waits: Waits,
    tidings: Tidings,
}

impl<F: Family> Index<F> {
    /// Starts to keep an index at the tip of its nodes. What is on disk is served at once; of a
    /// reorganisation that was cut off the block at which the chains part.
    pub fn start(
        mut store: Store<F::Schema>,
        pool: Arc<Pool>,
        options: SyncOptions,
    ) -> Arc<Index<F>> {
        if let Err(error) = back_to_fork::<F>(&mut store) {
            tracing::error!(chain = store.chain().slug, %error, "a reorganisation stays half done");
        }
        let (view, family) = (F::view(&store), F::new(&store, &options));
        let index = Arc::new(Index::new(store));
        if let Some(view) = view {
            let (height, hash) = view.tip();
            let best_hash = Some(hash.to_string());
            index.stand(Standing { height, best_hash, ..Standing::default() });
            index.publish(view);
        }
        let keeper = Keeper {
            index: Arc::clone(&index),
            nodes: Nodes::new(pool),
            store: Arc::clone(index.store()),
            options,
            held_at: None,
            last_node: None,
            alone_since: None,
            end: index.end_asked(),
        };
        index.keep(tokio::spawn(Round::new(keeper, family).run()));
        index
    }
}

impl<F: Family> Round<F> {
    fn new(keeper: Keeper<F>, family: F) -> Round<F> {
        let tidings = Tidings::new(keeper.slug());
        let waits = Waits::default();
        Round { keeper, family, is_loose: false, passed: false, waits, tidings }
    }

    async fn run(mut self) {
        let mut woken = self.keeper.nodes.pool().woken();
        loop {
            let (mut end, began) = (self.keeper.end.clone(), Instant::now());
            let round = tokio::select! {
                round = self.round() => round,
                // A node that hangs must not hold up an end that was asked for.
                () = asked(&mut end) => Err(Trouble::Ended),
            };
            let (pause, may_be_woken) = match round {
                Ok(pass) => self.after(pass),
                Err(Trouble::Ended) => return self.settle().await,
                Err(trouble) => self.after_trouble(&trouble),
            };
            self.stand(None);
            tokio::select! {
                () = asked(&mut end) => return self.settle().await,
                () = tokio::time::sleep(pause) => {}
                changed = woken.changed(), if may_be_woken => match changed {
                    // News may come by the thousand.
                    Ok(()) => tokio::time::sleep(AT_ONCE.saturating_sub(began.elapsed())).await,
                    Err(_) => tokio::time::sleep(pause).await,
                },
            }
        }
    }

    /// How long to wait after a round that came to its end, and whether news may cut that short.
    fn after(&mut self, pass: Pass) -> (Duration, bool) {
        self.tidings.well();
        self.keeper.index.set_waits_for(None);
        self.waits.forget();
        match pass {
            Pass::Moved | Pass::Unfinished => (AT_ONCE, true),
            Pass::Whole | Pass::Unread => (self.keeper.options.poll, true),
            Pass::Resting => (self.keeper.options.poll.min(self.family.passes().rest()), true),
        }
    }

    /// The same after one that did not. What stands in the way of every block is tried ever more
    /// rarely, whatever the node publishes.
    fn after_trouble(&mut self, trouble: &Trouble) -> (Duration, bool) {
        self.tell(trouble);
        let standing = self.keeper.index.standing();
        if !standing.in_sync {
            self.tidings.stands(&standing);
        }
        let (poll, load) = (self.keeper.options.poll, self.family.load_height());
        match trouble {
            Trouble::NoNode => (poll.min(NO_NODE), true),
            _ if trouble.stops() || load.is_some() => {
                let tip = F::tip(&self.keeper.store()).map(|(height, _)| height);
                (self.waits.next(poll, load.or(tip).unwrap_or(0)), false)
            }
            _ => (poll, true),
        }
    }

    /// Waits until a change that is under way is on the disk.
    async fn settle(&self) {
        let store = Arc::clone(&self.keeper.store);
        // It cannot be cut off: it only waits.
        let _ = tokio::task::spawn_blocking(move || drop(locked(&store))).await;
    }

    /// Logs a trouble once, and what stands in the way of every block also in the standing.
    fn tell(&mut self, trouble: &Trouble) {
        let waits_for = match trouble {
            Trouble::NoNode | Trouble::Upstream(_) => self.keeper.nodes.pool().hindrance(),
            _ => None,
        };
        self.keeper.index.set_waits_for(waits_for);
        let text = self.tidings.trouble(trouble, waits_for);
        self.keeper.index.set_stopped(trouble.stops().then_some(text));
    }

    async fn round(&mut self) -> Result<Pass, Trouble> {
        let node = self.keeper.nodes.choose(self.keeper.last_node)?;
        let best = self.family.best(&node).await?;
        self.keeper.index.heard(node.version());
        self.stand(Some(best));
        self.keeper.check_room()?;
        let best = self.follow(&node, best).await?;
        self.keeper.index.set_stopped(None);
        let pass = self.pass(&node).await;
        self.stand(Some(best));
        self.tidings.stands(&self.keeper.index.standing());
        pass
    }

    /// Brings the pool up to the node's, if it is time, and publishes it with our tip.
    async fn pass(&mut self, node: &Arc<Node>) -> Result<Pass, Trouble> {
        if !self.family.passes().rest().is_zero() {
            return Ok(Pass::Resting);
        }
        let view = F::view(&self.keeper.store()).map(Arc::new).ok_or(Trouble::Changed)?;
        self.tighten(&view).await?;
        let pass = self.family.passes_mut().pass(node, &view).await;
        if pass.is_ok() {
            self.keeper.index.pool_heard();
        }
        self.passed = match &pass {
            Ok(Pass::Whole) => true,
            Ok(Pass::Unread | Pass::Unfinished) => false,
            Ok(Pass::Moved | Pass::Resting) | Err(_) => self.passed,
        };
        self.publish(&view, true);
        pass
    }

    /// Holds what waits against the chain, if blocks were taken back from under it.
    async fn tighten(&mut self, view: &Arc<F::View>) -> Result<(), Trouble> {
        if !self.is_loose {
            return Ok(());
        }
        let (mut waiting, view) = (self.family.passes().waiting().clone(), Arc::clone(view));
        let held = away(move || Ok(waiting.hold_against(&view).map(|()| waiting)?));
        let waiting = held.await?;
        self.family.passes_mut().moved_to(waiting);
        self.is_loose = false;
        Ok(())
    }

    /// Publishes our tip with the mempool, unless a reorganisation is half done.
    pub(super) fn publish(&mut self, view: &F::View, at_best: bool) {
        let keeper = &mut self.keeper;
        if let Some(height) = keeper.held_at {
            if view.tip().0 < height && !at_best {
                return;
            }
            keeper.held_at = None;
            let dir = keeper.store().dir();
            if let Err(error) = HalfDone::of(&dir).clear() {
                tracing::warn!(chain = keeper.slug(), %error, "a note stays behind");
            }
        }
        keeper.index.publish(view.showing(Some(self.family.passes().waiting().clone())));
    }

    /// Says how we stand with the node.
    pub(super) fn stand(&self, best: Option<Best<HashOf<F>>>) {
        let index = &self.keeper.index;
        let Some(view) = index.view() else { return };
        let ((height, hash), before) = (view.tip(), index.standing());
        let at_best = match best {
            Some(best) => !best.behind && best.hash == hash,
            None => before.in_sync,
        };
        index.stand(Standing {
            in_sync: at_best && self.passed,
            height,
            best_hash: Some(hash.to_string()),
            mempool_count: self.family.passes().waiting().count(),
            first_load: None,
            ..before
        });
    }
}

/// Waits until the end is asked for.
async fn asked(end: &mut watch::Receiver<bool>) {
    // The sender is the index, which outlives the task or ends it.
    let _ = end.wait_for(|end| *end).await;
}
