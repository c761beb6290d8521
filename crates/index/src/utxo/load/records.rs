//! Rows that come in key order: records and block rows go straight into files of the store's form.
//!
//! They are encoded and written on a thread of their own. From a record with an unknown output on,
//! records wait in a file of drafts until the end of the segment. Invariant: records reach the
//! store's files in the order of their txnums.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::folder::Folder;
use super::folder::file_error;
use super::manifest::Manifest;
use super::prepared::{Prepared, PreparedTx};
use super::table_files::TableFiles;
use crate::IndexError;
use crate::db::{Db, Table};
use crate::row::u40;
use crate::utxo::record::row::put_row;
use crate::utxo::record::{InputRecord, TransactionRecord};
use crate::utxo::schema::{HEADER_BY_HEIGHT, TX_BY_NUM, VOIDED_BY_HEIGHT, voided_key};

/// Blocks that may wait for the thread.
const WAITING: usize = 16;

/// A block that was joined.
pub(super) struct Joined {
    pub(super) block: Prepared,
    /// Of each input the place of the previous transaction; its own where that is not known yet,
    /// for none can spend itself.
    pub(super) previous: Vec<u64>,
    /// Of each transaction its inputs less its outputs, without what is not known yet, where its
    /// kind counts that; and whether there is what is not known.
    pub(super) values: Vec<(Option<i128>, bool)>,
    /// Transactions by their place in the block whose outputs replaced others.
    pub(super) replaced: Vec<(usize, Vec<u32>)>,
}

/// Where records go.
pub(super) struct Records(State);

enum State {
    /// No thread runs.
    Idle(Box<Writer>),
    /// A thread takes blocks.
    Busy(SyncSender<Joined>, JoinHandle<Result<Box<Writer>, IndexError>>),
    /// Writing failed, and was told.
    Failed,
}

impl Records {
    pub(super) fn new(db: &Arc<Db>, dir: &Folder, manifest: &Manifest) -> Records {
        let files = |table: Table| {
            let serial = manifest.tables.get(&table.0).map_or(0, Vec::len) as u64;
            TableFiles::new(db, dir, table, serial)
        };
        Records(State::Idle(Box::new(Writer {
            dir: dir.to_owned(),
            rows: files(TX_BY_NUM),
            blocks: files(HEADER_BY_HEIGHT),
            voided: files(VOIDED_BY_HEIGHT),
            drafts: None,
            row: Vec::new(),
        })))
    }

    /// Hands a block to the thread.
    pub(super) fn put(&mut self, block: Joined) -> Result<(), IndexError> {
        self.0 = match std::mem::replace(&mut self.0, State::Failed) {
            State::Idle(writer) => {
                let (sender, receiver) = sync_channel(WAITING);
                let thread = std::thread::spawn(move || writer.run(&receiver));
                State::Busy(sender, thread)
            }
            other => other,
        };
        match &self.0 {
            State::Busy(sender, _) if sender.send(block).is_ok() => Ok(()),
            // The thread only ends early over an error, which is told here.
            _ => self.writer().map(drop),
        }
    }

    /// Waits until everything is written.
    pub(super) fn writer(&mut self) -> Result<&mut Writer, IndexError> {
        self.0 = match std::mem::replace(&mut self.0, State::Failed) {
            State::Busy(sender, thread) => {
                drop(sender);
                let ended =
                    thread.join().map_err(|_| IndexError::damaged("writing was cut off"))?;
                State::Idle(ended?)
            }
            other => other,
        };
        match &mut self.0 {
            State::Idle(writer) => Ok(writer),
            _ => Err(IndexError::damaged("writing failed before")),
        }
    }
}

impl Drop for Records {
    /// Nobody writes into the folder once a load is dropped.
    fn drop(&mut self) {
        let _ = self.writer();
    }
}

/// Writes blocks and records.
pub(super) struct Writer {
    dir: Folder,
    rows: TableFiles,
    blocks: TableFiles,
    voided: TableFiles,
    drafts: Option<Drafts>,
    /// The row that is being written.
    row: Vec<u8>,
}

struct Drafts {
    file: BufWriter<File>,
    path: PathBuf,
    count: u64,
}

impl Writer {
    fn run(mut self: Box<Writer>, blocks: &Receiver<Joined>) -> Result<Box<Writer>, IndexError> {
        while let Ok(block) = blocks.recv() {
            self.put(&block)?;
        }
        Ok(self)
    }

    fn put(&mut self, block: &Joined) -> Result<(), IndexError> {
        let row = &block.block.row;
        self.blocks.put(&row.height.to_be_bytes(), &row.bytes())?;
        let mut previous = block.previous.iter();
        let mut replaced = block.replaced.iter().peekable();
        let transactions = block.block.transactions().zip(&block.values);
        for ((place, (transaction, (value, waits))), txnum) in
            transactions.enumerate().zip(row.first_txnum..)
        {
            let replaced = replaced.next_if(|(at, _)| *at == place);
            let replaced = replaced.map_or(&[][..], |(_, vouts)| vouts);
            write_row(&mut self.row, &transaction, txnum, *value, &mut previous, replaced);
            if let (true, Some(position)) = (row.voided, txnum.checked_sub(row.regular_txnum())) {
                let key = voided_key(row.height, position as u32);
                self.voided.put(&key, &self.row)?;
                continue;
            }
            if *waits && self.drafts.is_none() {
                self.drafts = Some(Drafts::create(&self.dir)?);
            }
            match &mut self.drafts {
                None => self.rows.put(&u40(txnum), &self.row)?,
                Some(drafts) => drafts.put(txnum, &self.row)?,
            }
        }
        Ok(())
    }

    /// Gives each draft to `complete`, and puts what comes back into the store's files.
    pub(super) fn settle(
        &mut self,
        mut complete: impl FnMut(u64, &mut TransactionRecord) -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        let Some(drafts) = self.drafts.take() else { return Ok(()) };
        let Drafts { file, path, count } = drafts;
        let failed = |error: std::io::Error| file_error(&path, &error);
        drop(file.into_inner().map_err(|error| file_error(&path, error.error()))?);
        let mut reader = BufReader::with_capacity(1 << 20, File::open(&path).map_err(failed)?);
        let mut row = Vec::new();
        for _ in 0..count {
            let mut head = [0; 12];
            reader.read_exact(&mut head).map_err(failed)?;
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
        self.blocks.close(manifest)?;
        self.voided.close(manifest)
    }
}

/// Puts the parts of a record together.
fn write_row<'a>(
    row: &mut Vec<u8>,
    transaction: &PreparedTx<'_>,
    txnum: u64,
    value: Option<i128>,
    previous: &mut impl Iterator<Item = &'a u64>,
    replaced: &[u32],
) {
    row.clear();
    let inputs = transaction.spent.iter().map(|spent| {
        // There is one for each input.
        let txnum = previous.next().copied().unwrap_or(txnum);
        InputRecord { txnum, vout: spent.vout, sequence: spent.sequence }
    });
    put_row(row, txnum, &transaction.parts, value, inputs, replaced);
}

impl Drafts {
    fn create(dir: &Folder) -> Result<Drafts, IndexError> {
        dir.check_room(0)?;
        let path = dir.join("drafts.tmp");
        let file = File::create(&path).map_err(|error| file_error(&path, &error))?;
        Ok(Drafts { file: BufWriter::with_capacity(1 << 20, file), path, count: 0 })
    }

    fn put(&mut self, txnum: u64, row: &[u8]) -> Result<(), IndexError> {
        self.count += 1;
        let head = [&txnum.to_be_bytes()[..], &(row.len() as u32).to_be_bytes()].concat();
        let write = self.file.write_all(&head).and_then(|()| self.file.write_all(row));
        write.map_err(|error| file_error(&self.path, &error))
    }
}
