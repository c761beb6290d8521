//! Outputs of earlier transactions, by their places in the chain.
//!
//! Invariant: each earlier record is read once, and a record of which much is asked is parsed
//! once, so that the cost does not grow with the square of a transaction's outputs.

use std::collections::HashMap;

use chain::Hash32;

use super::record::{Spent, TransactionRecord, read_spent, read_txid};
use super::schema::TX_BY_NUM;
use crate::ReadError;
use crate::db::Reader;
use crate::row::{BadRow, u40};

/// Above so many outputs asked for, a record is parsed whole.
const FEW: u32 = 4;

/// Records of earlier transactions.
#[derive(Default)]
pub(crate) struct PreviousRecords {
    by_txnum: HashMap<u64, Kept>,
}

enum Kept {
    Row(Vec<u8>),
    Whole(Box<TransactionRecord>),
}

/// The table's name in an error.
fn bad(bad: BadRow) -> ReadError {
    bad.of("tx_by_num")
}

impl PreviousRecords {
    /// Reads the records at those places; a place may be given once for each output wanted of it.
    pub(crate) fn load(
        reader: Reader<'_>,
        wanted: impl IntoIterator<Item = u64>,
    ) -> Result<PreviousRecords, ReadError> {
        let mut uses = HashMap::new();
        for txnum in wanted {
            *uses.entry(txnum).or_insert(0u32) += 1;
        }
        let mut uses: Vec<(u64, u32)> = uses.into_iter().collect();
        uses.sort_unstable();
        let keys: Vec<[u8; 5]> = uses.iter().map(|(txnum, _)| u40(*txnum)).collect();
        let mut by_txnum = HashMap::with_capacity(uses.len());
        for ((txnum, uses), row) in uses.iter().zip(reader.multi_get(TX_BY_NUM, &keys)?) {
            let Some(row) = row else { continue };
            let kept = if *uses > FEW {
                Kept::Whole(Box::new(TransactionRecord::read(*txnum, &row).map_err(bad)?))
            } else {
                Kept::Row(row.to_vec())
            };
            by_txnum.insert(*txnum, kept);
        }
        Ok(PreviousRecords { by_txnum })
    }

    /// Adds a record that stands elsewhere by now.
    pub(crate) fn add(&mut self, txnum: u64, record: TransactionRecord) {
        self.by_txnum.insert(txnum, Kept::Whole(Box::new(record)));
    }

    /// The id of the transaction at that place, if its record was loaded.
    pub(crate) fn txid(&self, txnum: u64) -> Result<Option<Hash32>, ReadError> {
        match self.by_txnum.get(&txnum) {
            Some(Kept::Row(row)) => read_txid(row).map(Some).map_err(bad),
            Some(Kept::Whole(record)) => Ok(Some(record.txid)),
            None => Ok(None),
        }
    }

    /// An output of the transaction at that place, if its record was loaded and has it.
    pub(crate) fn output(&self, txnum: u64, vout: u32) -> Result<Option<Spent>, ReadError> {
        match self.by_txnum.get(&txnum) {
            Some(Kept::Row(row)) => read_spent(row, vout).map_err(bad),
            Some(Kept::Whole(record)) => Ok(record.spent(vout)),
            None => Ok(None),
        }
    }
}
