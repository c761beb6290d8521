//! Keeps an index at the tip of its node.
//!
//! A round asks for the node's best block, takes back what is not in its chain, connects what is,
//! makes a pass over the mempool and publishes. Leaves rows to `Store`, the first load to `Loader`.
//! Invariants: a block is connected only if it follows our tip; blocks that only extend the
//! published tip are published one by one; from the first disconnect on nothing is published until
//! our tip has the height published before, or is the node's best (decision E7).

mod first_load;
mod follow;
mod nodes;
mod progress;
mod trouble;
mod waits;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use node::{Node, Pool};
use tokio::sync::watch;

use super::half_done::HalfDone;
use super::index::Index;
use super::load::LoadOptions;
use super::pool_pass::{Pass, PoolPasses, PoolRules};
use super::store::Store;
use super::upstream::{self, Best};
use super::view::View;
use crate::{IndexError, Standing, room};
use first_load::Load;
use trouble::Trouble;
use waits::Waits;

/// Between two looks at the nodes' probes while none can be asked.
const NO_NODE: Duration = Duration::from_millis(100);
/// Between two rounds that follow each other as fast as may be.
const AT_ONCE: Duration = Duration::from_millis(20);
/// After so long out of sync it is logged that it is in sync again.
const LONG_OUT: Duration = Duration::from_secs(30);

/// How an index is kept at the tip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncOptions {
    /// Between two looks at the node; 500 ms.
    pub poll: Duration,
    /// Blocks that are fetched at once; 8.
    pub window: usize,
    /// An empty index that is this many blocks behind is loaded in bulk; 500.
    pub bulk_from: u32,
    /// The first load.
    pub load: LoadOptions,
    /// Memory for the mempool; beyond it only ids are kept; 512 MiB.
    pub mempool_bytes: u64,
    /// The list of the mempool is read at most once in so long; 1 s (decision U16).
    pub mempool_every: Duration,
    /// Nothing is connected while less is free on the disk; 2 GiB.
    pub least_free_bytes: u64,
    /// So long a node that knows nothing of our last blocks is waited for, if another node gave
    /// them; 30 s.
    pub patience: Duration,
}

impl Default for SyncOptions {
    fn default() -> SyncOptions {
        SyncOptions {
            poll: Duration::from_millis(500),
            window: 8,
            bulk_from: 500,
            load: LoadOptions::default(),
            mempool_bytes: 512 << 20,
            mempool_every: Duration::from_secs(1),
            least_free_bytes: 2 << 30,
            patience: Duration::from_secs(30),
        }
    }
}

/// An index and what keeps it at the tip.
pub(super) struct Sync {
    index: Arc<Index>,
    pool: Arc<Pool>,
    store: Arc<Mutex<Store>>,
    options: SyncOptions,
    passes: PoolPasses,
    /// Whether the pool is the node's at our tip.
    passed: bool,
    /// The height that was published before the first disconnect.
    held_at: Option<u32>,
    /// The node that gave us our tip.
    last_node: Option<u64>,
    /// Since when other nodes do not know our tip.
    alone_since: Option<Instant>,
    /// Nodes that gave no block or a spoilt one, and until when others are preferred.
    passed_over: Vec<(u64, Instant)>,
    /// The first load, while something is waited for.
    load: Option<Load>,
    waits: Waits,
    told: Option<String>,
    /// Since when it is not in sync; none while it is.
    out_since: Option<Instant>,
    /// Whether it was ever said to be in sync.
    was_in_sync: bool,
    end: watch::Receiver<bool>,
}

impl Index {
    /// Starts to keep an index at the tip of its nodes. What is on disk is served at once; of a
    /// reorganisation that was cut off the block at which the chains part.
    pub fn start(mut store: Store, pool: Arc<Pool>, options: SyncOptions) -> Arc<Index> {
        if let Err(error) = back_to_fork(&mut store) {
            tracing::error!(chain = store.chain().slug, %error, "a reorganisation stays half done");
        }
        let view = View::of(&store);
        let rules = PoolRules {
            format: *store.format(),
            limit: options.mempool_bytes,
            every: options.mempool_every,
        };
        let (chain, network) = (store.chain(), store.network());
        let store = Arc::new(Mutex::new(store));
        let index = Arc::new(Index::new(chain, network, Arc::clone(&store)));
        if let Some(view) = view {
            index.stand(Standing {
                height: view.height(),
                best_hash: Some(view.hash().to_string()),
                ..Standing::default()
            });
            index.publish(view);
        }
        let sync = Sync {
            index: Arc::clone(&index),
            pool,
            store,
            options,
            passes: PoolPasses::new(rules),
            passed: false,
            held_at: None,
            last_node: None,
            alone_since: None,
            passed_over: Vec::new(),
            load: None,
            waits: Waits::default(),
            told: None,
            out_since: Some(Instant::now()),
            was_in_sync: false,
            end: index.end_asked(),
        };
        index.keep(tokio::spawn(sync.run()));
        index
    }
}

impl Sync {
    async fn run(mut self) {
        let mut woken = self.pool.woken();
        loop {
            let mut end = self.end.clone();
            let began = Instant::now();
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
                () = asked(&mut self.end) => return self.settle().await,
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
        self.told = None;
        self.waits.forget();
        match pass {
            Pass::Moved | Pass::Unfinished => (AT_ONCE, true),
            Pass::Whole | Pass::Unread => (self.options.poll, true),
            Pass::Resting => (self.options.poll.min(self.passes.due_in()), true),
        }
    }

    /// The same after one that did not. What stands in the way of every block is tried ever more
    /// rarely, whatever the node publishes.
    fn after_trouble(&mut self, trouble: &Trouble) -> (Duration, bool) {
        self.tell(trouble);
        let poll = self.options.poll;
        match trouble {
            Trouble::NoNode => (poll.min(NO_NODE), true),
            _ if trouble.stops() || self.load.is_some() => {
                let tip = self.store().tip().map(|tip| tip.height);
                let height = self.load.as_ref().map(Load::next_height).or(tip);
                (self.waits.next(poll, height.unwrap_or(0)), false)
            }
            _ => (poll, true),
        }
    }

    /// Waits until a change that is under way is on the disk.
    async fn settle(&self) {
        let store = Arc::clone(&self.store);
        let wait = move || drop(store.lock().unwrap_or_else(PoisonError::into_inner));
        // It cannot be cut off: it only waits.
        let _ = tokio::task::spawn_blocking(wait).await;
    }

    /// Logs a trouble once, and what stands in the way of every block also in the standing.
    fn tell(&mut self, trouble: &Trouble) {
        let text = trouble.to_string();
        let stopped = trouble.stops();
        if self.told.as_ref() != Some(&text) {
            let chain = self.index.chain().slug;
            match trouble {
                _ if stopped => tracing::error!(chain, "the index does not go on: {text}"),
                Trouble::Upstream(_) => tracing::warn!(chain, "the index waits: {text}"),
                _ => tracing::debug!(chain, "the index waits: {text}"),
            }
        }
        self.index.set_stopped(stopped.then(|| text.clone()));
        self.told = Some(text);
    }

    /// One look at the node, and everything that follows from it.
    async fn round(&mut self) -> Result<Pass, Trouble> {
        let node = self.node()?;
        let best = upstream::best(&node).await?;
        self.index.heard(node.version());
        self.stand(Some(best));
        self.check_room()?;
        let best = self.follow(&node, best).await?;
        self.index.set_stopped(None);
        let pass = self.pass(&node).await;
        self.stand(Some(best));
        self.tell_in_sync();
        pass
    }

    /// Brings the pool up to the node's, if it is time, and publishes it with our tip.
    async fn pass(&mut self, node: &Arc<Node>) -> Result<Pass, Trouble> {
        if self.passes.is_resting() {
            return Ok(Pass::Resting);
        }
        let view = self.view_of_store()?;
        let pass = self.passes.pass(node, &view).await;
        if pass.is_ok() {
            self.index.pool_heard();
        }
        self.passed = match &pass {
            Ok(Pass::Whole) => true,
            Ok(Pass::Unread | Pass::Unfinished) => false,
            Ok(Pass::Moved | Pass::Resting) | Err(_) => self.passed,
        };
        // A pool that blocks were taken back from under is not shown before it was held against
        // the chain.
        if !self.passes.is_loose() {
            self.publish(&view, true);
        }
        Ok(pass?)
    }

    /// Logs that the index is in sync, the first time and after a while that it was not.
    fn tell_in_sync(&mut self) {
        if !self.index.standing().in_sync {
            self.out_since.get_or_insert_with(Instant::now);
            return;
        }
        let out = self.out_since.take().map(|since| since.elapsed());
        if !self.was_in_sync || out.is_some_and(|out| out >= LONG_OUT) {
            let standing = self.index.standing();
            let (chain, height) = (self.index.chain().slug, standing.height);
            tracing::info!(chain, height, "the index is in sync");
        }
        self.was_in_sync = true;
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn view_of_store(&self) -> Result<Arc<View>, Trouble> {
        View::of(&self.store()).map(Arc::new).ok_or(Trouble::Changed)
    }

    fn check_room(&self) -> Result<(), Trouble> {
        let dir = self.store().dir();
        Ok(room::check(&dir, self.options.least_free_bytes)?)
    }

    /// Publishes our tip with the mempool, unless a reorganisation is half done.
    fn publish(&mut self, view: &View, at_best: bool) {
        if let Some(height) = self.held_at {
            if view.height() < height && !at_best {
                return;
            }
            self.held_at = None;
            if let Err(error) = HalfDone::of(&self.store().dir()).clear() {
                tracing::warn!(chain = self.index.chain().slug, %error, "a note stays behind");
            }
        }
        self.index.publish(view.with_mempool(Some(self.passes.mempool().clone())));
    }

    /// Says how we stand with the node.
    fn stand(&self, best: Option<Best>) {
        let Some(view) = self.index.view() else { return };
        let before = self.index.standing();
        let at_best = match best {
            Some(best) => !best.behind && best.hash == view.hash(),
            None => before.in_sync,
        };
        self.index.stand(Standing {
            in_sync: at_best && self.passed,
            height: view.height(),
            best_hash: Some(view.hash().to_string()),
            mempool_count: self.passes.mempool().count(),
            first_load: None,
            ..before
        });
    }
}

/// Takes back what a reorganisation that was cut off has left above the fork.
fn back_to_fork(store: &mut Store) -> Result<(), IndexError> {
    let note = HalfDone::of(&store.dir());
    let Some(fork) = note.fork() else { return Ok(()) };
    while store.tip().is_some_and(|tip| tip.height > fork) {
        store.disconnect()?;
    }
    note.clear()
}

/// Waits until the end is asked for.
async fn asked(end: &mut watch::Receiver<bool>) {
    // The sender is the index, which outlives the task or ends it.
    let _ = end.wait_for(|end| *end).await;
}
