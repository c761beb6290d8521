//! The row of the forks by which an index works out what blocks created.
//!
//! Leaves the sums to `chain`, when they may change to `store`. Invariant: they stand in the rows
//! where they are not the network's own, so that an audit needs no configuration.

use chain::Network;
use chain::account::RewardForks;

use super::schema::META_REWARD_FORKS;
use crate::IndexError;
use crate::db::Db;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forks_come_back_and_rows_of_another_length_do_not() {
        let own = RewardForks { byzantium: 3, constantinople: 5, merge: Some(9) };
        for forks in [own, RewardForks { merge: None, ..own }, RewardForks::default()] {
            assert_eq!(read(&bytes(forks)), Ok(forks));
        }
        for end in (0..24).filter(|end| *end != 16) {
            assert!(read(&bytes(own)[..end]).is_err(), "{end}");
        }
        assert!(read(&[0; 25]).is_err());
    }
}
