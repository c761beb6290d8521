//! The walk over the records, block by block: what each says of itself, and what should follow.
//!
//! Leaves to the sums whether it does. Invariant: a record that makes no sense is told once and
//! the walk goes on.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;

use chain::Hash32;
use chain::utxo::{Pools, merkle_root};

use super::Told;
use super::blocks::Headers;
use super::supply::{Supply, given};
use crate::ReadError;
use crate::db::Rows;
use crate::faults::Faults;
use crate::row::{of_u40, u40};
use crate::utxo::block_row::BlockRow;
use crate::utxo::effects::{Effects, Rules, SpentOutput, Step, Way, go, makes_coins};
use crate::utxo::record::TransactionRecord;
use crate::utxo::record::row::is_named;
use crate::utxo::schema::TX_BY_NUM;
use crate::utxo::steps::Records;
use crate::utxo::store::Store;
use crate::utxo::txids::place_before;

/// Name of the table in faults.
const TABLE: &str = "tx_by_num";
/// Earlier records that are read at once.
const READ_AT_ONCE: usize = 4096;

impl Store {
    /// Walks all records in chain order, and gives what they add up to.
    pub(super) fn walk_records(
        &self,
        expected: &mut impl Effects<Error = Infallible>,
        faults: &mut Faults,
        told: &mut Told<'_>,
    ) -> Result<Counted, ReadError> {
        let mut headers = Headers::of(self);
        let mut walk = Walk {
            store: self,
            rows: self.db().latest().rows(TX_BY_NUM),
            counted: Counted {
                supply: Some(Supply::of(self.network().kind)),
                ..Counted::default()
            },
            expected,
            faults,
        };
        let of = self.tip().map(|tip| u64::from(tip.height) + 1);
        while let Some(block) = headers.next(walk.faults)? {
            let first = block.first_txnum;
            let end = block.next_txnum();
            walk.strays(first)?;
            let records = walk.take(end)?;
            let txids: Vec<Hash32> = records.values().map(|record| record.txid).collect();
            // Where blocks are voted on the tree is of more than ids, which no row has.
            if block.stake.is_none() && merkle_root(&txids) != Some(block.merkle_root) {
                let what = "its transactions are not those that the header commits to";
                walk.faults.tell("header_by_height", &block.height.to_be_bytes(), what);
            }
            walk.missing(first, end, &records);
            walk.block(&block, records)?;
            told(headers.count, of);
        }
        walk.strays(u64::MAX)?;
        if headers.last() != self.tip() {
            walk.faults.tell("header_by_height", &[], "does not end with the tip");
        }
        walk.counted.blocks = headers.count;
        Ok(walk.counted)
    }
}

/// What all records add up to.
#[derive(Default)]
pub(super) struct Counted {
    pub(super) blocks: u64,
    pub(super) transactions: u64,
    pub(super) pools: Pools,
    pub(super) treasury: i128,
    pub(super) burnt: u128,
    /// Where blocks are voted on.
    pub(super) supply: Option<Supply>,
}

impl Counted {
    fn add(&mut self, txnum: u64, record: &TransactionRecord, rules: Rules<'_>) {
        let Pools { sprout, sapling, orchard, ironwood } = record.pools;
        self.pools.sprout = self.pools.sprout.saturating_add(sprout);
        self.pools.sapling = self.pools.sapling.saturating_add(sapling);
        self.pools.orchard = self.pools.orchard.saturating_add(orchard);
        self.pools.ironwood = self.pools.ironwood.saturating_add(ironwood);
        let given = given(record);
        self.treasury += given;
        if makes_coins(txnum) {
            let never = record.outputs.iter().filter(|output| !rules.can_be_spent(output));
            let never: u128 = never.map(|output| u128::from(output.value)).sum();
            self.burnt += never.saturating_sub(given.max(0) as u128);
        }
    }
}

/// A walk over the records.
struct Walk<'a, T> {
    store: &'a Store,
    rows: Rows<'a>,
    counted: Counted,
    expected: &'a mut T,
    faults: &'a mut Faults,
}

impl<T: Effects<Error = Infallible>> Walk<'_, T> {
    /// The records up to `end`, as far as they can be read.
    fn take(&mut self, end: u64) -> Result<Records, ReadError> {
        let mut records = Records::new();
        while let Some((key, value)) = self.rows.here()? {
            let txnum = key.try_into().map(of_u40).ok();
            if txnum.is_some_and(|txnum| txnum >= end) {
                break;
            }
            self.counted.transactions += 1;
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

    fn block(&mut self, block: &BlockRow, records: Records) -> Result<(), ReadError> {
        let (first, end) = (block.first_txnum, block.next_txnum());
        let earlier = self.earlier(first, &records)?;
        let mut steps = Vec::with_capacity(records.len());
        for (txnum, record) in &records {
            if record.is_coinbase() != (*txnum == block.regular_txnum())
                || (block.stake.is_some()
                    && record.kind.is_stake() != (*txnum < block.regular_txnum()))
            {
                self.fault(*txnum, "a coinbase is a block's first transaction and no other");
            }
            self.counted.add(*txnum, record, self.store.rules());
            let previous = |txnum| records.get(&txnum).or_else(|| earlier.get(&txnum));
            steps.push((self.spent(*txnum, end, record, previous), self.twin(*txnum, record)?));
        }
        if let Some(supply) = &mut self.counted.supply {
            supply.block(block, &records);
        }
        let steps: Vec<Step> = records
            .into_iter()
            .zip(steps)
            .map(|((txnum, record), (spent, twin))| Step { txnum, record, spent, twin })
            .collect();
        let Ok(()) = go(&steps, self.store.rules(), Way::Forward, self.expected);
        Ok(())
    }

    fn fault(&mut self, txnum: u64, what: impl std::fmt::Display) {
        self.faults.tell(TABLE, &u40(txnum), what);
    }

    /// The twin whose outputs a record replaced.
    fn twin(&mut self, txnum: u64, record: &TransactionRecord) -> Result<Option<u64>, ReadError> {
        if record.replaced.is_empty() {
            return Ok(None);
        }
        let twin = match place_before(self.store.db().latest(), &record.txid, txnum) {
            Err(ReadError::Damaged(_)) => None,
            twin => twin?,
        };
        let rules = self.store.rules();
        let output = |vout: &u32| record.outputs.get(*vout as usize);
        let real =
            record.replaced.iter().all(|vout| output(vout).is_some_and(|o| rules.counts(txnum, o)));
        if !real || twin.is_none() || !record.replaced.is_sorted_by(|a, b| a < b) {
            self.fault(txnum, "replaces outputs that its twin does not have");
        }
        Ok(twin)
    }

    /// The earlier records that a block's inputs name.
    fn earlier(
        &self,
        first: u64,
        records: &Records,
    ) -> Result<HashMap<u64, TransactionRecord>, ReadError> {
        let named =
            records.values().flat_map(|record| record.inputs.iter().map(|input| input.txnum));
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

    /// The outputs that a record spends, as far as they are there.
    fn spent<'r>(
        &mut self,
        txnum: u64,
        end: u64,
        record: &TransactionRecord,
        previous: impl Fn(u64) -> Option<&'r TransactionRecord>,
    ) -> Vec<SpentOutput> {
        let mut found = Vec::new();
        for input in &record.inputs {
            let of = previous(input.txnum).filter(|_| input.txnum < end);
            let spent = of.and_then(|of| of.spent(input.vout));
            match spent.filter(|spent| self.store.rules().counts(input.txnum, &spent.output)) {
                Some(spent) => {
                    found.push(SpentOutput { txnum: input.txnum, vout: input.vout, spent });
                }
                None => {
                    let what = format!("spends {}:{}, which is not there", input.txnum, input.vout);
                    self.fault(txnum, what);
                }
            }
        }
        if found.len() == record.inputs.len() {
            self.sums(txnum, record, &found);
        }
        found
    }

    /// What a record says of all that it spends.
    fn sums(&mut self, txnum: u64, record: &TransactionRecord, spent: &[SpentOutput]) {
        let sum = spent.iter().map(|one| u128::from(one.spent.output.value)).sum();
        if record.counted(sum) != (record.value_in, record.fee) {
            self.fault(txnum, "its value is not that of what it spends");
        }
        let names = spent.iter().map(|one| one.spent.txid);
        let sound = match &record.names {
            Some(named) => is_named(spent.len()) && names.eq(named.iter().copied()),
            None => !is_named(spent.len()),
        };
        if !sound {
            self.fault(txnum, "the ids of its inputs are not those of their records");
        }
    }
}
