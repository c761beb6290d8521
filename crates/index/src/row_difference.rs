//! The rows of two stores side by side.
//!
//! Invariant: both are walked at once; nothing is held in memory.

use crate::ReadError;
use crate::db::Db;

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

/// Visits every row of a store: table, key, value; table by table, in key order.
pub(crate) fn every_row(
    db: &Db,
    mut visit: impl FnMut(&'static str, &[u8], &[u8]),
) -> Result<(), ReadError> {
    for (table, name) in db.tables() {
        let mut rows = db.latest().rows(table);
        while let Some((key, value)) = rows.here()? {
            visit(name, key, value);
            rows.step();
        }
    }
    Ok(())
}

/// The first row that differs; none if all are the same.
pub(crate) fn first_difference(one: &Db, other: &Db) -> Result<Option<RowDifference>, ReadError> {
    for (table, name) in one.tables() {
        let mut ours = one.latest().rows(table);
        let mut theirs = other.latest().rows(table);
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

type Found<'a> = Option<(&'a [u8], &'a [u8])>;

/// What differs where two walks part: the row of the lower key, and what the other has of it.
fn difference(table: &'static str, first: Found<'_>, second: Found<'_>) -> RowDifference {
    let key = [first, second].into_iter().flatten().map(|(key, _)| key).min().unwrap_or_default();
    let of = |row: Found<'_>| row.filter(|(its, _)| *its == key).map(|(_, value)| value.to_vec());
    RowDifference { table, key: key.to_vec(), first: of(first), second: of(second) }
}
