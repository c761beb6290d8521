//! Every block read from a node again, and the rows held against it.
//!
//! The audit of the rows proves what follows from them; this proves the rows themselves: headers with
//! all that their hashes are of, the trees of transactions, each record. Leaves choosing a node to its
//! caller, and the walk to `audit`.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use chain::Hash32;
use chain::utxo::{Block, Transaction};
use node::{CallError, Node};

use super::super::block_row::BlockRow;
use super::super::decoded;
use super::super::record::TransactionRecord;
use super::super::record::row::read_txid;
use super::super::schema::TX_BY_NUM;
use super::super::steps::records;
use super::super::store::Store;
use super::super::voided;
use crate::audit::{Again, Fetched, Progress, read_again};
use crate::faults::Faults;
use crate::row::u40;
use crate::{IndexError, ReadError};

impl Store {
    /// Reads every block from a node again, and holds its row and its records against it.
    ///
    /// # Errors
    /// The engine cannot read; a node that cannot be asked any more.
    pub async fn read_again(
        &self,
        node: &Arc<Node>,
        progress: impl FnMut(Progress),
    ) -> Result<Again, IndexError> {
        let Some(tip) = self.tip() else { return Ok(Again::default()) };
        let fetch = |height: u32| async move {
            let Some(row) = self.block(height)? else { return Ok(None) };
            let raw = match node.raw_block(&row.hash.to_string()).await {
                Ok(raw) => Some(raw),
                // It does not have it, or not any more.
                Err(CallError::Rpc { .. }) => None,
                Err(error) => return Err(IndexError::failed(error)),
            };
            Ok(Some(Fetched { transactions: row.tx_count, row, raw }))
        };
        let hold = |row: &BlockRow, raw: Option<Bytes>, faults: &mut Faults| {
            raw.map_or(Ok(()), |raw| self.hold(row, &raw, faults))
        };
        read_again(tip.height, fetch, hold, progress).await
    }

    /// Holds a block's rows against its bytes.
    fn hold(&self, row: &BlockRow, raw: &Bytes, faults: &mut Faults) -> Result<(), IndexError> {
        let height = row.height;
        let block = match Block::decode(raw, self.format()) {
            Ok(block) => block,
            Err(error) => {
                faults.say(format_args!("block {height}: the node's cannot be read: {error}"));
                return Ok(());
            }
        };
        let own = BlockRow { voided: row.voided, ..BlockRow::of(&block, height, row.first_txnum) };
        if own != *row {
            faults.say(format_args!("block {height}: its row is not that of its header"));
            return Ok(());
        }
        if !block.is_whole() {
            let what = "its transactions are not those that its header commits to";
            faults.say(format_args!("block {height}: {what}"));
        }
        let held = match self.held(row) {
            Ok(held) => held,
            Err(IndexError::Read(ReadError::Damaged(what))) => {
                faults.say(format_args!("block {height}: {what}"));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let mut names = Names { store: self, known: HashMap::new() };
        if row.voided {
            // The places of a voided tree are by now those of others.
            let places = row.first_txnum..;
            names.known.extend(places.zip(held.iter().map(|record| Some(record.txid))));
        }
        for ((transaction, txid), record) in decoded::in_order(&block).zip(&held) {
            if !is_as(transaction, *txid, record, &mut names)? {
                faults.say(format_args!("block {height}: the record of {txid} is not as it is"));
            }
        }
        Ok(())
    }

    /// The records of a block in the order of their places, those of a voided tree last.
    fn held(&self, row: &BlockRow) -> Result<Vec<TransactionRecord>, IndexError> {
        let standing = records(self.db().latest(), row.first_txnum, row.next_txnum())?;
        let mut held: Vec<TransactionRecord> = standing.into_values().collect();
        if row.voided {
            let regular = voided::some(self.db().latest(), row, 0, row.regular_count())?;
            held.extend(regular.into_iter().map(|(_, record)| record));
        }
        Ok(held)
    }
}

/// Ids of earlier transactions, by their places.
struct Names<'a> {
    store: &'a Store,
    known: HashMap<u64, Option<Hash32>>,
}

impl Names<'_> {
    fn of(&mut self, txnum: u64) -> Result<Option<Hash32>, ReadError> {
        if let Some(known) = self.known.get(&txnum) {
            return Ok(*known);
        }
        let row = self.store.db().latest().get(TX_BY_NUM, &u40(txnum))?;
        let name = row.and_then(|row| read_txid(&row).ok());
        self.known.insert(txnum, name);
        Ok(name)
    }
}

/// Whether a record says what its transaction does.
fn is_as(
    transaction: &Transaction<'_>,
    txid: Hash32,
    record: &TransactionRecord,
    names: &mut Names<'_>,
) -> Result<bool, ReadError> {
    let own = decoded::record(transaction, txid);
    // What follows from other records is the audit's business.
    let alone = TransactionRecord {
        value_in: None,
        fee: None,
        inputs: Vec::new(),
        names: None,
        replaced: Vec::new(),
        ..record.clone()
    };
    let spends = decoded::spends_of(transaction, own.kind);
    if own != alone || spends.len() != record.inputs.len() {
        return Ok(false);
    }
    for (input, held) in spends.zip(&record.inputs) {
        let previous = input.previous;
        if (previous.vout, input.sequence) != (held.vout, held.sequence)
            || names.of(held.txnum)? != Some(previous.txid)
        {
            return Ok(false);
        }
    }
    Ok(true)
}
