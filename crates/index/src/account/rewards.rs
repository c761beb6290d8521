//! By which forks an index works out what blocks created.
//!
//! Leaves the sums to `chain`, what the operator says to its callers. Invariants: all blocks of an
//! index go by the same forks; those stand in its rows where they are not the network's own, so that
//! an audit needs no configuration.

use std::sync::Arc;

use chain::Network;
use chain::account::RewardForks;

use super::schema::META_REWARD_FORKS;
use super::store::Store;
use crate::IndexError;
use crate::db::{Batch, Db};
use crate::identity::META;
use crate::row::{BadRow, RowReader};

/// `byzantium u64 ‖ constantinople u64 ‖ merge u64`, which is left out where it never comes.
fn bytes(forks: RewardForks) -> Vec<u8> {
    let heights = [Some(forks.byzantium), Some(forks.constantinople), forks.merge];
    heights.into_iter().flatten().flat_map(u64::to_be_bytes).collect()
}

fn read(row: &[u8]) -> Result<RewardForks, BadRow> {
    let mut reader = RowReader::new(row);
    let height = |reader: &mut RowReader<'_>| reader.array().map(u64::from_be_bytes);
    let (byzantium, constantinople) = (height(&mut reader)?, height(&mut reader)?);
    let merge = if reader.is_empty() { None } else { Some(height(&mut reader)?) };
    reader.end().map(|()| RewardForks { byzantium, constantinople, merge })
}

/// The forks of a network, unless a store says otherwise.
pub(super) fn of_store(db: &Db, network: &Network) -> Result<RewardForks, IndexError> {
    match db.latest().get(META, META_REWARD_FORKS)? {
        Some(row) => Ok(read(&row).map_err(|bad| bad.of("meta"))?),
        None => Ok(RewardForks::of(network.chain_id)),
    }
}

/// The row of forks; none of those that the network has anyway.
pub(super) fn row(forks: RewardForks, network: &Network) -> Option<Vec<u8>> {
    (forks != RewardForks::of(network.chain_id)).then(|| bytes(forks))
}

impl Store {
    /// Goes by these forks from its first block on, or by the network's own.
    ///
    /// # Errors
    /// `Stranger`: the blocks that it holds were read by others. What they created cannot be told
    /// from rows.
    pub fn go_by(&mut self, forks: Option<RewardForks>) -> Result<(), IndexError> {
        let forks = forks.unwrap_or_else(|| RewardForks::of(self.network().chain_id));
        if forks == self.forks() {
            return Ok(());
        }
        if self.tip().is_some() {
            return Err(IndexError::Stranger {
                dir: self.dir(),
                found: format!("blocks that were read with reward_forks {}", self.forks()),
                wanted: format!("such as were read with {forks}"),
            });
        }
        let db = Arc::clone(self.db());
        let mut batch = Batch::new(&db);
        match row(forks, self.network()) {
            Some(row) => batch.put(META, META_REWARD_FORKS, &row),
            None => batch.delete(META, META_REWARD_FORKS),
        }
        db.commit(batch)?;
        self.set_forks(forks);
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
    fn forks_come_back_and_rows_of_another_length_do_not() {
        for forks in [OWN, RewardForks { merge: None, ..OWN }, RewardForks::default()] {
            assert_eq!(read(&bytes(forks)), Ok(forks));
        }
        for end in (0..24).filter(|end| *end != 16) {
            assert!(read(&bytes(OWN)[..end]).is_err(), "{end}");
        }
        assert!(read(&[0; 25]).is_err());
    }

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
