//! The walk over the ids of transactions.
//!
//! Leaves to the sums whether the rows are those of the records.

use super::{Audit, Told};
use crate::ReadError;
use crate::faults::Faults;
use crate::utxo::schema::TXNUM_BY_TXID;
use crate::utxo::store::Store;

/// Rows between two words on how far a walk is.
const TOLD_EVERY: u64 = 1 << 16;

impl Store {
    pub(super) fn walk_ids(
        &self,
        found: &mut impl Audit,
        faults: &mut Faults,
        told: &mut Told<'_>,
    ) -> Result<(), ReadError> {
        let mut rows = self.db().latest().rows(TXNUM_BY_TXID);
        let mut done = 0u64;
        while let Some((key, value)) = rows.here()? {
            match key.try_into() {
                Ok(id) => found.found_id(id),
                Err(_) => faults.tell("txnum_by_txid", key, "is no key of this table"),
            }
            if !value.is_empty() {
                faults.tell("txnum_by_txid", key, "has a value");
            }
            done += 1;
            if done.is_multiple_of(TOLD_EVERY) {
                told(done, None);
            }
            rows.step();
        }
        told(done, Some(done));
        Ok(())
    }
}
