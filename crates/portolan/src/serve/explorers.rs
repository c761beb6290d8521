//! The indexes that run, kept across reloads.
//!
//! Leaves the nodes to `chains`. Invariants: what a reload keeps goes on; an index ends before its
//! folder is opened anew; one that cannot be opened stops its own chain and nothing else.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chain::{Chain, Network};
use explorer::ChainService;
use index::account::AccountOptions;
use index::{ChainIndex, IndexError, Memory, Stopped, SyncOptions};
use node::Pool;

use super::chains::Prepared;
use super::rebuilt;
use crate::config::Config;
use crate::failure::Failure;

/// How long an index that was ended may be read on by requests under way before its folder is
/// given up for the moment.
const LET_GO: Duration = Duration::from_secs(2);
/// Between two looks whether it is closed.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The indexes of a process.
pub(crate) struct Explorers {
    memory: Memory,
    sync: SyncOptions,
    store: PathBuf,
    wanted: Vec<Wanted>,
}

/// A chain that the explorer is to answer for.
pub(crate) struct Wanted {
    chain: &'static Chain,
    network: &'static Network,
    pool: Arc<Pool>,
    /// What is said of an index of accounts alone.
    accounts: AccountOptions,
    kept: Kept,
}

/// What of its index is there.
enum Kept {
    /// This version keeps none of the chain.
    None,
    /// It is still to be opened.
    Missing,
    Runs(ChainIndex),
    /// It could not be opened, for a reason that may go away by itself or not.
    Stopped {
        index: ChainIndex,
        why: String,
        may_pass: bool,
    },
}

/// The folder of a chain's index.
pub(crate) fn index_dir(store: &Path, slug: &str) -> PathBuf {
    store.join(slug)
}

impl Wanted {
    /// The chains of the explorer among those that were prepared.
    pub(crate) fn of(prepared: &Prepared) -> Vec<Wanted> {
        let explored = prepared.served().filter(|(served, _)| served.explorer);
        let wanted = explored.map(|(served, pool)| Wanted {
            chain: served.chain,
            network: served.network,
            pool: Arc::clone(pool),
            accounts: served.accounts,
            kept: match ChainIndex::is_kept_of(served.chain) {
                true => Kept::Missing,
                false => Kept::None,
            },
        });
        wanted.collect()
    }

    fn index(&self) -> Option<&ChainIndex> {
        match &self.kept {
            Kept::None | Kept::Missing => None,
            Kept::Runs(index) | Kept::Stopped { index, .. } => Some(index),
        }
    }
}

impl Explorers {
    pub(crate) fn new(config: &Config) -> Explorers {
        Explorers {
            memory: config.explorer.memory(),
            sync: config.explorer.sync(),
            store: config.store.dir.clone(),
            wanted: Vec::new(),
        }
    }

    /// Looks whether the folder of each index that is to be opened may become that index.
    ///
    /// # Errors
    /// A folder holds another chain or network, or a format that this version does not know. A
    /// chain that stands still already is no reason to refuse others.
    pub(crate) fn check(&self, wanted: &[Wanted]) -> Result<(), Failure> {
        let to_open = wanted.iter().filter(|one| matches!(one.kept, Kept::Missing));
        for one in to_open.filter(|one| self.same(one).is_none()) {
            let slug = one.chain.slug;
            let dir =
                rebuilt::ready(&self.store, slug).unwrap_or_else(|| index_dir(&self.store, slug));
            ChainIndex::may_be(&dir, one.chain, one.network)
                .map_err(|error| Failure::new(format!("chain.{slug}: its index: {error}")))?;
        }
        Ok(())
    }

    /// The place of the chain that runs on the same pool.
    fn same(&self, one: &Wanted) -> Option<usize> {
        self.wanted.iter().position(|other| Arc::ptr_eq(&other.pool, &one.pool))
    }

    /// Wants these chains from now on: what runs of them goes on, what is not among them ends.
    pub(crate) async fn want(&mut self, mut wanted: Vec<Wanted>) {
        for one in &mut wanted {
            if let Some(place) = self.same(one) {
                let before = self.wanted.swap_remove(place).kept;
                one.kept = match before {
                    // A new configuration is a reason to try again.
                    Kept::Stopped { index, why, .. } => {
                        Kept::Stopped { index, why, may_pass: true }
                    }
                    kept => kept,
                };
            }
        }
        for gone in std::mem::replace(&mut self.wanted, wanted) {
            if let Some(index) = gone.index() {
                index.stop().await;
            }
        }
    }

    /// Opens what is missing, and what stands still for a reason that may have gone by. Returns
    /// whether anything is other than before.
    pub(crate) async fn open_missing(&mut self) -> bool {
        let mut changed = false;
        for place in 0..self.wanted.len() {
            let one = &self.wanted[place];
            let told = match &one.kept {
                Kept::Missing => None,
                Kept::Stopped { why, may_pass: true, .. } => Some(why.clone()),
                _ => continue,
            };
            let kept = match self.open(one).await {
                Ok(index) => {
                    if told.is_some() {
                        tracing::info!(chain = one.chain.slug, "the index goes on");
                    }
                    Kept::Runs(index)
                }
                Err(error) if told.as_deref() == Some(&error.to_string()) => {
                    self.wanted[place].kept.settle(&error);
                    continue;
                }
                Err(error) => self.stopped(one, &error),
            };
            self.wanted[place].kept = kept;
            changed = true;
        }
        changed
    }

    /// Opens the index of a chain; one that was made beside it takes its place before.
    async fn open(&self, one: &Wanted) -> Result<ChainIndex, IndexError> {
        let end = Instant::now() + LET_GO;
        let open = || {
            if rebuilt::put_in_place(&self.store, one.chain, one.network)? {
                tracing::info!(chain = one.chain.slug, "took the index that was rebuilt");
            }
            let dir = index_dir(&self.store, one.chain.slug);
            let (memory, sync) = (&self.memory, self.sync.clone());
            ChainIndex::open(&dir, &one.pool, memory, sync, one.accounts)
        };
        loop {
            match tokio::task::block_in_place(open) {
                Err(IndexError::InUse { .. }) if Instant::now() < end => {
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
                opened => return opened,
            }
        }
    }

    /// What stands in the place of an index that cannot be opened. It is told once.
    fn stopped(&self, one: &Wanted, error: &IndexError) -> Kept {
        let (slug, dir) = (one.chain.slug, index_dir(&self.store, one.chain.slug));
        let hold = || ChainIndex::stopped(&dir, &one.pool, &self.memory, error);
        let index = tokio::task::block_in_place(hold);
        let to_do = match error {
            _ if error.is_damage() => {
                format!(
                    "its disk may be failing; `portolan index rebuild {slug}` makes a new one, \
                     then send SIGHUP or start anew"
                )
            }
            IndexError::Stranger { .. } => format!(
                "mend the configuration, or let `portolan index rebuild {slug}` make a new one; \
                 then send SIGHUP or start anew"
            ),
            _ => "it is tried again until it goes".to_owned(),
        };
        let served = match index {
            ChainIndex::Stopped(_) => "the explorer answers 503 for this chain",
            ChainIndex::Utxo(_) | ChainIndex::Account(_) | ChainIndex::Ring(_) => {
                "what it holds is served as it is"
            }
        };
        tracing::error!(
            chain = slug,
            state = "stopped",
            "the index cannot be opened: {error}; {served}; {to_do}"
        );
        let mut kept = Kept::Stopped { index, why: error.to_string(), may_pass: true };
        kept.settle(error);
        kept
    }

    /// The chains as the explorer answers for them.
    pub(crate) fn services(&self) -> Vec<ChainService> {
        let service = |one: &Wanted| ChainService {
            chain: one.chain,
            network: one.network,
            index: match one.kept {
                Kept::Missing => Some(being_opened(one)),
                _ => one.index().cloned(),
            },
        };
        self.wanted.iter().map(service).collect()
    }

    /// The indexes.
    pub(crate) fn indexes(&self) -> Vec<ChainIndex> {
        self.wanted.iter().filter_map(|one| one.index().cloned()).collect()
    }
}

impl Kept {
    /// Notes whether the reason may go by without anybody's doing.
    fn settle(&mut self, error: &IndexError) {
        let passes = !error.is_damage() && !matches!(error, IndexError::Stranger { .. });
        if let Kept::Stopped { may_pass, .. } = self {
            *may_pass = passes;
        }
    }
}

/// What stands in the place of an index for the moment that its opening takes.
fn being_opened(one: &Wanted) -> ChainIndex {
    let why = "it is being opened".to_owned();
    ChainIndex::Stopped(Arc::new(Stopped::new(one.chain, one.network, why)))
}
