//! What all rows add up to, in 4,096 parts, so that nothing has to be kept in memory; and the rows
//! of a few parts, one by one.
//!
//! Invariant: the same rows have the same sums whatever their order; other rows have others, but
//! for a chance of 1 in 2^100 or so, because the hashes are keyed by a secret of the run.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher24};

use super::name_of;
use crate::IndexError;
use crate::db::Table;
use crate::faults::Faults;

/// Parts of all tables, by 12 bits of the end of keys.
pub(super) const BUCKETS: usize = 4096;

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

/// Sums of all parts.
pub(super) struct Sums {
    secret: [u8; 16],
    parts: Vec<u128>,
}

impl Sums {
    /// Nothing yet, with a new secret.
    pub(super) fn draw() -> Result<Sums, IndexError> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).map_err(IndexError::failed)?;
        Ok(Sums { secret, parts: vec![0; BUCKETS] })
    }

    /// Nothing yet, with the same secret.
    pub(super) fn empty(&self) -> Sums {
        Sums { secret: self.secret, parts: vec![0; BUCKETS] }
    }

    /// The parts in which two differ.
    pub(super) fn differing(&self, other: &Sums) -> Vec<usize> {
        (0..BUCKETS).filter(|bucket| self.parts[*bucket] != other.parts[*bucket]).collect()
    }
}

impl Rows for Sums {
    fn row(&mut self, table: Table, key: &[u8], value: &[u8]) {
        let mut hasher = SipHasher24::new_with_key(&self.secret);
        hasher.write_usize(table.0);
        hasher.write_usize(key.len());
        hasher.write(key);
        hasher.write(value);
        let part = &mut self.parts[bucket(key)];
        *part = part.wrapping_add(hasher.finish128().as_u128());
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
