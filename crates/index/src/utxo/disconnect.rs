//! The mirror of `connect`: the rows of the tip are taken back.
//!
//! Needs nothing but rows: no undo data, no node. Invariant: what is left is byte for byte what
//! was there before the block.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::block_row::BlockRow;
use super::changes::{Changes, Direction};
use super::connect::Connect;
use super::previous::PreviousRecords;
use super::record::TransactionRecord;
use super::schema::{
    HEADER_BY_HEIGHT, HEIGHT_BY_HASH, META, META_TIP, TX_BY_NUM, TXNUM_BY_TXID, UNSPENT_BY_SCRIPT,
    UnspentKey, UnspentRow, hash_key, txid_key,
};
use super::tip::Tip;
use super::txids::place_before;
use crate::IndexError;
use crate::db::Batch;
use crate::row::{of_u40, u40};

impl Connect<'_> {
    /// Puts into a batch what takes the block `row` back, and gives the tip before it; none
    /// before genesis.
    pub(crate) fn take_back(
        &self,
        row: &BlockRow,
        before: Option<&BlockRow>,
        batch: &mut Batch<'_>,
    ) -> Result<Option<Tip>, IndexError> {
        let records = self.records(row)?;
        let spent = records.values().filter(|record| record.coinbase.is_none());
        let spent = spent.flat_map(|record| record.inputs.iter().map(|input| input.txnum));
        let previous = PreviousRecords::load(self.reader, spent)?;
        let mut taken = TakenBack {
            connect: self,
            batch: &mut *batch,
            changes: Changes::default(),
            unspent: HashMap::new(),
        };
        for (txnum, record) in &records {
            taken.outputs(*txnum, record)?;
        }
        for (txnum, record) in &records {
            taken.inputs(*txnum, record, &previous)?;
        }
        taken.finish()?;
        batch.delete(HEADER_BY_HEIGHT, &row.height.to_be_bytes());
        batch.delete(HEIGHT_BY_HASH, &hash_key(&row.hash));
        let tip = before.map(|before| Tip {
            height: before.height,
            hash: before.hash,
            next_txnum: row.first_txnum,
        });
        match &tip {
            Some(tip) => batch.put(META, META_TIP, &tip.bytes()),
            None => batch.delete(META, META_TIP),
        }
        Ok(tip)
    }

    /// The records of a block, in block order.
    fn records(
        &self,
        row: &BlockRow,
    ) -> Result<std::collections::BTreeMap<u64, TransactionRecord>, IndexError> {
        let end = row.first_txnum + u64::from(row.tx_count);
        let mut records = std::collections::BTreeMap::new();
        let mut problem = None;
        self.reader.scan(TX_BY_NUM, &[], &u40(row.first_txnum), |key, value| {
            let txnum = key.try_into().map(of_u40).unwrap_or(u64::MAX);
            if txnum >= end {
                return ControlFlow::Break(());
            }
            match TransactionRecord::read(txnum, value) {
                Ok(record) => {
                    records.insert(txnum, record);
                    ControlFlow::Continue(())
                }
                Err(bad) => {
                    problem = Some(bad.of("tx_by_num"));
                    ControlFlow::Break(())
                }
            }
        })?;
        match problem {
            Some(problem) => Err(problem.into()),
            None if records.len() as u64 == u64::from(row.tx_count) => Ok(records),
            None => Err(IndexError::damaged("records of tx_by_num are gone")),
        }
    }
}

/// The rows of a block while they are taken back.
struct TakenBack<'a, 'c, 'b> {
    connect: &'a Connect<'c>,
    batch: &'a mut Batch<'b>,
    changes: Changes,
    /// The last word on each unspent output: there again, or gone.
    unspent: HashMap<UnspentKey, Option<UnspentRow>>,
}

impl TakenBack<'_, '_, '_> {
    fn outputs(&mut self, txnum: u64, record: &TransactionRecord) -> Result<(), IndexError> {
        let twin = match record.replaced.is_empty() {
            true => None,
            false => place_before(self.connect.reader, &record.txid, txnum)?,
        };
        let coinbase = record.coinbase.is_some();
        for (vout, output) in (0u32..).zip(&record.outputs) {
            if !self.connect.counts(txnum, &output.script) {
                continue;
            }
            let script = self.connect.key.script_id(&output.script);
            let key = UnspentKey { script, value: output.value, txnum, vout };
            self.unspent.insert(key, None);
            if record.replaced.contains(&vout) {
                let txnum =
                    twin.ok_or_else(|| IndexError::damaged("a twin of tx_by_num is gone"))?;
                let token = output.token.is_some();
                let row = UnspentRow { txid: record.txid, coinbase, token };
                self.unspent.insert(UnspentKey { txnum, ..key }, Some(row));
            }
        }
        self.batch.delete(TX_BY_NUM, &u40(txnum));
        self.batch.delete(TXNUM_BY_TXID, &txid_key(&record.txid, txnum));
        Ok(())
    }

    fn inputs(
        &mut self,
        txnum: u64,
        record: &TransactionRecord,
        previous: &PreviousRecords,
    ) -> Result<(), IndexError> {
        for (vout, output) in (0u32..).zip(&record.outputs) {
            if self.connect.counts(txnum, &output.script) {
                let script = self.connect.key.script_id(&output.script);
                if record.replaced.contains(&vout) {
                    self.changes.replace(script, txnum);
                } else {
                    self.changes.pay(script, txnum, output.value);
                }
            }
        }
        if record.coinbase.is_some() {
            return Ok(());
        }
        for input in &record.inputs {
            let spent = previous.output(input.txnum, input.vout)?;
            let spent =
                spent.ok_or_else(|| IndexError::damaged("a spent output of tx_by_num is gone"))?;
            let script = self.connect.key.script_id(&spent.output.script);
            self.changes.spend(script, txnum, spent.output.value);
            if input.txnum < self.connect.first_txnum {
                let key = UnspentKey {
                    script,
                    value: spent.output.value,
                    txnum: input.txnum,
                    vout: input.vout,
                };
                let token = spent.output.token.is_some();
                let row = UnspentRow { txid: spent.txid, coinbase: spent.coinbase, token };
                self.unspent.insert(key, Some(row));
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<(), IndexError> {
        for (key, row) in &self.unspent {
            match row {
                Some(row) => self.batch.put(UNSPENT_BY_SCRIPT, &key.bytes(), &row.bytes()),
                None => self.batch.delete(UNSPENT_BY_SCRIPT, &key.bytes()),
            }
        }
        self.changes.apply(self.connect.reader, self.batch, Direction::Disconnect)
    }
}
