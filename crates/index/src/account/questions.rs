//! What only a node can tell, as the index's readers ask for it: accounts, fees, tokens, the pool.
//!
//! Leaves each to a file of its own.

use std::collections::HashMap;
use std::sync::Arc;

use chain::account::{Address, Hash};
use node::Node;

use super::fees::Fees;
use super::index::Index;
use super::pending::Pending;
use super::state::{self, AccountState};
use super::tokens::TokenFacts;
use super::txpool::{Txpool, pending_by_hash};
use super::unanswered::Unanswered;
use super::view::View;

impl Index {
    /// What an account has at the tip of a view.
    ///
    /// # Errors
    /// No node told it; that may be because the tip has moved.
    pub async fn account(&self, view: &View, address: Address) -> Result<AccountState, Unanswered> {
        state::account(&self.nodes, view, address).await
    }

    /// What gas costs at the tip of a view.
    ///
    /// # Errors
    /// No node gave an answer.
    pub async fn fees(&self, view: &View) -> Result<Fees, Unanswered> {
        self.fees.fees(&self.nodes, view).await
    }

    /// What these contracts say of themselves, as far as it is known soon.
    pub async fn tokens(&self, tokens: &[Address]) -> HashMap<Address, TokenFacts> {
        self.tokens.facts(&self.nodes, tokens).await
    }

    /// Pending and queued transactions of the pool; none where no node tells.
    pub fn pool_counts(&self) -> Option<(u64, u64)> {
        self.txpool.counts()
    }

    /// Asks for the pool's counts; whether the node told them, or cannot.
    pub(super) async fn look_at_pool_counts(&self, node: &Arc<Node>) -> bool {
        self.txpool.look_at_counts(&self.nodes.upstream, node).await
    }

    /// The pool, at most three seconds old, or sixty while no node is heard.
    ///
    /// # Errors
    /// No node shows its pool.
    pub async fn txpool(&self) -> Result<Arc<Txpool>, Unanswered> {
        let times = || (self.followed(), self.born.elapsed());
        self.txpool.txpool(&self.nodes, times).await
    }

    /// A transaction that waits, by the pool; by the node's word on its hash alone where nodes show
    /// no pool.
    ///
    /// # Errors
    /// No node gave an answer.
    pub async fn waiting(&self, hash: &Hash) -> Result<Option<Arc<Pending>>, Unanswered> {
        match self.txpool().await {
            Ok(pool) => Ok(pool.get(hash, self.followed()).cloned()),
            Err(Unanswered::Unable) => Ok(pending_by_hash(&self.nodes, hash).await?.map(Arc::new)),
            Err(error) => Err(error),
        }
    }
}
