//! Files of the store's own form for one table, one after the other.
//!
//! Invariant: a file is named in the manifest once it is complete.

use std::sync::Arc;

use super::folder::Folder;
use super::manifest::Manifest;
use crate::IndexError;
use crate::db::{Db, SortedFile, Table};

/// A file of the store's form is ended at this size.
const FILE_BYTES: u64 = 256 << 20;

/// Files of the store's form for one table, one after the other.
pub(super) struct TableFiles {
    db: Arc<Db>,
    dir: Folder,
    table: Table,
    serial: u64,
    open: Option<SortedFile>,
    done: Vec<String>,
    rows: u32,
}

impl TableFiles {
    pub(super) fn new(db: &Arc<Db>, dir: &Folder, table: Table, serial: u64) -> TableFiles {
        let (db, dir) = (Arc::clone(db), dir.to_owned());
        TableFiles { db, dir, table, serial, open: None, done: Vec::new(), rows: 0 }
    }

    pub(super) fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), IndexError> {
        let file = match &mut self.open {
            Some(file) => file,
            None => {
                self.dir.check_room(0)?;
                self.serial += 1;
                let path = self.dir.join(self.name());
                self.open.insert(self.db.sorted_file(self.table, &path)?)
            }
        };
        file.put(key, value)?;
        self.rows = self.rows.wrapping_add(1);
        let full = self.rows.is_multiple_of(4096) && file.bytes() >= FILE_BYTES;
        if full { self.end() } else { Ok(()) }
    }

    fn name(&self) -> String {
        format!("table{}-{}.sst", self.table.0, self.serial)
    }

    fn end(&mut self) -> Result<(), IndexError> {
        let Some(file) = self.open.take() else { return Ok(()) };
        if file.finish()?.is_some() {
            self.done.push(self.name());
        }
        Ok(())
    }

    /// Ends the open file and names all that are complete in the manifest.
    pub(super) fn close(&mut self, manifest: &mut Manifest) -> Result<(), IndexError> {
        self.end()?;
        manifest.tables.entry(self.table.0).or_default().append(&mut self.done);
        Ok(())
    }
}
