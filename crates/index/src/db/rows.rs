//! Every row of a table, one after the other.
//!
//! Invariant: what is seen is the table as it was when the walk began.

use rocksdb::{DB, DBRawIteratorWithThreadMode};

use super::{Reader, read_error};
use crate::ReadError;

/// The bytes of a row.
pub(crate) type KeyAndValue<'a> = (&'a [u8], &'a [u8]);

/// A walk over the rows of a table in key order, standing on one of them or past the last.
pub(crate) struct Rows<'a>(DBRawIteratorWithThreadMode<'a, DB>);

impl<'a> Rows<'a> {
    pub(super) fn new(mut rows: DBRawIteratorWithThreadMode<'a, DB>) -> Rows<'a> {
        rows.seek_to_first();
        Rows(rows)
    }

    /// The row it stands on; none past the last.
    pub(crate) fn here(&self) -> Result<Option<KeyAndValue<'_>>, ReadError> {
        match self.0.item() {
            Some(row) => Ok(Some(row)),
            None => self.0.status().map(|()| None).map_err(read_error),
        }
    }

    /// Goes on to the next row.
    pub(crate) fn step(&mut self) {
        if self.0.valid() {
            self.0.next();
        }
    }
}

impl<'a> Reader<'a> {
    /// Stands on the first row of a table.
    pub(crate) fn rows(&self, table: super::Table) -> Rows<'a> {
        let mut options = self.options();
        options.set_total_order_seek(true);
        // A walk over everything would push what readers use out of the cache.
        options.fill_cache(false);
        Rows::new(self.db.db.raw_iterator_cf_opt(self.db.handle(table), options))
    }
}
