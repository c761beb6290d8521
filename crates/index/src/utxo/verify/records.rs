//! The walk over the records, block by block: what each says of itself, and what should follow.
//!
//! Leaves to the sums whether it does. Invariant: a record that makes no sense is told once and
//! the walk goes on.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chain::Hash32;
use chain::utxo::{is_unspendable, merkle_root};

use super::blocks::Headers;
use super::faults::Faults;
use super::{Tally, Told};
use crate::ReadError;
use crate::db::Rows;
use crate::row::{of_u40, u40};
use crate::utxo::record::{NAMED_ABOVE, OutputRecord, TransactionRecord};
use crate::utxo::schema::{TX_BY_NUM, UnspentKey, UnspentRow, txid_key};
use crate::utxo::script_id::ScriptId;
use crate::utxo::store::Store;
use crate::utxo::txids::place_before;

/// Name of the table in faults.
const TABLE: &str = "tx_by_num";
/// Earlier records that are read at once.
const READ_AT_ONCE: usize = 4096;

type Records = BTreeMap<u64, TransactionRecord>;

impl Store {
    /// Walks all records in chain order, and gives how many blocks and transactions there are.
    pub(super) fn walk_records(
        &self,
        expected: &mut impl Tally,
        faults: &mut Faults,
        told: &mut Told<'_>,
    ) -> Result<(u64, u64), ReadError> {
        let mut headers = Headers::of(self);
        let mut walk = Walk {
            store: self,
            rows: self.db().latest().rows(TX_BY_NUM),
            count: 0,
            expected,
            faults,
        };
        let of = self.tip().map(|tip| u64::from(tip.height) + 1);
        while let Some(block) = headers.next(walk.faults)? {
            let first = block.first_txnum;
            let end = first + u64::from(block.tx_count);
            walk.strays(first)?;
            let records = walk.take(end)?;
            let txids: Vec<Hash32> = records.values().map(|record| record.txid).collect();
            if merkle_root(&txids) != Some(block.merkle_root) {
                let what = "its transactions are not those that the header commits to";
                walk.faults.tell("header_by_height", &block.height.to_be_bytes(), what);
            }
            walk.missing(first, end, &records);
            walk.block(first, end, &records)?;
            told(headers.count, of);
        }
        walk.strays(u64::MAX)?;
        if headers.last() != self.tip() {
            walk.faults.tell("header_by_height", &[], "does not end with the tip");
        }
        Ok((headers.count, walk.count))
    }
}

/// A walk over the records.
struct Walk<'a, T> {
    store: &'a Store,
    rows: Rows<'a>,
    count: u64,
    expected: &'a mut T,
    faults: &'a mut Faults,
}

/// An output that counts.
struct Counted<'o> {
    key: UnspentKey,
    row: UnspentRow,
    output: &'o OutputRecord,
}

impl<T: Tally> Walk<'_, T> {
    /// The records up to `end`, as far as they can be read.
    fn take(&mut self, end: u64) -> Result<Records, ReadError> {
        let mut records = Records::new();
        while let Some((key, value)) = self.rows.here()? {
            let txnum = key.try_into().map(of_u40).ok();
            if txnum.is_some_and(|txnum| txnum >= end) {
                break;
            }
            self.count += 1;
            let record = txnum.and_then(|txnum| {
                let record = TransactionRecord::read(txnum, value).ok()?;
                (record.bytes(txnum) == value).then_some((txnum, record))
            });
            match record {
                Some((txnum, record)) => drop(records.insert(txnum, record)),
                None => self.faults.tell(TABLE, key, "makes no sense"),
            }
            self.rows.step();
        }
        Ok(records)
    }

    /// Tells the records below `end` that no block has.
    fn strays(&mut self, end: u64) -> Result<(), ReadError> {
        for txnum in self.take(end)?.keys() {
            self.faults.tell(TABLE, &u40(*txnum), "is in no block");
        }
        Ok(())
    }

    fn missing(&mut self, first: u64, end: u64, records: &Records) {
        if records.len() as u64 == end - first {
            return;
        }
        for txnum in (first..end).filter(|txnum| !records.contains_key(txnum)) {
            self.faults.tell(TABLE, &u40(txnum), "is not there, or makes no sense");
        }
    }

    fn block(&mut self, first: u64, end: u64, records: &Records) -> Result<(), ReadError> {
        for (txnum, record) in records {
            self.expected.id(txid_key(&record.txid, *txnum));
            self.outputs(*txnum, record)?;
        }
        let earlier = self.earlier(first, records)?;
        for (txnum, record) in records {
            let mut touched: BTreeSet<ScriptId> =
                self.counted(*txnum, record).map(|counted| counted.key.script).collect();
            let coinbase = record.coinbase.is_some();
            if coinbase != (*txnum == first) {
                self.fault(*txnum, "a coinbase is a block's first transaction and no other");
            }
            if !coinbase {
                let previous = |txnum| records.get(&txnum).or_else(|| earlier.get(&txnum));
                self.inputs(*txnum, end, record, &mut touched, previous);
            }
            touched.iter().for_each(|script| self.expected.touch(*script, *txnum));
        }
        Ok(())
    }

    fn fault(&mut self, txnum: u64, what: impl std::fmt::Display) {
        self.faults.tell(TABLE, &u40(txnum), what);
    }

    /// The outputs of a record that can be spent, with their rows if they are not.
    fn counted<'o>(
        &self,
        txnum: u64,
        record: &'o TransactionRecord,
    ) -> impl Iterator<Item = Counted<'o>> + use<'o, T> {
        let key = *self.store.key();
        let coinbase = record.coinbase.is_some();
        let outputs = (0u32..).zip(&record.outputs);
        outputs.filter(move |(_, output)| counts(txnum, output)).map(move |(vout, output)| {
            let (script, token) = (key.script_id(&output.script), output.token.is_some());
            let key = UnspentKey { script, value: output.value, txnum, vout };
            Counted { key, row: UnspentRow { txid: record.txid, coinbase, token }, output }
        })
    }

    fn outputs(&mut self, txnum: u64, record: &TransactionRecord) -> Result<(), ReadError> {
        let mut replaced = 0;
        let twin = match record.replaced.is_empty() {
            true => None,
            false => place_before(self.store.db().latest(), &record.txid, txnum).ok().flatten(),
        };
        for Counted { key, row, output } in self.counted(txnum, record) {
            if record.replaced.binary_search(&key.vout).is_ok() {
                replaced += 1;
                if let Some(txnum) = twin {
                    self.expected.unmake(&UnspentKey { txnum, ..key }.bytes(), &row.bytes());
                }
            } else {
                self.expected.pay(key.script, output.value);
            }
            self.expected.make(&key.bytes(), &row.bytes());
        }
        let sound = replaced == record.replaced.len() && (replaced == 0 || twin.is_some());
        if !sound || !record.replaced.is_sorted() {
            self.fault(txnum, "replaces outputs that its twin does not have");
        }
        Ok(())
    }

    /// The earlier records that a block's inputs name.
    fn earlier(
        &self,
        first: u64,
        records: &Records,
    ) -> Result<HashMap<u64, TransactionRecord>, ReadError> {
        let spending = records.values().filter(|record| record.coinbase.is_none());
        let named = spending.flat_map(|record| record.inputs.iter().map(|input| input.txnum));
        let named: BTreeSet<u64> = named.filter(|txnum| *txnum < first).collect();
        let named: Vec<u64> = named.into_iter().collect();
        let mut earlier = HashMap::with_capacity(named.len());
        for part in named.chunks(READ_AT_ONCE) {
            let keys: Vec<[u8; 5]> = part.iter().map(|txnum| u40(*txnum)).collect();
            let rows = self.store.db().latest().multi_get(TX_BY_NUM, &keys)?;
            for (txnum, row) in part.iter().zip(rows) {
                // One that makes no sense is told where the walk comes to it.
                let record = row.and_then(|row| TransactionRecord::read(*txnum, &row).ok());
                earlier.extend(record.map(|record| (*txnum, record)));
            }
        }
        Ok(earlier)
    }

    fn inputs<'r>(
        &mut self,
        txnum: u64,
        end: u64,
        record: &TransactionRecord,
        touched: &mut BTreeSet<ScriptId>,
        previous: impl Fn(u64) -> Option<&'r TransactionRecord>,
    ) {
        let mut value_in = 0i128;
        let mut names = Vec::new();
        for input in &record.inputs {
            let of = previous(input.txnum).filter(|_| input.txnum < end);
            let vout = input.vout;
            let output = of.and_then(|of| Some((of, of.outputs.get(vout as usize)?)));
            let Some((of, output)) = output.filter(|(_, output)| counts(input.txnum, output))
            else {
                self.fault(txnum, format!("spends {}:{vout}, which is not there", input.txnum));
                continue;
            };
            names.push(of.txid);
            value_in += i128::from(output.value);
            let script = self.store.key().script_id(&output.script);
            let key = UnspentKey { script, value: output.value, txnum: input.txnum, vout };
            let (coinbase, token) = (of.coinbase.is_some(), output.token.is_some());
            let row = UnspentRow { txid: of.txid, coinbase, token };
            self.expected.unmake(&key.bytes(), &row.bytes());
            self.expected.spend(script, output.value);
            touched.insert(script);
        }
        let value_out: i128 = record.outputs.iter().map(|output| i128::from(output.value)).sum();
        if names.len() == record.inputs.len() && record.fee != Some(value_in - value_out) {
            self.fault(txnum, format!("its fee is not {}", value_in - value_out));
        }
        let named = record.inputs.len() > NAMED_ABOVE;
        if record.names.is_some() != named || record.names.as_ref().is_some_and(|n| *n != names) {
            self.fault(txnum, "the ids of its inputs are not those of their records");
        }
    }
}

/// Whether an output can be spent: genesis, which has the txnum 0, pays nobody.
fn counts(txnum: u64, output: &OutputRecord) -> bool {
    txnum != 0 && !is_unspendable(&output.script)
}
