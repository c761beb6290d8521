//! Keeps an index at the tip of its node.
//!
//! A round asks for the node's best block, brings our tip there, and looks at the pool. Leaves the
//! way there to `follow`, the past to `backfill`, traces to `tracing_pass`. Invariants: an index that
//! begins takes a few blocks below the node's best and is served at once; what goes wrong again and
//! again is tried ever more rarely.

use std::sync::Arc;
use std::time::{Duration, Instant};

use node::{Node, Pool, Tried, Verdict};
use tokio::sync::watch;

use super::aside::Aside;
use super::index::{Index, asked};
use super::options::SyncOptions;
use super::store::Store;
use super::upstream::Head;
use crate::sync::{Tidings, Trouble, UpstreamError, Waits};
use crate::{Standing, room};

/// Between two looks at what is final.
const FINAL_EVERY: Duration = Duration::from_secs(30);
/// Between two looks at the pool's counts.
const POOL_EVERY: Duration = Duration::from_secs(1);
/// Between two looks at the nodes' probes while none can be asked.
const NO_NODE: Duration = Duration::from_millis(100);
/// So long a node that gave parts of a block that make no sense is left alone where others are.
const SPOILT: Duration = Duration::from_secs(30);

/// What follows the tip.
pub(super) struct Sync {
    pub(super) index: Arc<Index>,
    /// The pool's counts were asked for once.
    passed: bool,
    pool_looked: Option<Instant>,
    /// The highest block that a node called final.
    pub(super) last_final: Option<u32>,
    final_looked: Option<Instant>,
    /// Since when other nodes do not know our tip.
    pub(super) alone_since: Option<Instant>,
    /// Nodes that gave something else than was asked for.
    spoilt: Aside,
    waits: Waits,
    tidings: Tidings,
    pub(super) end: watch::Receiver<bool>,
}

impl Index {
    /// Starts to keep an index at the tip of its nodes. What is on disk is served at once.
    pub fn start(store: Store, pool: Arc<Pool>, options: SyncOptions) -> Arc<Index> {
        let index = Arc::new(Index::new(store, pool, options));
        if let Err(error) = index.publish() {
            tracing::error!(chain = index.chain().slug, %error, "the index cannot be read");
        }
        if let Some(view) = index.view() {
            index.stand(Standing {
                height: view.tip().height,
                best_hash: Some(view.tip().hash.to_string()),
                ..Standing::default()
            });
        }
        let sync = Sync {
            index: Arc::clone(&index),
            passed: false,
            pool_looked: None,
            last_final: None,
            final_looked: None,
            alone_since: None,
            spoilt: Aside::default(),
            waits: Waits::default(),
            tidings: Tidings::new(index.chain().slug),
            end: index.end_asked(),
        };
        index.keep(tokio::spawn(sync.run()));
        index.keep(tokio::spawn(super::backfill::run(Arc::clone(&index))));
        index.keep(tokio::spawn(super::tracing_pass::run(Arc::clone(&index))));
        index
    }
}

impl Sync {
    async fn run(mut self) {
        loop {
            let mut end = self.end.clone();
            let round = tokio::select! {
                round = self.round() => round,
                // A node that hangs must not hold up an end that was asked for.
                () = asked(&mut end) => Err(Trouble::Ended),
            };
            let poll = self.index.options.poll;
            let pause = match &round {
                Err(Trouble::NoNode) => poll.min(NO_NODE),
                Err(Trouble::Changed) => poll.min(Duration::from_millis(20)),
                Err(trouble) if trouble.stops() => {
                    let tip = self.index.locked().tip().map_or(0, |tip| tip.height);
                    self.waits.next(poll, tip)
                }
                _ => poll,
            };
            match round {
                Ok(()) => {
                    self.tidings.well();
                    self.waits.forget();
                }
                Err(Trouble::Ended) => return,
                Err(trouble) => self.tell(&trouble),
            }
            tokio::select! {
                () = asked(&mut self.end) => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Logs a trouble once, and puts into the standing what stands in the way of every block and
    /// what of the nodes is waited for.
    fn tell(&mut self, trouble: &Trouble) {
        let waits_for = match trouble {
            Trouble::NoNode | Trouble::Upstream(_) => self.index.nodes.pool.hindrance(),
            _ => None,
        };
        let text = self.tidings.trouble(trouble, waits_for);
        let mut standing = self.index.standing();
        standing.stopped = trouble.stops().then_some(text);
        standing.in_sync &= !trouble.stops();
        standing.waits_for = waits_for;
        self.tidings.stands(&standing);
        self.index.stand(standing);
    }

    /// One look at a node, and everything that follows from it.
    async fn round(&mut self) -> Result<(), Trouble> {
        let node = self.node()?;
        let done = self.round_of(&node).await;
        let spoilt = UpstreamError::is_of_the_node;
        if matches!(&done, Err(Trouble::Upstream(error)) if spoilt(error)) {
            self.spoilt.put(&node, SPOILT);
        }
        done
    }

    async fn round_of(&mut self, node: &Arc<Node>) -> Result<(), Trouble> {
        let began = self.index.born.elapsed();
        let best = self.index.nodes.upstream.best(node).await?;
        self.index.heard();
        self.stand(node, best);
        self.check_room()?;
        self.look_at_final(node).await;
        let best = self.follow(node, best).await?;
        self.index.has_followed(began);
        self.look_at_chain_id(node).await;
        self.look_at_pool(node).await;
        self.stand(node, best);
        self.tidings.stands(&self.index.standing());
        Ok(())
    }

    /// The node that gave us our tip, if it can be asked and was not left behind; else the best
    /// one. One whose blocks make no sense is asked only where there is no other.
    fn node(&self) -> Result<Arc<Node>, Trouble> {
        let sound = self.probed(self.spoilt.tried(&self.index.nodes.pool));
        sound.or_else(|| self.probed(Tried::new())).ok_or(Trouble::NoNode)
    }

    /// Rows are for good, so nothing is taken from a node before a probe knew its chain.
    fn probed(&self, mut tried: Tried) -> Option<Arc<Node>> {
        loop {
            match self.index.nodes.pick(&tried) {
                Ok(node) if node.state().verdict != Verdict::Unprobed => return Some(node),
                Ok(unknown) => tried.add(&unknown),
                // A node that is still downloading can be followed while it does.
                Err(_) => {
                    let nodes = self.index.nodes.pool.nodes();
                    let syncs = |node: &&Arc<Node>| node.state().syncing() && !tried.contains(node);
                    return nodes.iter().find(syncs).map(Arc::clone);
                }
            }
        }
    }

    pub(super) fn stand(&self, node: &Arc<Node>, best: Head) {
        let tip = self.index.locked().tip();
        let at_best = tip.is_some_and(|tip| tip.hash == best.hash);
        let lag = best.height.saturating_sub(tip.map_or(0, |tip| tip.height));
        self.index.lagging.store(lag > 2, std::sync::atomic::Ordering::Relaxed);
        let syncing = node.state().syncing();
        self.index.stand(Standing {
            in_sync: at_best && !syncing && self.passed,
            height: tip.map_or(0, |tip| tip.height),
            best_hash: tip.map(|tip| tip.hash.to_string()),
            node_version: node.version(),
            mempool_count: self
                .index
                .txpool
                .counts()
                .map_or(0, |(pending, queued)| pending + queued),
            ..Standing::default()
        });
    }

    pub(super) fn check_room(&self) -> Result<(), Trouble> {
        let dir = self.index.locked().dir();
        Ok(room::check(&dir, self.index.options.least_free_bytes)?)
    }

    async fn look_at_final(&mut self, node: &Arc<Node>) {
        if self.final_looked.is_some_and(|at| at.elapsed() < FINAL_EVERY) {
            return;
        }
        // Some nodes have no notion of it, or none yet.
        if let Ok(Some(height)) = self.index.nodes.upstream.finalized(node).await {
            self.last_final = Some(height.max(self.last_final.unwrap_or(0)));
        }
        self.final_looked = Some(Instant::now());
    }

    async fn look_at_chain_id(&self, node: &Arc<Node>) {
        if self.index.chain_id().is_none()
            && let Ok(id) = self.index.nodes.upstream.chain_id(node).await
        {
            self.index.set_chain_id(id);
        }
    }

    async fn look_at_pool(&mut self, node: &Arc<Node>) {
        if self.pool_looked.is_some_and(|at| at.elapsed() < POOL_EVERY) {
            return;
        }
        self.passed |= self.index.look_at_pool_counts(node).await;
        self.pool_looked = Some(Instant::now());
    }
}
