//! The rows of an index as bytes, for audits and for comparisons of two indexes.
//!
//! Invariant: two indexes of the same blocks with the same hash key have the same rows, however
//! they came about.

use super::store::Store;
use crate::ReadError;

/// A row that two indexes do not share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowDifference {
    /// Name of the table.
    pub table: &'static str,
    /// Key of the row.
    pub key: Vec<u8>,
    /// Its value in the first index; none if the row is not there.
    pub first: Option<Vec<u8>>,
    /// Its value in the second index.
    pub second: Option<Vec<u8>>,
}

impl std::fmt::Display for RowDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = |value: &Option<Vec<u8>>| match value {
            Some(value) => const_hex::encode(value),
            None => "no row".into(),
        };
        let key = const_hex::encode(&self.key);
        let (first, second) = (value(&self.first), value(&self.second));
        write!(f, "{} {key}: {first} against {second}", self.table)
    }
}

impl Store {
    /// Visits every row: table, key, value; table by table, in key order.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn rows(&self, mut visit: impl FnMut(&'static str, &[u8], &[u8])) -> Result<(), ReadError> {
        for (table, name) in self.db().tables() {
            let mut rows = self.db().latest().rows(table);
            while let Some((key, value)) = rows.here()? {
                visit(name, key, value);
                rows.step();
            }
        }
        Ok(())
    }

    /// The first row that differs from another index's; none if all are the same. Both are walked
    /// side by side; nothing is held in memory.
    ///
    /// # Errors
    /// One of the stores cannot be read.
    pub fn same_rows(&self, other: &Store) -> Result<Option<RowDifference>, ReadError> {
        for (table, name) in self.db().tables() {
            let mut ours = self.db().latest().rows(table);
            let mut theirs = other.db().latest().rows(table);
            loop {
                let (first, second) = (ours.here()?, theirs.here()?);
                if first.is_none() && second.is_none() {
                    break;
                }
                if first != second {
                    return Ok(Some(difference(name, first, second)));
                }
                ours.step();
                theirs.step();
            }
        }
        Ok(None)
    }
}

type Found<'a> = Option<(&'a [u8], &'a [u8])>;

/// What differs where two walks part: the row of the lower key, and what the other has of it.
fn difference(table: &'static str, first: Found<'_>, second: Found<'_>) -> RowDifference {
    let key = [first, second].into_iter().flatten().map(|(key, _)| key).min().unwrap_or_default();
    let of = |row: Found<'_>| row.filter(|(its, _)| *its == key).map(|(_, value)| value.to_vec());
    RowDifference { table, key: key.to_vec(), first: of(first), second: of(second) }
}
