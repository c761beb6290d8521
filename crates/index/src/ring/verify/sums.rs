//! What takes the rows of an audit: sums of all, and the rows of a few parts, one by one.
//!
//! Leaves hashing to `crate::sums`.

use std::collections::{BTreeMap, BTreeSet};

use super::name_of;
use crate::db::Table;
use crate::faults::Faults;
use crate::sums::Sums;

/// Takes rows, one after the other.
pub(super) trait Rows {
    /// A row of a table.
    fn row(&mut self, table: Table, key: &[u8], value: &[u8]);
}

/// The part of a key. Places and amounts begin with zeros, so that the last bytes tell more.
fn bucket(key: &[u8]) -> usize {
    match key {
        [.., first, second] => usize::from(*first & 0xf) << 8 | usize::from(*second),
        _ => 0,
    }
}

impl Rows for Sums {
    fn row(&mut self, table: Table, key: &[u8], value: &[u8]) {
        self.add(bucket(key), &[&table.0.to_be_bytes(), key, value]);
    }
}

/// The rows of some parts, as the records make them and as they are.
pub(super) struct Exact<'a> {
    buckets: &'a BTreeSet<usize>,
    expected: BTreeMap<(Table, Vec<u8>), Vec<u8>>,
    finding: bool,
    faults: Vec<(Table, Vec<u8>, &'static str)>,
}

impl<'a> Exact<'a> {
    /// Takes the rows that are to be.
    pub(super) fn expecting(buckets: &'a BTreeSet<usize>) -> Exact<'a> {
        Exact { buckets, expected: BTreeMap::new(), finding: false, faults: Vec::new() }
    }

    /// From here on takes the rows that are.
    pub(super) fn finding(self) -> Exact<'a> {
        Exact { finding: true, ..self }
    }

    /// Tells each row that is not as it should be.
    pub(super) fn tell(self, faults: &mut Faults) {
        for (table, key, what) in &self.faults {
            faults.tell(name_of(*table), key, what);
        }
        for (table, key) in self.expected.keys() {
            faults.tell(name_of(*table), key, "is not there");
        }
    }
}

impl Rows for Exact<'_> {
    fn row(&mut self, table: Table, key: &[u8], value: &[u8]) {
        if !self.buckets.contains(&bucket(key)) {
            return;
        }
        if !self.finding {
            self.expected.insert((table, key.to_vec()), value.to_vec());
            return;
        }
        match self.expected.remove(&(table, key.to_vec())) {
            None => self.faults.push((table, key.to_vec(), "is of no record")),
            Some(expected) if expected != value => {
                self.faults.push((table, key.to_vec(), "is not what the records make it"));
            }
            Some(_) => {}
        }
    }
}
