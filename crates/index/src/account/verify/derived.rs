//! The tables whose rows follow from others: what they add up to, and which of them are at fault.
//!
//! Leaves hashing to `crate::sums`.

use std::collections::BTreeSet;

use super::super::changes::{logs_at, operations_at, read_block, read_tx};
use super::super::schema::{
    CREATION_BY_ADDRESS, HEIGHT_BY_HASH, HISTORY_BY_ADDRESS, PLACE_BY_TX, TABLES, TxPlace,
    block_key,
};
use super::super::store::Store;
use super::records::{Expect, Told, rows_of};
use crate::db::Table;
use crate::faults::Faults;
use crate::sums::{BUCKETS, Sums, bucket};
use crate::{IndexError, ReadError};

/// The tables.
const DERIVED: [Table; 4] = [HEIGHT_BY_HASH, PLACE_BY_TX, HISTORY_BY_ADDRESS, CREATION_BY_ADDRESS];
/// Rows between two words on how far a walk is.
const TOLD_EVERY: u64 = 1 << 16;

/// The part of a row's table.
fn part(table: Table, key: &[u8]) -> usize {
    let table = DERIVED.iter().position(|derived| derived.0 == table.0).unwrap_or_default();
    table * BUCKETS + bucket(key)
}

/// Nothing yet, of all parts.
pub(super) fn no_rows() -> Result<Sums, IndexError> {
    Sums::draw(DERIVED.len() * BUCKETS)
}

/// Adds a row.
pub(super) fn add(sums: &mut Sums, table: Table, key: &[u8], value: &[u8]) {
    sums.add(part(table, key), &[key, value]);
}

impl Expect for Sums {
    fn expect(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), ReadError> {
        add(self, table, key, value);
        Ok(())
    }
}

/// Names the rows at fault in the parts that differ.
pub(super) struct Naming<'a> {
    store: &'a Store,
    differing: BTreeSet<usize>,
    faults: Faults,
}

impl<'a> Naming<'a> {
    pub(super) fn of(store: &'a Store, differing: BTreeSet<usize>) -> Naming<'a> {
        Naming { store, differing, faults: Faults::default() }
    }

    /// Whether no part differs.
    pub(super) fn is_empty(&self) -> bool {
        self.differing.is_empty()
    }

    /// A row that is there: the records must want it.
    pub(super) fn found(
        &mut self,
        table: Table,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), ReadError> {
        if self.differing.contains(&part(table, key)) && !self.is_wanted(table, key, value)? {
            self.faults.tell(TABLES[table.0].name, key, "follows from no record");
        }
        Ok(())
    }

    /// Whether a row follows from the record that its key names. One that makes no sense, which was
    /// told before, wants nothing.
    fn is_wanted(&self, table: Table, key: &[u8], value: &[u8]) -> Result<bool, ReadError> {
        let reader = self.store.reader();
        if table.0 == HEIGHT_BY_HASH.0 {
            let height = key.last_chunk().map(|height| u32::from_be_bytes(*height));
            let block = match height {
                Some(height) => unless_damaged(read_block(reader, height))?,
                None => None,
            };
            let is = |hash| height.is_some_and(|height| block_key(&hash, height) == key);
            return Ok(value.is_empty() && block.flatten().is_some_and(|block| is(block.hash)));
        }
        let place = match table.0 == PLACE_BY_TX.0 {
            true => key.last_chunk::<7>().and_then(|place| TxPlace::read(place)),
            false => TxPlace::read_newest(key),
        };
        let Some(place) = place else { return Ok(false) };
        let tx = unless_damaged(read_tx(reader, place))?.flatten();
        let logs = unless_damaged(logs_at(reader, place))?;
        let operations = unless_damaged(operations_at(reader, place))?;
        let Some(tx) = tx else { return Ok(false) };
        let (logs, operations) = (logs.unwrap_or_default(), operations.unwrap_or_default());
        let rows = rows_of(place, &tx, &logs, &operations);
        Ok(rows.get(&(table.0, key.to_vec())).is_some_and(|wanted| wanted == value))
    }

    /// Tells what was named, and that there was something.
    pub(super) fn tell(self, faults: &mut Faults) -> Result<(), ReadError> {
        let (kept, count) = self.faults.into_parts();
        let more = count.saturating_sub(kept.len() as u64);
        kept.into_iter().for_each(|fault| faults.say(fault));
        (0..more).for_each(|_| faults.say("another row is at fault"));
        if count == 0 {
            faults.say("the rows changed while they were read");
        }
        Ok(())
    }
}

impl Expect for Naming<'_> {
    fn expect(&mut self, table: Table, key: &[u8], _value: &[u8]) -> Result<(), ReadError> {
        if !self.differing.contains(&part(table, key)) {
            return Ok(());
        }
        // One that is there with another value is told when the walk comes to it.
        if self.store.reader().get(table, key)?.is_none() {
            self.faults.tell(TABLES[table.0].name, key, "is not there");
        }
        Ok(())
    }
}

/// What was read; none of a row that makes no sense.
fn unless_damaged<T>(read: Result<T, ReadError>) -> Result<Option<T>, ReadError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(ReadError::Damaged(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Store {
    /// Walks the tables whose rows follow from others.
    pub(super) fn walk_derived(
        &self,
        told: &mut Told<'_>,
        mut visit: impl FnMut(Table, &[u8], &[u8]) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let mut done = 0u64;
        for table in DERIVED {
            let mut rows = self.reader().rows(table);
            while let Some((key, value)) = rows.here()? {
                visit(table, key, value)?;
                done += 1;
                if done.is_multiple_of(TOLD_EVERY) {
                    told(done, None);
                }
                rows.step();
            }
        }
        told(done, Some(done));
        Ok(())
    }
}
