//! Rows that come in key order: records and block rows go straight into files of the store's form.
//!
//! From a record with an unknown output on, records wait in a file of drafts until the end of the
//! segment. Invariant: records reach the store's files in the order of their txnums.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file_error;
use super::manifest::Manifest;
use crate::IndexError;
use crate::db::{Db, SortedFile, Table};
use crate::row::u40;
use crate::utxo::block_row::BlockRow;
use crate::utxo::record::TransactionRecord;
use crate::utxo::schema::TX_BY_NUM;

/// A file of the store's form is ended at this size.
const FILE_BYTES: u64 = 256 << 20;

/// Files of the store's form for one table, one after the other.
pub(super) struct TableFiles {
    db: Arc<Db>,
    dir: PathBuf,
    table: Table,
    serial: u64,
    open: Option<SortedFile>,
    done: Vec<String>,
    rows: u32,
}

impl TableFiles {
    pub(super) fn new(db: &Arc<Db>, dir: &Path, table: Table, serial: u64) -> TableFiles {
        let (db, dir) = (Arc::clone(db), dir.to_owned());
        TableFiles { db, dir, table, serial, open: None, done: Vec::new(), rows: 0 }
    }

    pub(super) fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), IndexError> {
        let mut file = match self.open.take() {
            Some(file) => file,
            None => {
                self.serial += 1;
                let path = self.dir.join(self.name());
                self.db.sorted_file(self.table, &path)?
            }
        };
        file.put(key, value)?;
        self.rows = self.rows.wrapping_add(1);
        let full = self.rows.is_multiple_of(4096) && file.bytes() >= FILE_BYTES;
        self.open = Some(file);
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

/// Where records go.
pub(super) struct Records {
    dir: PathBuf,
    rows: TableFiles,
    blocks: TableFiles,
    drafts: Option<Drafts>,
}

struct Drafts {
    file: BufWriter<File>,
    path: PathBuf,
}

impl Records {
    pub(super) fn new(db: Arc<Db>, dir: &Path, manifest: &Manifest) -> Records {
        let serial = |table: Table| manifest.tables.get(&table.0).map_or(0, Vec::len) as u64;
        let header = crate::utxo::schema::HEADER_BY_HEIGHT;
        Records {
            dir: dir.to_owned(),
            rows: TableFiles::new(&db, dir, TX_BY_NUM, serial(TX_BY_NUM)),
            blocks: TableFiles::new(&db, dir, header, serial(header)),
            drafts: None,
        }
    }

    pub(super) fn put_block(&mut self, row: &BlockRow) -> Result<(), IndexError> {
        self.blocks.put(&row.height.to_be_bytes(), &row.bytes())
    }

    /// Puts a record into the store's files, or among the drafts if others wait.
    pub(super) fn put(&mut self, txnum: u64, record: &TransactionRecord) -> Result<(), IndexError> {
        let bytes = record.bytes(txnum);
        match &mut self.drafts {
            None => self.rows.put(&u40(txnum), &bytes),
            Some(drafts) => drafts.put(txnum, &bytes),
        }
    }

    /// From now on records wait.
    pub(super) fn wait(&mut self) -> Result<(), IndexError> {
        if self.drafts.is_none() {
            let path = self.dir.join("drafts.tmp");
            let file = File::create(&path).map_err(|error| file_error(&path, &error))?;
            let file = BufWriter::with_capacity(1 << 20, file);
            self.drafts = Some(Drafts { file, path });
        }
        Ok(())
    }

    /// Gives each draft to `complete`, and puts what comes back into the store's files.
    pub(super) fn settle(
        &mut self,
        mut complete: impl FnMut(u64, &mut TransactionRecord) -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        let Some(drafts) = self.drafts.take() else { return Ok(()) };
        let Drafts { file, path } = drafts;
        let failed = |error: std::io::Error| file_error(&path, &error);
        drop(file.into_inner().map_err(|error| file_error(&path, error.error()))?);
        let mut reader = BufReader::with_capacity(1 << 20, File::open(&path).map_err(failed)?);
        let mut head = [0; 12];
        let mut row = Vec::new();
        loop {
            match reader.read_exact(&mut head) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(failed(error)),
            }
            let [a, b, c, d, e, f, g, h, length @ ..] = head;
            let txnum = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
            row.resize(u32::from_be_bytes(length) as usize, 0);
            reader.read_exact(&mut row).map_err(failed)?;
            let record = TransactionRecord::read(txnum, &row);
            let mut record = record.map_err(|bad| bad.of("the drafts of a load"))?;
            complete(txnum, &mut record)?;
            self.rows.put(&u40(txnum), &record.bytes(txnum))?;
        }
        std::fs::remove_file(&path).map_err(failed)
    }

    pub(super) fn close(&mut self, manifest: &mut Manifest) -> Result<(), IndexError> {
        self.rows.close(manifest)?;
        self.blocks.close(manifest)
    }
}

impl Drafts {
    fn put(&mut self, txnum: u64, row: &[u8]) -> Result<(), IndexError> {
        let head = [&txnum.to_be_bytes()[..], &(row.len() as u32).to_be_bytes()].concat();
        let write = self.file.write_all(&head).and_then(|()| self.file.write_all(row));
        write.map_err(|error| file_error(&self.path, &error))
    }
}
