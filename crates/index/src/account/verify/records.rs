//! The walk over blocks, transactions, logs and operations, side by side: what each says of itself,
//! and what rows should follow from it.
//!
//! Leaves to the sums whether they do. Invariant: a row that makes no sense is told once and the
//! walk goes on.

use std::collections::BTreeMap;

use chain::account::U256;

use super::super::changes::{created, creations, participants};
use super::super::facts::{BlockFacts, Log, Operation, Status, Transaction};
use super::super::rows::{logs_bytes, operations_bytes, read_logs, read_operations};
use super::super::schema::{
    BLOCK_BY_HEIGHT, CREATION_BY_ADDRESS, HEIGHT_BY_HASH, HISTORY_BY_ADDRESS, LOGS_BY_PLACE,
    OPERATIONS_BY_PLACE, PLACE_BY_TX, TX_BY_PLACE, TxPlace, UNTRACED, address_key, block_key,
    tx_key, untraced_key,
};
use super::super::store::Store;
use crate::ReadError;
use crate::db::{Rows, Table};
use crate::faults::Faults;

const BLOCKS: &str = "block_by_height";
const TXS: &str = "tx_by_place";
const LOGS: &str = "logs_by_place";
const OPERATIONS: &str = "operations_by_place";

/// Told now and then how far a walk is.
pub(super) type Told<'a> = dyn FnMut(u64, Option<u64>) + 'a;

/// Takes the rows that should be there.
pub(super) trait Expect {
    /// A row that follows from the records.
    fn expect(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), ReadError>;
}

/// What the walk counted.
#[derive(Default)]
pub(super) struct Counted {
    pub(super) blocks: u64,
    pub(super) transactions: u64,
    pub(super) logs: u64,
    pub(super) operations: u64,
}

/// A row that follows from a transaction: table, key, value.
pub(super) type Derived = BTreeMap<(usize, Vec<u8>), Vec<u8>>;

/// The rows that follow from a transaction.
pub(super) fn rows_of(
    place: TxPlace,
    tx: &Transaction,
    logs: &[Log],
    operations: &[Operation],
) -> Derived {
    let mut rows = Derived::new();
    rows.insert((PLACE_BY_TX.0, tx_key(&tx.hash, place).to_vec()), Vec::new());
    let inside = operations.iter().flat_map(|it| [it.from, it.to]);
    for address in participants(tx, logs).into_iter().chain(inside) {
        rows.insert((HISTORY_BY_ADDRESS.0, address_key(&address, place).to_vec()), Vec::new());
    }
    let own = created(tx).map(|contract| (contract, tx.from));
    for (contract, creator) in own.into_iter().chain(creations(operations)) {
        let key = address_key(&contract, place).to_vec();
        rows.insert((CREATION_BY_ADDRESS.0, key), creator.0.to_vec());
    }
    rows
}

impl Store {
    /// Walks all records in the order of the chain.
    pub(super) fn walk_records(
        &self,
        expect: &mut impl Expect,
        faults: &mut Faults,
        told: &mut Told<'_>,
    ) -> Result<Counted, ReadError> {
        let reader = self.reader();
        let mut blocks = reader.rows(BLOCK_BY_HEIGHT);
        let mut walk = Walk {
            store: self,
            txs: reader.rows(TX_BY_PLACE),
            logs: reader.rows(LOGS_BY_PLACE),
            operations: reader.rows(OPERATIONS_BY_PLACE),
            counted: Counted::default(),
            expect,
            faults,
        };
        let base = self.base();
        let total = self.tip().zip(base).map(|(tip, base)| u64::from(tip.height - base.height) + 1);
        // The block that the next one must follow.
        let mut before = base.map(|base| (base.height, base.hash));
        while let Some((key, value)) = blocks.here()? {
            let height = <[u8; 4]>::try_from(key).map(u32::from_be_bytes).ok();
            let facts = height.and_then(|height| BlockFacts::read(height, value).ok());
            match facts.filter(|facts| facts.bytes() == value) {
                Some(facts) => {
                    if before != Some((facts.height, facts.parent)) {
                        walk.faults.tell(BLOCKS, key, "does not follow the block before");
                    }
                    before = facts.height.checked_add(1).map(|next| (next, facts.hash));
                    walk.block(&facts)?;
                }
                None => walk.faults.tell(BLOCKS, key, "makes no sense"),
            }
            walk.counted.blocks += 1;
            told(walk.counted.blocks, total);
            blocks.step();
        }
        walk.strays(None)?;
        let tip = self.tip().map(|tip| (tip.height.saturating_add(1), tip.hash));
        if tip.is_some() && before != tip {
            walk.faults.tell(BLOCKS, &[], "does not end with the tip");
        }
        Ok(walk.counted)
    }
}

struct Walk<'a, E> {
    store: &'a Store,
    txs: Rows<'a>,
    logs: Rows<'a>,
    operations: Rows<'a>,
    counted: Counted,
    expect: &'a mut E,
    faults: &'a mut Faults,
}

/// Tells the rows before a place, all that are left without one, and stands on the first other.
fn pass(
    rows: &mut Rows<'_>,
    to: Option<TxPlace>,
    table: &str,
    faults: &mut Faults,
) -> Result<(), ReadError> {
    while let Some((key, _)) = rows.here()? {
        if to.is_some_and(|to| key >= &to.key()[..]) {
            break;
        }
        faults.tell(table, key, "belongs to no transaction");
        rows.step();
    }
    Ok(())
}

/// The value of the row at a place, if there is one, and the step over it.
fn take(
    rows: &mut Rows<'_>,
    at: TxPlace,
    table: &str,
    faults: &mut Faults,
) -> Result<Option<Vec<u8>>, ReadError> {
    pass(rows, Some(at), table, faults)?;
    let value = rows.here()?.filter(|(key, _)| *key == at.key()).map(|(_, value)| value.to_vec());
    if value.is_some() {
        rows.step();
    }
    Ok(value)
}

impl<E: Expect> Walk<'_, E> {
    fn strays(&mut self, to: Option<TxPlace>) -> Result<(), ReadError> {
        pass(&mut self.txs, to, TXS, self.faults)?;
        pass(&mut self.logs, to, LOGS, self.faults)?;
        pass(&mut self.operations, to, OPERATIONS, self.faults)
    }

    fn block(&mut self, facts: &BlockFacts) -> Result<(), ReadError> {
        let height = facts.height;
        let key = height.to_be_bytes();
        self.expect.expect(HEIGHT_BY_HASH, &block_key(&facts.hash, height), &[])?;
        let untraced = self.store.reader().get(UNTRACED, &untraced_key(height))?.is_some();
        self.strays(Some(TxPlace { height, index: 0 }))?;
        let (mut fees, mut values) = (U256::ZERO, U256::ZERO);
        let (mut next, mut first_log, mut whole) = (0u32, 0u32, true);
        while let Some(place) = self.txs.here()?.and_then(|(key, _)| TxPlace::read(key)) {
            if place.height != height || place.index >= facts.tx_count {
                break;
            }
            whole &= self.is_next(place, next);
            next = place.index + 1;
            match self.transaction(place, first_log, untraced)? {
                Some(tx) => {
                    fees = fees.saturating_add(tx.fee());
                    values = values.saturating_add(tx.value);
                    first_log = tx.first_log.saturating_add(tx.log_count);
                }
                None => whole = false,
            }
        }
        whole &= self.is_next(TxPlace { height, index: facts.tx_count }, next);
        if whole && (fees, values) != (facts.total_fees, facts.total_value) {
            self.faults.tell(BLOCKS, &key, "its fees or values are not those of its transactions");
        }
        Ok(())
    }

    /// Whether nothing is missing before a place, if that is the next one.
    fn is_next(&mut self, place: TxPlace, next: u32) -> bool {
        if place.index != next {
            let missing = TxPlace { height: place.height, index: next };
            self.faults.tell(TXS, &missing.key(), "is not there");
        }
        place.index == next
    }

    /// One transaction with what belongs to it; none of a row that makes no sense.
    fn transaction(
        &mut self,
        place: TxPlace,
        first_log: u32,
        untraced: bool,
    ) -> Result<Option<Transaction>, ReadError> {
        let row = take(&mut self.txs, place, TXS, self.faults)?.unwrap_or_default();
        let logs = take(&mut self.logs, place, LOGS, self.faults)?;
        let operations = take(&mut self.operations, place, OPERATIONS, self.faults)?;
        self.counted.transactions += 1;
        let key = place.key();
        let tx = Transaction::read(&row).ok().filter(|tx| tx.bytes() == row);
        let Some(tx) = tx else {
            self.faults.tell(TXS, &key, "makes no sense");
            return Ok(None);
        };
        let mut problem = |table, holds: bool, what: &str| {
            if !holds {
                self.faults.tell(table, &key, what);
            }
        };
        let logs = logs.map_or(Some(Vec::new()), |row| {
            read_logs(&row).ok().filter(|logs| !logs.is_empty() && logs_bytes(logs) == row)
        });
        problem(LOGS, logs.is_some(), "makes no sense");
        let operations = operations.map_or(Some(Vec::new()), |row| {
            let read = read_operations(&row).ok();
            read.filter(|it| !it.is_empty() && operations_bytes(it) == row)
        });
        problem(OPERATIONS, operations.is_some(), "makes no sense");
        let (logs, operations) = (logs.unwrap_or_default(), operations.unwrap_or_default());
        problem(
            LOGS,
            tx.log_count as usize == logs.len(),
            "is not as long as its transaction says",
        );
        problem(TXS, tx.first_log == first_log, "its logs do not follow those before");
        problem(TXS, tx.checked_fee().is_some(), "costs more than 256 bits");
        problem(TXS, tx.gas_used <= tx.gas_limit, "used more gas than it might");
        let created = tx.created.is_none() || (tx.to.is_none() && tx.status != Status::Failed);
        problem(TXS, created, "created a contract, and failed or called one");
        let silent = tx.status != Status::Failed || (operations.is_empty() && logs.is_empty());
        problem(TXS, silent, "failed and did something");
        let traced = !untraced || operations.is_empty();
        problem(OPERATIONS, traced, "is of a block that was not traced");
        self.counted.logs += logs.len() as u64;
        self.counted.operations += operations.len() as u64;
        for ((table, key), value) in rows_of(place, &tx, &logs, &operations) {
            self.expect.expect(Table(table), &key, &value)?;
        }
        Ok(Some(tx))
    }
}
