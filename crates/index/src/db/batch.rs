//! A batch: changes of rows that are committed together.
//!
//! Invariant: of several changes of one row the last one counts.

use rocksdb::WriteBatch;

use super::{Db, Table};

/// Changes that are committed together.
pub struct Batch<'a> {
    db: &'a Db,
    batch: WriteBatch,
    #[cfg(debug_assertions)]
    changes: std::collections::BTreeMap<(Table, Vec<u8>), Option<Vec<u8>>>,
}

impl<'a> Batch<'a> {
    /// An empty batch.
    pub(crate) fn new(db: &'a Db) -> Batch<'a> {
        Batch {
            db,
            batch: WriteBatch::default(),
            #[cfg(debug_assertions)]
            changes: std::collections::BTreeMap::new(),
        }
    }

    /// Makes or replaces a row.
    pub(crate) fn put(&mut self, table: Table, key: &[u8], value: &[u8]) {
        self.batch.put_cf(self.db.handle(table), key, value);
        #[cfg(debug_assertions)]
        self.changes.insert((table, key.to_vec()), Some(value.to_vec()));
    }

    /// Removes a row.
    pub(crate) fn delete(&mut self, table: Table, key: &[u8]) {
        self.batch.delete_cf(self.db.handle(table), key);
        #[cfg(debug_assertions)]
        self.changes.insert((table, key.to_vec()), None);
    }

    /// The last change of each row.
    #[cfg(debug_assertions)]
    pub(super) fn last_changes(
        &self,
    ) -> &std::collections::BTreeMap<(Table, Vec<u8>), Option<Vec<u8>>> {
        &self.changes
    }

    pub(super) fn into_inner(self) -> WriteBatch {
        self.batch
    }
}
