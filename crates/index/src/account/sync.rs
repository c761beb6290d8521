//! Keeps an index at the tip of its node.
//!
//! A round asks for the node's best block, brings our tip there, and looks at the pool. Leaves the
//! past to `backfill`, traces to `tracing_pass`. Invariants: an index that begins takes a few
//! blocks below the node's best and is served at once; a block is connected only if it follows our
//! tip; a reorganisation is one batch as far as memory allows, and is seen whole or not at all
//! (decision E7); what is final stays.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chain::NetworkKind;
use chain::account::RewardForks;
use futures_util::{StreamExt, TryStreamExt, stream};
use node::{Node, Pool, Standing as Probed, Tried};
use tokio::sync::watch;

use super::facts::Block;
use super::index::{Index, asked};
use super::rows::End;
use super::store::Store;
use super::upstream::{Head, UpstreamError};
use crate::{IndexError, ReadError, Standing};

/// Blocks whose hashes are asked for in one request.
const HEADS: u32 = 64;
/// Blocks that are taken into one batch with what they replace.
const AT_ONCE: u32 = 256;
/// Between two looks at what is final.
const FINAL_EVERY: Duration = Duration::from_secs(30);
/// Between two looks at the pool's counts.
const POOL_EVERY: Duration = Duration::from_secs(1);
/// Between two looks at the nodes' probes while none can be asked.
const NO_NODE: Duration = Duration::from_millis(100);

/// How an index is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncOptions {
    /// Between two looks at the node; 500 ms.
    pub poll: Duration,
    /// Blocks that are fetched at once; 8.
    pub window: usize,
    /// Nothing is connected while less is free on the disk; 2 GiB.
    pub least_free_bytes: u64,
    /// So long a node that knows nothing of our last blocks is waited for, if another node gave
    /// them; 30 s.
    pub patience: Duration,
    /// Where the index begins: a height, or so many blocks back from the tip at the first start
    /// where it is negative; -2,000,000 (decision A12).
    pub history_from: i64,
    /// Blocks that an empty index takes before it is served; 64.
    pub first_blocks: u32,
    /// Heights from which the reward of miners is lower; those of the network unless given.
    pub forks: Option<RewardForks>,
}

impl Default for SyncOptions {
    fn default() -> SyncOptions {
        SyncOptions {
            poll: Duration::from_millis(500),
            window: 8,
            least_free_bytes: 2 << 30,
            patience: Duration::from_secs(30),
            history_from: -2_000_000,
            first_blocks: 64,
            forks: None,
        }
    }
}

impl SyncOptions {
    /// The height at which the index begins, if the node's tip had that height at the first start.
    pub(super) fn floor(&self, begun_at: u32) -> u32 {
        match self.history_from {
            from @ 0.. => from.try_into().unwrap_or(u32::MAX),
            back => begun_at.saturating_sub(back.unsigned_abs().try_into().unwrap_or(u32::MAX)),
        }
    }
}

/// Why a round ended before it was through.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error("no node can be asked")]
    NoNode,
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("the node is at height {0}, behind our tip; it is waited for")]
    Behind(u32),
    #[error("less than {least} MiB are free on the disk of the index", least = .0 >> 20)]
    DiskFull(u64),
    #[error("the node's chain changed")]
    Changed,
    #[error("the node's chain has nothing in common with ours")]
    Stranger,
    #[error("the node left our chain below block {0}, which was final")]
    BelowFinal(u32),
    #[error("asked to end")]
    Ended,
}

impl Trouble {
    fn stops(&self) -> bool {
        matches!(
            self,
            Trouble::Index(_)
                | Trouble::Read(_)
                | Trouble::DiskFull(_)
                | Trouble::Stranger
                | Trouble::BelowFinal(_)
        )
    }
}

/// What follows the tip.
struct Sync {
    index: Arc<Index>,
    /// The pool's counts were asked for once.
    passed: bool,
    pool_looked: Option<Instant>,
    last_final: Option<u32>,
    final_looked: Option<Instant>,
    /// Since when other nodes do not know our tip.
    alone_since: Option<Instant>,
    told: Option<String>,
    end: watch::Receiver<bool>,
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
            told: None,
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
                _ => poll,
            };
            match round {
                Ok(()) => self.told = None,
                Err(Trouble::Ended) => return,
                Err(trouble) => self.tell(&trouble),
            }
            tokio::select! {
                () = asked(&mut self.end) => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Logs a trouble once, and what stands in the way of every block also in the standing.
    fn tell(&mut self, trouble: &Trouble) {
        let text = trouble.to_string();
        if self.told.as_ref() != Some(&text) {
            let chain = self.index.chain().slug;
            match trouble {
                _ if trouble.stops() => {
                    tracing::error!(chain, "the index does not go on: {text}");
                }
                Trouble::Upstream(_) => tracing::warn!(chain, "the index waits: {text}"),
                _ => tracing::debug!(chain, "the index waits: {text}"),
            }
        }
        let mut standing = self.index.standing();
        standing.stopped = trouble.stops().then(|| text.clone());
        standing.in_sync &= !trouble.stops();
        self.index.stand(standing);
        self.told = Some(text);
    }

    /// One look at the node, and everything that follows from it.
    async fn round(&mut self) -> Result<(), Trouble> {
        let node = self.node()?;
        let best = self.index.upstream.best(&node).await?;
        self.index.heard();
        self.stand(&node, best);
        self.check_room()?;
        self.look_at_final(&node).await;
        let best = self.follow(&node, best).await?;
        self.look_at_chain_id(&node).await;
        self.look_at_pool(&node).await;
        self.stand(&node, best);
        Ok(())
    }

    /// The node that gave us our tip, if it can be asked and was not left behind; else the best
    /// one. Rows are for good, so nothing is taken from a node before a probe knew its chain.
    fn node(&self) -> Result<Arc<Node>, Trouble> {
        let mut tried = Tried::new();
        loop {
            match self.index.node(&tried) {
                Ok(node) if node.state().standing != Probed::Unprobed => return Ok(node),
                Ok(unknown) => tried.add(&unknown),
                // A node that is still downloading can be followed while it does.
                Err(_) => {
                    let nodes = self.index.pool.nodes();
                    let syncing = nodes.iter().find(|node| node.state().syncing());
                    return syncing.map(Arc::clone).ok_or(Trouble::NoNode);
                }
            }
        }
    }

    fn stand(&self, node: &Arc<Node>, best: Head) {
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

    fn check_room(&self) -> Result<(), Trouble> {
        let least = self.index.options.least_free_bytes;
        let dir = self.index.locked().dir();
        let free = rustix::fs::statvfs(&dir).ok();
        let free = free.map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        match free {
            Some(free) if free < least => Err(Trouble::DiskFull(least)),
            _ => Ok(()),
        }
    }

    async fn look_at_final(&mut self, node: &Arc<Node>) {
        if self.final_looked.is_some_and(|at| at.elapsed() < FINAL_EVERY) {
            return;
        }
        // Some nodes have no notion of it, or none yet.
        if let Ok(Some(height)) = self.index.upstream.finalized(node).await {
            self.last_final = Some(height.max(self.last_final.unwrap_or(0)));
        }
        self.final_looked = Some(Instant::now());
    }

    async fn look_at_chain_id(&self, node: &Arc<Node>) {
        if self.index.chain_id().is_none()
            && let Ok(id) = self.index.upstream.chain_id(node).await
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

    /// Brings our tip to the node's best block, and gives that.
    async fn follow(&mut self, node: &Arc<Node>, mut best: Head) -> Result<Head, Trouble> {
        loop {
            let tip = self.index.locked().tip();
            match tip {
                Some(tip) if tip.hash == best.hash => {
                    self.index.came_from(node);
                    self.alone_since = None;
                    return Ok(best);
                }
                Some(tip) => self.approach(node, tip, best).await?,
                None => self.begin(node, best).await?,
            }
            self.index.heard();
            self.index.more.notify_waiters();
            self.stand(node, best);
            best = self.index.upstream.best(node).await?;
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
            let theirs = self.index.upstream.heads(node, (bottom..=top).rev()).await?;
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
        let another = self.index.last_node().is_some_and(|last| last != node.id());
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
        let fetch = |height| self.index.upstream.block(node, height);
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
            self.index.came_from(node);
            self.index.more.notify_waiters();
        }
        Ok(())
    }

    async fn fetch(
        &self,
        node: &Arc<Node>,
        heights: RangeInclusive<u32>,
    ) -> Result<Vec<Block>, Trouble> {
        let fetch = |height| self.index.upstream.block(node, height);
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
