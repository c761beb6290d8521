//! A node of a chain that an audit asks.
//!
//! Leaves what is asked to each audit. Invariant: nothing of its pool is at work when the answer is
//! there.

use std::sync::Arc;

use node::{Node, Pool, PoolError, Tried};

use crate::config::Served;

/// Why no node was asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotAsked {
    #[error("its settings cannot be used: {0}")]
    Settings(#[from] PoolError),
    #[error("no node can be asked")]
    NoNode,
}

/// Asks the best node of a chain.
pub(super) async fn ask_one<T>(
    served: &Served,
    ask: impl AsyncFnOnce(&Arc<Node>) -> T,
) -> Result<T, NotAsked> {
    let pool = Pool::new(served.chain, served.network, served.pool.clone())?;
    pool.start();
    pool.probed().await;
    let asked = match pool.pick(&Tried::new()) {
        Ok(node) => Ok(ask(&node).await),
        Err(_) => Err(NotAsked::NoNode),
    };
    pool.stop();
    asked
}
