//! The index of a chain of accounts as its readers see it: a view, how it stands with its node, and
//! what only the node can tell.
//!
//! Leaves moving the tip to `sync`. Invariant: one atomic pointer holds tip and snapshot (decision
//! E7); while a reorganisation is half seen nothing is published.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use chain::{Chain, Network};
use node::Pool;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use super::fees::FeeCache;
use super::nodes::Nodes;
use super::options::SyncOptions;
use super::store::Store;
use super::tokens::Tokens;
use super::txpool::PoolCache;
use super::view::View;
use crate::{IndexError, Standing};

/// So long after a node was heard it is still called in sync (decision E10).
const SYNC_LIVES: Duration = Duration::from_secs(30);

/// The index of one chain.
pub struct Index {
    chain: &'static Chain,
    network: &'static Network,
    pub(super) nodes: Arc<Nodes>,
    pub(super) options: SyncOptions,
    pub(super) tokens: Arc<Tokens>,
    pub(super) txpool: PoolCache,
    pub(super) fees: FeeCache,
    view: ArcSwapOption<View>,
    standing: ArcSwap<Standing>,
    store: Arc<Mutex<Store>>,
    skipped_logs: Arc<AtomicU64>,
    /// A reorganisation is half seen: nothing is published.
    held: AtomicBool,
    /// The tip lags: what can wait does.
    pub(super) lagging: AtomicBool,
    /// `eth_chainId` and one; 0: not known.
    chain_id: AtomicU64,
    pub(super) born: Instant,
    /// Milliseconds after `born` at which a round began that came to its node's best block.
    followed_ms: AtomicU64,
    /// Milliseconds after `born` at which the node was heard last; 0: never.
    heard_ms: AtomicU64,
    /// There is something to trace, or to fill in below.
    pub(super) more: Notify,
    end: watch::Sender<bool>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl Index {
    pub(super) fn new(store: Store, pool: Arc<Pool>, options: SyncOptions) -> Index {
        let (chain, network) = (store.chain(), store.network());
        Index {
            chain,
            network,
            nodes: Arc::new(Nodes::new(pool, store.forks(), &options)),
            tokens: Arc::default(),
            txpool: PoolCache::default(),
            fees: FeeCache::default(),
            view: ArcSwapOption::empty(),
            standing: ArcSwap::from_pointee(Standing::default()),
            skipped_logs: Arc::clone(store.skipped_logs()),
            store: Arc::new(Mutex::new(store)),
            held: AtomicBool::new(false),
            lagging: AtomicBool::new(false),
            chain_id: AtomicU64::new(network.chain_id.map_or(0, |id| id.saturating_add(1))),
            born: Instant::now(),
            followed_ms: AtomicU64::new(0),
            heard_ms: AtomicU64::new(0),
            more: Notify::new(),
            end: watch::channel(false).0,
            tasks: Mutex::new(Vec::new()),
            options,
        }
    }

    /// The chain.
    pub fn chain(&self) -> &'static Chain {
        self.chain
    }

    /// The network.
    pub fn network(&self) -> &'static Network {
        self.network
    }

    /// The rows on disk, which a change may hold for as long as a block takes.
    pub fn store(&self) -> &Arc<Mutex<Store>> {
        &self.store
    }

    pub(super) fn locked(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy of the index in a new folder, as it is at some block; whoever connects blocks goes on
    /// meanwhile.
    ///
    /// # Errors
    /// The folder is there already, or the disk is full.
    pub fn backup(&self, dir: &Path) -> Result<(), IndexError> {
        let db = Arc::clone(self.locked().db());
        db.checkpoint(dir)
    }

    /// An index that is served as it is and goes nowhere, and why.
    pub fn hold(store: Store, pool: Arc<Pool>, why: String) -> Arc<Index> {
        let index = Arc::new(Index::new(store, pool, SyncOptions::default()));
        if let Err(error) = index.publish() {
            tracing::error!(chain = index.chain.slug, %error, "the index cannot be read");
        }
        let tip = index.locked().tip();
        index.stand(Standing {
            height: tip.map_or(0, |tip| tip.height),
            best_hash: tip.map(|tip| tip.hash.to_string()),
            stopped: Some(why),
            ..Standing::default()
        });
        index
    }

    /// The tip; none until the first blocks are held.
    pub fn view(&self) -> Option<Arc<View>> {
        self.view.load_full()
    }

    /// `eth_chainId`, once it is known.
    pub fn chain_id(&self) -> Option<u64> {
        self.chain_id.load(Ordering::Relaxed).checked_sub(1)
    }

    pub(super) fn set_chain_id(&self, id: u64) {
        self.chain_id.store(id.saturating_add(1), Ordering::Relaxed);
    }

    /// How the index stands with its node.
    pub fn standing(&self) -> Standing {
        let mut standing = Standing::clone(&self.standing.load());
        standing.in_sync &= self.silence() <= SYNC_LIVES;
        standing
    }

    /// How many logs of the blocks that were added since the start claimed to tell of tokens and were
    /// not of that shape: they are shown, and tell of no transfer.
    pub fn skipped_logs(&self) -> u64 {
        self.skipped_logs.load(Ordering::Relaxed)
    }

    /// Whether the past is still to be filled in.
    pub fn is_filling(&self) -> bool {
        let store = self.locked();
        let (base, begun_at) = (store.base(), store.begun_at());
        base.zip(begun_at).is_none_or(|(base, at)| base.height > self.options.floor(at))
    }

    /// How long ago a node was heard.
    pub(super) fn silence(&self) -> Duration {
        match self.heard_ms.load(Ordering::Relaxed) {
            0 => Duration::MAX,
            heard => self.born.elapsed().saturating_sub(Duration::from_millis(heard)),
        }
    }

    pub(super) fn heard(&self) {
        let now = self.born.elapsed().as_millis().max(1) as u64;
        self.heard_ms.store(now, Ordering::Relaxed);
    }

    /// How long after it was born the index began to come to its node's best block, the last time
    /// that it came there.
    pub(super) fn followed(&self) -> Duration {
        Duration::from_millis(self.followed_ms.load(Ordering::Acquire))
    }

    /// Notes that it came to its node's best block, after it began to at `began`.
    pub(super) fn has_followed(&self, began: Duration) {
        self.followed_ms.store(began.as_millis() as u64, Ordering::Release);
    }

    pub(super) fn stand(&self, standing: Standing) {
        self.standing.store(Arc::new(standing));
    }

    pub(super) fn set_held(&self, held: bool) {
        self.held.store(held, Ordering::Release);
    }

    /// Publishes what the store holds, unless a reorganisation is half seen.
    pub(super) fn publish(&self) -> Result<(), IndexError> {
        let store = self.locked();
        if self.held.load(Ordering::Acquire) {
            return Ok(());
        }
        if let Some(view) = View::of(&store)? {
            // Under the lock, so that no older view follows a newer one.
            self.view.store(Some(Arc::new(view)));
        }
        Ok(())
    }

    /// Changes the rows away from the runtime's workers, and publishes.
    pub(super) async fn change<T: Send + 'static>(
        self: &Arc<Index>,
        change: impl FnOnce(&mut Store) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, IndexError> {
        let index = Arc::clone(self);
        let work = move || {
            let done = change(&mut index.locked())?;
            index.publish()?;
            Ok(done)
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|error| {
            Err(IndexError::failed(format!("a change was cut off: {error}")))
        })
    }

    pub(super) fn end_asked(&self) -> watch::Receiver<bool> {
        self.end.subscribe()
    }

    pub(super) fn keep(&self, task: JoinHandle<()>) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(task);
    }

    /// Ends the sync once the block that it is at is on the disk. What is held stays readable.
    pub async fn stop(&self) {
        self.end.send_replace(true);
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            // A panic in it was reported by the runtime.
            let _ = task.await;
        }
    }
}

/// Waits until the end is asked for.
pub(super) async fn asked(end: &mut watch::Receiver<bool>) {
    // The sender is the index, which outlives the tasks or ends them.
    let _ = end.wait_for(|end| *end).await;
}
