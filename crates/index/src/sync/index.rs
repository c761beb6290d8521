//! The index of one chain as its readers see it: a view, and how it stands with the node.
//!
//! Leaves moving the tip to `round`. Invariant: one atomic pointer holds tip, snapshot and mempool
//! (decision E7); whoever loads it sees one moment.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use chain::{Chain, Network};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{Family, TipView};
use crate::db::Db;
use crate::store::Store;
use crate::{IndexError, Standing};

/// Data of the mempool is shown so long after the node was heard last (decision E11).
const POOL_LIVES: Duration = Duration::from_secs(60);
/// So long after that it is still called in sync (decision E10).
const SYNC_LIVES: Duration = Duration::from_secs(30);

/// The index of one chain.
pub struct Index<F: Family> {
    chain: &'static Chain,
    network: &'static Network,
    view: ArcSwapOption<F::View>,
    standing: ArcSwap<Standing>,
    store: Arc<Mutex<Store<F::Schema>>>,
    /// The same rows, for what needs no turn.
    db: Arc<Db>,
    born: Instant,
    /// Milliseconds after `born` at which the node was heard last; 0: never.
    heard_ms: AtomicU64,
    /// The same for the last look at its mempool.
    pool_heard_ms: AtomicU64,
    end: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl<F: Family> Index<F> {
    pub(crate) fn new(store: Store<F::Schema>) -> Index<F> {
        Index {
            chain: store.chain(),
            network: store.network(),
            view: ArcSwapOption::empty(),
            standing: ArcSwap::from_pointee(Standing::default()),
            db: Arc::clone(store.db()),
            store: Arc::new(Mutex::new(store)),
            born: Instant::now(),
            heard_ms: AtomicU64::new(0),
            pool_heard_ms: AtomicU64::new(0),
            end: watch::channel(false).0,
            task: Mutex::new(None),
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

    /// The rows on disk, which a round of the sync may hold for as long as a block takes.
    pub fn store(&self) -> &Arc<Mutex<Store<F::Schema>>> {
        &self.store
    }

    /// A copy of the index in a new folder, as it is at some block; whoever connects blocks goes
    /// on meanwhile.
    ///
    /// # Errors
    /// The first load runs, so that there is nothing whole to copy; the folder is there already;
    /// the disk is full.
    pub fn backup(&self, dir: &Path) -> Result<(), IndexError> {
        if self.view.load().is_none() {
            return Err(IndexError::failed("the first load runs; there is nothing to copy yet"));
        }
        self.db.checkpoint(dir)
    }

    /// The tip with its mempool; none while the first load runs. The mempool is left out once the
    /// node told nothing of it for 60 s.
    pub fn view(&self) -> Option<Arc<F::View>> {
        let view = self.view.load_full()?;
        if !view.shows_waiting() || self.silence(&self.pool_heard_ms) <= POOL_LIVES {
            return Some(view);
        }
        let bare = Arc::new(view.showing(None));
        // Whatever was published meanwhile is newer.
        self.view.compare_and_swap(&view, Some(Arc::clone(&bare)));
        Some(bare)
    }

    /// How the index stands with its node.
    pub fn standing(&self) -> Standing {
        let mut standing = Standing::clone(&self.standing.load());
        standing.in_sync &= self.silence(&self.heard_ms) <= SYNC_LIVES
            && self.silence(&self.pool_heard_ms) <= SYNC_LIVES;
        standing
    }

    /// How long ago that was.
    fn silence(&self, heard_ms: &AtomicU64) -> Duration {
        match heard_ms.load(Ordering::Relaxed) {
            0 => Duration::MAX,
            heard => self.born.elapsed().saturating_sub(Duration::from_millis(heard)),
        }
    }

    pub(crate) fn publish(&self, view: F::View) {
        self.view.store(Some(Arc::new(view)));
    }

    pub(crate) fn stand(&self, standing: Standing) {
        self.standing.store(Arc::new(standing));
    }

    fn now_ms(&self) -> u64 {
        self.born.elapsed().as_millis().max(1) as u64
    }

    /// The node told its mempool.
    pub(crate) fn pool_heard(&self) {
        self.pool_heard_ms.store(self.now_ms(), Ordering::Relaxed);
    }

    /// The node answered.
    pub(crate) fn heard(&self, version: Option<String>) {
        self.heard_ms.store(self.now_ms(), Ordering::Relaxed);
        if version.is_some() && self.standing.load().node_version != version {
            self.stand(Standing { node_version: version, ..self.standing() });
        }
    }

    /// Says why nothing more is connected, or that it goes on.
    pub(crate) fn set_stopped(&self, stopped: Option<String>) {
        let standing = self.standing.load();
        if standing.stopped != stopped {
            let in_sync = standing.in_sync && stopped.is_none();
            self.stand(Standing { stopped, in_sync, ..Standing::clone(&standing) });
        }
    }

    /// Says what of the nodes is waited for, or that nothing is.
    pub(crate) fn set_waits_for(&self, waits_for: Option<&'static str>) {
        let standing = self.standing.load();
        if standing.waits_for != waits_for {
            self.stand(Standing { waits_for, ..Standing::clone(&standing) });
        }
    }

    pub(crate) fn end_asked(&self) -> watch::Receiver<bool> {
        self.end.subscribe()
    }

    pub(crate) fn keep(&self, task: JoinHandle<()>) {
        *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
    }

    /// Ends the sync once the block that it is at is on the disk. What is held stays readable.
    pub async fn stop(&self) {
        self.end.send_replace(true);
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            // A panic in it was reported by the runtime.
            let _ = task.await;
        }
    }
}
