//! The walk over blocks and records, in chain order.
//!
//! Invariant: each block's hash is worked out again from its row, its coinbase and the hashes of
//! its transactions; what cannot be of a later version of the protocol is counted.

use std::collections::BTreeMap;

use chain::ring::{Block, Hash, LAST_VERSION};

use super::Verdict;
use super::sums::Rows as Sink;
use crate::IndexError;
use crate::db::{Rows, Table};
use crate::faults::Faults;
use crate::ring::block_row::BlockRow;
use crate::ring::connect::{count_bytes, names};
use crate::ring::decoded::DecodedTransaction;
use crate::ring::outputs::{OutputRow, Pool};
use crate::ring::record::TransactionRecord;
use crate::ring::schema::{
    BLOCK_BY_HEIGHT, HEIGHT_BY_HASH, OUTPUT_BY_AMOUNT, OUTPUT_BY_INDEX, OUTPUTS_OF_AMOUNT,
    TX_BY_NUM, TXNUM_BY_HASH, TXNUM_BY_IMAGE,
};
use crate::ring::store::Store;
use crate::ring::tip::Tip;
use crate::row::u40;
use crate::store::LastBlock;

/// The tables that follow from the records.
pub(super) const CHECKED: [Table; 6] = [
    HEIGHT_BY_HASH,
    TXNUM_BY_HASH,
    OUTPUT_BY_INDEX,
    OUTPUT_BY_AMOUNT,
    OUTPUTS_OF_AMOUNT,
    TXNUM_BY_IMAGE,
];

/// A walk under way.
struct Walk<'a, S: Sink> {
    sink: &'a mut S,
    verdict: &'a mut Verdict,
    faults: &'a mut Faults,
    /// The block before.
    before: Option<Tip>,
    /// How many outputs there are of each public amount.
    counts: BTreeMap<u64, u64>,
}

impl Store {
    /// Walks blocks and records; gives the sink what is to be in all other tables.
    pub(super) fn walk_records(
        &self,
        sink: &mut impl Sink,
        verdict: &mut Verdict,
        faults: &mut Faults,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), IndexError> {
        let mut walk = Walk { sink, verdict, faults, before: None, counts: BTreeMap::new() };
        let mut blocks = self.db().latest().rows(BLOCK_BY_HEIGHT);
        let mut records = self.db().latest().rows(TX_BY_NUM);
        while let Some((key, value)) = blocks.here()? {
            if !walk.block(key, value, &mut records)? {
                break;
            }
            if walk.verdict.blocks.is_multiple_of(1000) {
                progress(walk.verdict.blocks);
            }
            blocks.step();
        }
        let (before, counts) = (walk.before, std::mem::take(&mut walk.counts));
        for (amount, count) in counts {
            walk.sink.row(OUTPUTS_OF_AMOUNT, &amount.to_be_bytes(), &count_bytes(count));
        }
        if before != self.tip() {
            faults.tell("block_by_height", &[], "does not end with the tip");
        } else if let Some((key, _)) = records.here()? {
            faults.tell("tx_by_num", key, "is of no block");
        }
        progress(verdict.blocks);
        Ok(())
    }
}

impl<S: Sink> Walk<'_, S> {
    /// A block with its records; `false` where nothing after it can be told.
    fn block(
        &mut self,
        key: &[u8],
        value: &[u8],
        records: &mut Rows<'_>,
    ) -> Result<bool, IndexError> {
        let (height, first_txnum, first_output) =
            self.before.map_or((0, 0, 0), |tip| (tip.height + 1, tip.next_txnum, tip.next_output));
        let row = BlockRow::read(height, value).ok().filter(|row| {
            key == height.to_be_bytes()
                && (row.first_txnum, row.first_output) == (first_txnum, first_output)
        });
        let Some(row) = row else {
            self.faults.tell("block_by_height", key, "does not follow the one before");
            return Ok(false);
        };
        let mut transactions = Vec::new();
        for txnum in row.first_txnum..row.next_txnum() {
            let read = records.here()?.filter(|(key, _)| *key == u40(txnum));
            let Some((_, bytes)) = read else {
                self.faults.tell("tx_by_num", &u40(txnum), "is not there");
                return Ok(false);
            };
            let record = TransactionRecord::read(bytes).ok();
            match record.and_then(|record| DecodedTransaction::of_record(record).ok()) {
                Some(transaction) => transactions.push(transaction),
                None => {
                    self.faults.tell("tx_by_num", &u40(txnum), "cannot be read");
                    return Ok(false);
                }
            }
            records.step();
        }
        self.check(&row, key, &transactions);
        self.transactions(&row, &transactions);
        self.sink.row(HEIGHT_BY_HASH, &row.hash.0, &row.height.to_be_bytes());
        self.verdict.blocks += 1;
        self.before = Some(Tip::of(&row));
        Ok(true)
    }

    /// What the transactions of a block are to be found by.
    fn transactions(&mut self, row: &BlockRow, transactions: &[DecodedTransaction]) {
        let mut next_output = row.first_output;
        for (transaction, txnum) in transactions.iter().zip(row.first_txnum..) {
            names(transaction, txnum, |table, key, value| self.sink.row(table, key, value));
            for (pool, key) in &transaction.outputs {
                let count = match pool {
                    Pool::Hidden => &mut next_output,
                    Pool::Amount(amount) => {
                        self.verdict.public_outputs += 1;
                        self.counts.entry(*amount).or_default()
                    }
                };
                let output = OutputRow { key: *key, txnum };
                output.write(|row| self.sink.row(pool.table(), &pool.key(*count), row));
                *count += 1;
            }
            self.verdict.key_images += transaction.key_images.len() as u64;
            let fee = transaction.record.decode().ok().and_then(|it| it.fee());
            self.verdict.fees += u128::from(fee.unwrap_or(0));
        }
        if next_output != row.next_output() {
            let key = row.height.to_be_bytes();
            self.faults.tell("block_by_height", &key, "counts its outputs wrongly");
        }
        self.verdict.hidden_outputs += u64::from(row.output_count);
        self.verdict.transactions += transactions.len() as u64;
        self.verdict.rewards += u128::from(row.reward);
    }

    /// The block's hash and its coinbase, worked out again.
    fn check(&mut self, row: &BlockRow, key: &[u8], transactions: &[DecodedTransaction]) {
        let previous = self.before.map_or(Hash::ZERO, |tip| tip.hash);
        let raw = raw_block(row, previous, transactions);
        let block = Block::decode(&raw).ok();
        let is_proved = block.as_ref().and_then(Block::hash) == Some(row.hash);
        if row.version > LAST_VERSION && !is_proved {
            // What is not known of it may be in its header.
            self.verdict.unproved += 1;
            return;
        }
        let coinbase = block.as_ref().map(|block| &block.coinbase);
        if !is_proved {
            self.faults.tell("block_by_height", key, "has another hash than its content");
        }
        if coinbase.map(|it| it.visible_out()) != Some(row.reward.into()) {
            self.faults.tell("block_by_height", key, "has another reward than its coinbase");
        }
        let first = transactions.first().map(|first| first.record.hash);
        if coinbase.and_then(|it| it.hash()) != first {
            self.faults.tell("tx_by_num", &u40(row.first_txnum), "has another hash than its body");
        }
    }
}

/// A block as it stood on the wire.
fn raw_block(row: &BlockRow, previous: Hash, transactions: &[DecodedTransaction]) -> Vec<u8> {
    let mut raw = Vec::new();
    for number in [row.version.into(), row.vote.into(), row.time] {
        crate::row::put_varint(&mut raw, number);
    }
    raw.extend_from_slice(&previous.0);
    raw.extend_from_slice(&row.nonce.to_le_bytes());
    if let Some((coinbase, rest)) = transactions.split_first() {
        raw.extend_from_slice(&coinbase.record.body);
        crate::row::put_varint(&mut raw, rest.len() as u64);
        rest.iter().for_each(|one| raw.extend_from_slice(&one.record.hash.0));
    }
    raw
}
