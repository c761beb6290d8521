//! Blocks become rows, and are taken back.
//!
//! Leaves decoding to `decoded` and committing to `Store`. Taking back needs nothing but rows: no
//! undo data, no node. Invariants: a block that spends what is spent changes nothing; what is left
//! after a block was taken back is byte for byte what was there before it.

use std::collections::{HashMap, HashSet};

use chain::ring::Key;

use super::block_row::BlockRow;
use super::decoded::{DecodedBlock, DecodedTransaction};
use super::outputs::{OutputRow, Pool};
use super::record::TransactionRecord;
use super::schema::{
    BLOCK_BY_HEIGHT, HEIGHT_BY_HASH, META, OUTPUTS_OF_AMOUNT, TX_BY_NUM, TXNUM_BY_HASH,
    TXNUM_BY_IMAGE, hash_key,
};
use super::tip::Tip;
use crate::db::{Batch, Reader, Table};
use crate::identity::META_TIP;
use crate::row::{RowReader, put_varint, u40};
use crate::store::LastBlock;
use crate::{IndexError, ReadError};

/// Changes of rows on their way into one batch.
pub(crate) struct Changes<'r, 'b> {
    reader: Reader<'r>,
    batch: Batch<'b>,
    tip: Option<Tip>,
    /// How many outputs there are of each public amount that was met.
    counts: HashMap<u64, u64>,
    /// What earlier blocks of the batch spend.
    spent: HashSet<Key>,
    /// Where each block of the batch begins.
    firsts: Vec<u64>,
}

impl<'r, 'b> Changes<'r, 'b> {
    /// Nothing, at a tip.
    pub(crate) fn new(reader: Reader<'r>, batch: Batch<'b>, tip: Option<Tip>) -> Changes<'r, 'b> {
        let (counts, spent, firsts) = (HashMap::new(), HashSet::new(), Vec::new());
        Changes { reader, batch, tip, counts, spent, firsts }
    }

    /// The batch with its tip, and the first txnum of each block in it.
    pub(crate) fn finish(mut self) -> (Batch<'b>, Option<Tip>, Vec<u64>) {
        match &self.tip {
            Some(tip) => self.batch.put(META, META_TIP, &tip.bytes()),
            None => self.batch.delete(META, META_TIP),
        }
        for (amount, count) in &self.counts {
            let key = amount.to_be_bytes();
            match count {
                0 => self.batch.delete(OUTPUTS_OF_AMOUNT, &key),
                _ => self.batch.put(OUTPUTS_OF_AMOUNT, &key, &count_bytes(*count)),
            }
        }
        (self.batch, self.tip, self.firsts)
    }

    /// Adds the block after the tip.
    pub(crate) fn connect(&mut self, block: &DecodedBlock) -> Result<(), IndexError> {
        self.check_images(block)?;
        let (first_txnum, first_output) =
            self.tip.map_or((0, 0), |tip| (tip.next_txnum, tip.next_output));
        let mut next_output = first_output;
        let mut places = Vec::new();
        for (transaction, txnum) in block.transactions.iter().zip(first_txnum..) {
            self.batch.put(TX_BY_NUM, &u40(txnum), &transaction.record.bytes());
            names(transaction, txnum, |table, key, value| self.batch.put(table, key, value));
            for (pool, key) in &transaction.outputs {
                let count = match pool {
                    Pool::Hidden => &mut next_output,
                    Pool::Amount(amount) => self.count(*amount)?,
                };
                let index = *count;
                *count += 1;
                let row = OutputRow { key: *key, txnum };
                row.write(|row| self.batch.put(pool.table(), &pool.key(index), row));
                places.push(index);
            }
        }
        if block.output_indices.as_ref().is_some_and(|theirs| *theirs != places) {
            let problem = "its outputs have other places at the node".into();
            return Err(IndexError::Block { height: block.height, problem });
        }
        let row = BlockRow::of(block, first_txnum, first_output);
        let height = block.height.to_be_bytes();
        self.batch.put(BLOCK_BY_HEIGHT, &height, &row.bytes());
        self.batch.put(HEIGHT_BY_HASH, &row.hash.0, &height);
        self.firsts.push(first_txnum);
        self.tip = Some(Tip::of(&row));
        Ok(())
    }

    /// Nothing is spent twice.
    fn check_images(&mut self, block: &DecodedBlock) -> Result<(), IndexError> {
        let images = || block.transactions.iter().flat_map(|transaction| &transaction.key_images);
        let keys: Vec<&[u8; 32]> = images().map(|image| &image.0).collect();
        let earlier = self.reader.multi_get(TXNUM_BY_IMAGE, &keys)?;
        if earlier.iter().any(Option::is_some) || !images().all(|it| self.spent.insert(*it)) {
            let problem = "it spends a key image that is spent already".into();
            return Err(IndexError::Block { height: block.height, problem });
        }
        Ok(())
    }

    /// How many outputs there are of a public amount.
    fn count(&mut self, amount: u64) -> Result<&mut u64, ReadError> {
        use std::collections::hash_map::Entry;
        match self.counts.entry(amount) {
            Entry::Occupied(held) => Ok(held.into_mut()),
            Entry::Vacant(place) => Ok(place.insert(read_count(self.reader, amount)?)),
        }
    }

    /// Takes the tip's block back; `before` is the one before it.
    pub(crate) fn take_back(
        &mut self,
        row: &BlockRow,
        before: Option<&BlockRow>,
    ) -> Result<(), IndexError> {
        let keys: Vec<[u8; 5]> = (row.first_txnum..row.next_txnum()).map(u40).collect();
        let mut next_output = row.next_output();
        let rows = self.reader.multi_get(TX_BY_NUM, &keys)?;
        let places = (row.first_txnum..row.next_txnum()).rev();
        for (found, txnum) in rows.into_iter().rev().zip(places) {
            let found = found.ok_or_else(|| IndexError::damaged("a row of tx_by_num is gone"))?;
            let record = TransactionRecord::read(&found).map_err(|bad| bad.of("tx_by_num"))?;
            let transaction = DecodedTransaction::of_record(record)?;
            self.batch.delete(TX_BY_NUM, &u40(txnum));
            names(&transaction, txnum, |table, key, _| self.batch.delete(table, key));
            for (pool, _) in transaction.outputs.iter().rev() {
                let count = match pool {
                    Pool::Hidden => &mut next_output,
                    Pool::Amount(amount) => self.count(*amount)?,
                };
                let wrong = || IndexError::damaged("outputs are counted wrongly");
                *count = count.checked_sub(1).ok_or_else(wrong)?;
                let key = pool.key(*count);
                self.batch.delete(pool.table(), &key);
            }
        }
        if next_output != row.first_output {
            return Err(IndexError::damaged("outputs of block_by_height are counted wrongly"));
        }
        self.batch.delete(BLOCK_BY_HEIGHT, &row.height.to_be_bytes());
        self.batch.delete(HEIGHT_BY_HASH, &row.hash.0);
        self.tip = before.map(Tip::of);
        Ok(())
    }
}

/// The rows by which a transaction is found.
pub(crate) fn names(
    transaction: &DecodedTransaction,
    txnum: u64,
    mut row: impl FnMut(Table, &[u8], &[u8]),
) {
    row(TXNUM_BY_HASH, &hash_key(&transaction.record.hash, txnum), &[]);
    for image in &transaction.key_images {
        row(TXNUM_BY_IMAGE, &image.0, &u40(txnum));
    }
}

/// The value of `outputs_of_amount`.
pub(crate) fn count_bytes(count: u64) -> Vec<u8> {
    let mut value = Vec::new();
    put_varint(&mut value, count);
    value
}

/// How many outputs the rows have of a public amount.
pub(crate) fn read_count(reader: Reader<'_>, amount: u64) -> Result<u64, ReadError> {
    let Some(row) = reader.get(OUTPUTS_OF_AMOUNT, &amount.to_be_bytes())? else { return Ok(0) };
    let mut row = RowReader::new(&row);
    let count = row.varint().and_then(|count| row.end().map(|()| count));
    count.map_err(|bad| bad.of("outputs_of_amount"))
}
