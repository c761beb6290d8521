//! By which forks an index works out what blocks created, as the operator says it.
//!
//! Leaves their row to `rewards`. Invariant: all blocks of an index go by the same forks.

use std::sync::Arc;

use chain::account::RewardForks;

use super::Store;
use crate::IndexError;
use crate::account::rewards;
use crate::account::schema::META_REWARD_FORKS;
use crate::db::Batch;
use crate::identity::META;

impl Store {
    /// Goes by these forks from its first block on, or by the network's own.
    ///
    /// # Errors
    /// `Stranger`: the blocks that it holds were read by others. What they created cannot be told
    /// from rows.
    pub fn go_by(&mut self, forks: Option<RewardForks>) -> Result<(), IndexError> {
        let forks = forks.unwrap_or_else(|| RewardForks::of(self.network().chain_id));
        if forks == self.own.forks {
            return Ok(());
        }
        if self.tip.is_some() {
            return Err(IndexError::Stranger {
                dir: self.dir(),
                found: format!("blocks that were read with reward_forks {}", self.own.forks),
                wanted: format!("such as were read with {forks}"),
            });
        }
        let db = Arc::clone(&self.db);
        let mut batch = Batch::new(&db);
        match rewards::row(forks, self.network()) {
            Some(row) => batch.put(META, META_REWARD_FORKS, &row),
            None => batch.delete(META, META_REWARD_FORKS),
        }
        db.commit(batch)?;
        self.own.forks = forks;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use tempfile::TempDir;

    use super::*;
    use crate::Memory;
    use crate::account::facts::Block;
    use crate::account::verify::tests::block_facts;

    fn open(dir: &TempDir) -> Store {
        let eth = chain::find("eth").unwrap();
        let dev = eth.network("dev").unwrap();
        Store::open(&dir.path().join("eth"), eth, dev, &Memory::new(8 << 20, 8 << 20)).unwrap()
    }

    const OWN: RewardForks = RewardForks { byzantium: 3, constantinople: 5, merge: Some(9) };

    #[test]
    fn an_index_keeps_the_forks_of_its_first_block() {
        let dir = TempDir::new().unwrap();
        let mut store = open(&dir);
        assert_eq!(store.forks(), RewardForks::default());
        // Nothing was read by them yet.
        store.go_by(Some(RewardForks { byzantium: 1, ..OWN })).unwrap();
        store.go_by(None).unwrap();
        store.go_by(Some(OWN)).unwrap();
        let facts = block_facts(0, 0);
        store.extend(&Block { facts, transactions: Vec::new() }).unwrap();
        drop(store);
        let mut store = open(&dir);
        assert_eq!(store.forks(), OWN);
        store.go_by(Some(OWN)).unwrap();
        assert_eq!(store.verify(|_| ()).unwrap().faults, Vec::<String>::new());
        for other in [None, Some(RewardForks { merge: None, ..OWN })] {
            let refused = store.go_by(other).unwrap_err();
            assert!(matches!(refused, IndexError::Stranger { .. }), "{refused}");
            let text = refused.to_string();
            assert!(text.contains("byzantium 3, constantinople 5, merge 9"), "{text}");
        }
        assert_eq!(store.forks(), OWN);
    }
}
