//! The rows of an index as bytes, for audits and for comparisons of two indexes.
//!
//! Invariant: two indexes of the same blocks with the same hash key have the same rows, however
//! they came about.

use super::store::Store;
use crate::ReadError;
use crate::row_difference::{RowDifference, every_row, first_difference};

impl Store {
    /// Visits every row: table, key, value; table by table, in key order.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn rows(&self, visit: impl FnMut(&'static str, &[u8], &[u8])) -> Result<(), ReadError> {
        every_row(self.db(), visit)
    }

    /// The first row that differs from another index's; none if all are the same.
    ///
    /// # Errors
    /// One of the stores cannot be read.
    pub fn same_rows(&self, other: &Store) -> Result<Option<RowDifference>, ReadError> {
        first_difference(self.db(), other.db())
    }
}
