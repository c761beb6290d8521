//! The pools of nodes that run, kept across reloads.
//!
//! Invariant: what a new configuration asks for is made ready, all of it, before any pool in use is
//! touched; from then on nothing can fail.

use std::sync::Arc;

use chain::Chain;
use gateway::ChainService;
use node::{Pool, Renewed};

use crate::config::{Config, Served};
use crate::failure::Failure;

/// The running pools.
#[derive(Default)]
pub(crate) struct Chains(Vec<Arc<Pool>>);

/// The pools that a configuration asks for, ready to be taken.
pub(crate) struct Prepared(Vec<(Served, Change)>);

/// What becomes of the pool of a chain.
enum Change {
    /// It runs already and gets these nodes.
    Keep(Renewed),
    /// A new one.
    Begin(Arc<Pool>),
}

impl Change {
    fn pool(&self) -> &Arc<Pool> {
        match self {
            Change::Keep(renewed) => renewed.pool(),
            Change::Begin(pool) => pool,
        }
    }
}

impl Prepared {
    /// The chains with the pools that they will have.
    pub(crate) fn served(&self) -> impl Iterator<Item = (&Served, &Arc<Pool>)> {
        self.0.iter().map(|(served, change)| (served, change.pool()))
    }
}

impl Chains {
    /// The pools, in the order of the table of chains.
    pub(crate) fn pools(&self) -> &[Arc<Pool>] {
        &self.0
    }

    /// Makes the pools of the configured chains ready; what of them runs, on the same network, will
    /// go on.
    ///
    /// # Errors
    /// A node's settings cannot be used. Nothing was changed.
    pub(crate) fn prepare(&self, config: &Config) -> Result<Prepared, Failure> {
        let prepare = |served: Served| {
            let named = |error| named(served.chain, &error);
            let change = match self.running(&served) {
                Some(pool) => Change::Keep(pool.renewed(served.pool.clone()).map_err(named)?),
                None => {
                    let pool = Pool::new(served.chain, served.network, served.pool.clone());
                    Change::Begin(pool.map_err(named)?)
                }
            };
            Ok((served, change))
        };
        config.served().into_iter().map(prepare).collect::<Result<_, _>>().map(Prepared)
    }

    /// The pool that runs for this chain already.
    fn running(&self, one: &Served) -> Option<&Arc<Pool>> {
        let same = |pool: &&Arc<Pool>| {
            pool.chain() == one.chain && std::ptr::eq(pool.network(), one.network)
        };
        self.0.iter().find(same)
    }

    /// Runs what was prepared and ends what is not among it. Returns the chains of the gateway.
    pub(crate) fn take(&mut self, prepared: Prepared) -> Vec<ChainService> {
        let mut services = Vec::new();
        let take = |(served, change): (Served, Change)| {
            let pool = Arc::clone(change.pool());
            match change {
                Change::Keep(renewed) => renewed.put(),
                Change::Begin(pool) => pool.start(),
            }
            if served.gateway {
                services.push(ChainService {
                    chain: served.chain,
                    network: served.network,
                    pool: Arc::clone(&pool),
                    offered: Arc::new(served.offered),
                    remember: served.remember,
                });
            }
            pool
        };
        let pools: Vec<Arc<Pool>> = prepared.0.into_iter().map(take).collect();
        let gone = self.0.iter().filter(|old| !pools.iter().any(|pool| Arc::ptr_eq(old, pool)));
        gone.for_each(|old| old.stop());
        self.0 = pools;
        services
    }
}

fn named(chain: &Chain, error: &node::PoolError) -> Failure {
    Failure::new(format!("chain.{}: {error}", chain.slug))
}
