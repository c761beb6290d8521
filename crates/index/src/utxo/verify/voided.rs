//! The trees that votes voided: whole, found by their ids, and only where votes voided one.
//!
//! Leaves to the headers whether votes did. Invariant: such rows move nothing, so nothing else
//! follows from them.

use crate::ReadError;
use crate::faults::Faults;
use crate::utxo::block_row::{BlockRow, read_block};
use crate::utxo::record::TransactionRecord;
use crate::utxo::record::row::read_txid;
use crate::utxo::schema::{
    HEADER_BY_HEIGHT, VOIDED_BY_HEIGHT, VOIDED_BY_TXID, place_of_voided_key,
    place_of_voided_txid_key, txid_prefix, voided_key, voided_txid_key,
};
use crate::utxo::steps::Records;
use crate::utxo::store::Store;
use crate::utxo::voided;

const TABLE: &str = "voided_by_height";
const IDS: &str = "voided_by_txid";

impl Store {
    /// Holds voided trees against the blocks' rows and against their own ids.
    pub(super) fn audit_voided(&self, faults: &mut Faults) -> Result<(), ReadError> {
        let rows = self.audit_voided_rows(faults)?;
        let ids = self.audit_voided_ids(faults)?;
        let mut expected = 0;
        let mut headers = self.db().latest().rows(HEADER_BY_HEIGHT);
        while let Some((key, value)) = headers.here()? {
            let height = <[u8; 4]>::try_from(key).map(u32::from_be_bytes).ok();
            let block = height.and_then(|height| BlockRow::read(height, value).ok());
            if let Some(block) = block.filter(|block| block.voided) {
                expected += u64::from(block.regular_count());
                self.audit_tree(&block, faults)?;
            }
            headers.step();
        }
        if ids < rows || rows > expected {
            faults.tell(IDS, &[], format!("{rows} voided transactions have {ids} rows"));
        }
        Ok(())
    }

    /// Every row is that of a transaction of a voided tree; gives how many are.
    fn audit_voided_rows(&self, faults: &mut Faults) -> Result<u64, ReadError> {
        let reader = self.db().latest();
        let mut rows = reader.rows(VOIDED_BY_HEIGHT);
        let mut sound = 0;
        while let Some((key, value)) = rows.here()? {
            let block = match place_of_voided_key(key) {
                Some((height, position)) => {
                    let block = read_block(reader, height).ok().flatten();
                    block.filter(|block| block.voided && position < block.regular_count())
                }
                None => None,
            };
            let record = block.zip(place_of_voided_key(key)).and_then(|(block, (_, position))| {
                let txnum = block.regular_txnum() + u64::from(position);
                let record = TransactionRecord::read(txnum, value).ok()?;
                (record.bytes(txnum) == value).then_some(record)
            });
            match record {
                Some(record) => {
                    let place = place_of_voided_key(key).unwrap_or_default();
                    let id = voided_txid_key(&record.txid, place.0, place.1);
                    if reader.get(VOIDED_BY_TXID, &id)?.is_none() {
                        faults.tell(IDS, &id, "is not there");
                    }
                    sound += 1;
                }
                None => faults.tell(TABLE, key, "is no transaction of a voided tree"),
            }
            rows.step();
        }
        Ok(sound)
    }

    /// Every id leads to its transaction; gives how many do.
    fn audit_voided_ids(&self, faults: &mut Faults) -> Result<u64, ReadError> {
        let reader = self.db().latest();
        let mut rows = reader.rows(VOIDED_BY_TXID);
        let mut sound = 0;
        while let Some((key, value)) = rows.here()? {
            let row = match place_of_voided_txid_key(key) {
                Some((height, position)) => {
                    reader.get(VOIDED_BY_HEIGHT, &voided_key(height, position))?
                }
                None => None,
            };
            let id = row.and_then(|row| read_txid(&row).ok());
            if value.is_empty() && id.is_some_and(|id| key.starts_with(&txid_prefix(&id))) {
                sound += 1;
            } else {
                faults.tell(IDS, key, "does not lead to its transaction");
            }
            rows.step();
        }
        Ok(sound)
    }

    /// A voided tree is whole, and its sums are those of what it would have spent.
    fn audit_tree(&self, block: &BlockRow, faults: &mut Faults) -> Result<(), ReadError> {
        let reader = self.db().latest();
        let key = block.height.to_be_bytes();
        let Ok(records) = voided::some(reader, block, 0, block.regular_count()) else {
            faults.tell(TABLE, &key, "lacks transactions, or has some that make no sense");
            return Ok(());
        };
        let first = block.regular_txnum();
        let place = |(position, record)| (first + u64::from(position), record);
        let records: Records = records.into_iter().map(place).collect();
        let Ok(steps) = crate::utxo::steps::steps(reader, records) else {
            faults.tell(TABLE, &key, "spends what is not there");
            return Ok(());
        };
        for step in steps {
            let sum = step.spent.iter().map(|one| u128::from(one.spent.output.value)).sum();
            if step.record.counted(sum) != (step.record.value_in, step.record.fee) {
                faults.tell(TABLE, &key, "has a value that is not that of what is spent");
            }
        }
        Ok(())
    }
}
