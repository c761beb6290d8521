//! Outputs of earlier transactions, by their places in the chain.
//!
//! Invariant: each earlier record is read once, and a record of which much is asked is parsed
//! once, so that the cost does not grow with the square of a transaction's outputs.

use chain::Hash32;

use super::record::{Spent, TransactionRecord, read_spent, read_txid};
use super::schema::TX_BY_NUM;
use crate::ReadError;
use crate::db::Reader;
use crate::row::{BadRow, u40};

/// Above so many outputs asked for, a record is parsed whole.
const FEW: usize = 4;

/// Records of earlier transactions.
#[derive(Default)]
pub(crate) struct PreviousRecords {
    /// Ascending by place.
    by_txnum: Vec<(u64, Kept)>,
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
        let mut wanted: Vec<u64> = wanted.into_iter().collect();
        wanted.sort_unstable();
        let uses = || wanted.chunk_by(|one, next| one == next);
        let keys: Vec<[u8; 5]> = uses().map(|same| u40(same[0])).collect();
        let mut by_txnum = Vec::with_capacity(keys.len());
        for (same, row) in uses().zip(reader.multi_get(TX_BY_NUM, &keys)?) {
            let (txnum, Some(row)) = (same[0], row) else { continue };
            let kept = if same.len() > FEW {
                Kept::Whole(Box::new(TransactionRecord::read(txnum, &row).map_err(bad)?))
            } else {
                Kept::Row(row.to_vec())
            };
            by_txnum.push((txnum, kept));
        }
        Ok(PreviousRecords { by_txnum })
    }

    /// Adds a record that stands elsewhere by now.
    pub(crate) fn add(&mut self, txnum: u64, record: TransactionRecord) {
        let kept = Kept::Whole(Box::new(record));
        match self.place(txnum) {
            Ok(place) => self.by_txnum[place].1 = kept,
            Err(place) => self.by_txnum.insert(place, (txnum, kept)),
        }
    }

    fn place(&self, txnum: u64) -> Result<usize, usize> {
        self.by_txnum.binary_search_by_key(&txnum, |(txnum, _)| *txnum)
    }

    fn get(&self, txnum: u64) -> Option<&Kept> {
        self.place(txnum).ok().map(|place| &self.by_txnum[place].1)
    }

    /// The id of the transaction at that place, if its record was loaded.
    pub(crate) fn txid(&self, txnum: u64) -> Result<Option<Hash32>, ReadError> {
        match self.get(txnum) {
            Some(Kept::Row(row)) => read_txid(row).map(Some).map_err(bad),
            Some(Kept::Whole(record)) => Ok(Some(record.txid)),
            None => Ok(None),
        }
    }

    /// An output of the transaction at that place, if its record was loaded and has it.
    pub(crate) fn output(&self, txnum: u64, vout: u32) -> Result<Option<Spent>, ReadError> {
        match self.get(txnum) {
            Some(Kept::Row(row)) => read_spent(row, vout).map_err(bad),
            Some(Kept::Whole(record)) => Ok(record.spent(vout)),
            None => Ok(None),
        }
    }
}
