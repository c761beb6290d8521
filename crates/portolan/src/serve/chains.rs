//! The pools of nodes that run, kept across reloads.
//!
//! Invariant: a new configuration is tried out on pools that nobody uses before any pool in use is
//! touched, so that a bad one changes nothing.

use std::sync::Arc;

use chain::Chain;
use gateway::ChainService;
use node::Pool;

use crate::config::{Config, Served};
use crate::failure::Failure;

/// The running pools.
#[derive(Default)]
pub(crate) struct Chains(Vec<Arc<Pool>>);

impl Chains {
    /// The pools, in the order of the table of chains.
    pub(crate) fn pools(&self) -> &[Arc<Pool>] {
        &self.0
    }

    /// Runs the configured chains; what of them ran before, on the same network, goes on. Returns
    /// those of the gateway.
    ///
    /// # Errors
    /// A node's settings cannot be used; everything is as it was.
    pub(crate) fn take(&mut self, config: &Config) -> Result<Vec<ChainService>, Failure> {
        let served = config.served();
        let mut fresh = Vec::new();
        for one in &served {
            let pool = Pool::new(one.chain, one.network, one.pool.clone())
                .map_err(|error| named(one.chain, &error))?;
            fresh.push(pool);
        }
        let mut pools = Vec::new();
        let mut services = Vec::new();
        for (one, fresh) in served.into_iter().zip(fresh) {
            let pool = self.kept(&one)?.unwrap_or_else(|| {
                fresh.start();
                fresh
            });
            pools.push(Arc::clone(&pool));
            if one.gateway {
                let offered = Arc::new(one.offered);
                services.push(ChainService {
                    chain: one.chain,
                    network: one.network,
                    pool,
                    offered,
                });
            }
        }
        let gone = self.0.iter().filter(|old| !pools.iter().any(|pool| Arc::ptr_eq(old, pool)));
        gone.for_each(|old| old.stop());
        self.0 = pools;
        Ok(services)
    }

    /// The pool that runs for this chain already, with its new settings.
    fn kept(&self, one: &Served) -> Result<Option<Arc<Pool>>, Failure> {
        let same = |pool: &&Arc<Pool>| {
            pool.chain() == one.chain && std::ptr::eq(pool.network(), one.network)
        };
        let Some(pool) = self.0.iter().find(same) else { return Ok(None) };
        pool.reload(one.pool.clone()).map_err(|error| named(one.chain, &error))?;
        Ok(Some(Arc::clone(pool)))
    }
}

fn named(chain: &Chain, error: &node::PoolError) -> Failure {
    Failure::new(format!("chain.{}: {error}", chain.slug))
}
