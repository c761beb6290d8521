//! The indexes that run, kept across reloads.
//!
//! Leaves the nodes to `chains`. Invariant: what a reload keeps goes on; what it drops is stopped;
//! an index that cannot be opened changes nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use explorer::ChainService;
use index::utxo::Identity;
use index::{ChainIndex, Memory};
use node::Pool;

use crate::config::{Config, Served};
use crate::failure::Failure;

/// The running indexes.
pub(crate) struct Explorers {
    memory: Memory,
    running: Vec<(Arc<Pool>, ChainIndex)>,
}

/// The folder of a chain's index.
pub(crate) fn index_dir(store: &Path, slug: &str) -> PathBuf {
    store.join(slug)
}

impl Explorers {
    pub(crate) fn new(config: &Config) -> Explorers {
        Explorers { memory: config.explorer.memory(), running: Vec::new() }
    }

    /// Runs the indexes of the configured chains on these pools; what ran before on the same pool
    /// goes on.
    ///
    /// # Errors
    /// An index cannot be opened; what ran before runs on.
    pub(crate) fn take(
        &mut self,
        config: &Config,
        pools: &[Arc<Pool>],
    ) -> Result<Vec<ChainService>, Failure> {
        let (mut running, mut services) = (Vec::new(), Vec::new());
        for served in config.served().into_iter().filter(|served| served.explorer) {
            let pool = pools.iter().find(|pool| pool.chain() == served.chain);
            let index = match pool {
                Some(pool) if ChainIndex::is_kept_of(served.chain) => {
                    let index = match self.kept(pool) {
                        Some(index) => index,
                        None => self.open(config, &served, pool)?,
                    };
                    running.push((Arc::clone(pool), index.clone()));
                    Some(index)
                }
                _ => None,
            };
            services.push(ChainService { chain: served.chain, network: served.network, index });
        }
        let stays = |index: &ChainIndex| running.iter().any(|(_, other)| other.is(index));
        for (_, gone) in self.running.drain(..).filter(|(_, index)| !stays(index)) {
            tokio::spawn(async move { gone.stop().await });
        }
        self.running = running;
        Ok(services)
    }

    fn kept(&self, pool: &Arc<Pool>) -> Option<ChainIndex> {
        let same = self.running.iter().find(|(running, _)| Arc::ptr_eq(running, pool));
        same.map(|(_, index)| index.clone())
    }

    fn open(
        &self,
        config: &Config,
        served: &Served,
        pool: &Arc<Pool>,
    ) -> Result<ChainIndex, Failure> {
        let dir = index_dir(&config.store.dir, served.chain.slug);
        let in_place = super::rebuilt::put_in_place(
            &config.store.dir,
            served.chain.slug,
            &Identity::new(served.chain, served.network),
        );
        in_place.map_err(|error| Failure::new(error.to_string()))?;
        let open = || ChainIndex::open(&dir, pool, &self.memory, config.explorer.sync());
        let named =
            |error| Failure::new(format!("chain.{}: its index: {error}", served.chain.slug));
        tokio::task::block_in_place(open).map_err(named)
    }

    /// The indexes.
    pub(crate) fn indexes(&self) -> Vec<ChainIndex> {
        self.running.iter().map(|(_, index)| index.clone()).collect()
    }
}
