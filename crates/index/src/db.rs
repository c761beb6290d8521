//! The store under an index: tables with ordered keys, one atomic batch over all of them,
//! snapshots, sorted files that are taken in whole. The only file that knows RocksDB.
//!
//! Leaves the meaning of rows to the schemas. Invariants: a committed batch is on the disk, whole
//! or not at all; a snapshot never sees a later batch. A debug build keeps a sum over all rows, so
//! that taking a change back can be proved.

mod batch;
mod options;
mod reader;
mod rows;
mod sorted;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rocksdb::checkpoint::Checkpoint;
use rocksdb::{ColumnFamily, ColumnFamilyDescriptor, DB, ErrorKind};
use self_cell::self_cell;

use crate::{IndexError, ReadError, Tier};

pub(crate) use batch::Batch;
pub use options::Memory;
use reader::{Held, Ways};
pub(crate) use reader::{Reader, Row};
pub(crate) use rows::Rows;
pub(crate) use sorted::SortedFile;

/// What the store must know of a table.
pub struct TableSpec {
    /// Its name, as in the schema.
    pub(crate) name: &'static str,
    /// Scans stay within keys that share this many first bytes; 0: there are none such.
    pub(crate) prefix: usize,
    /// Rows are mostly asked for by the whole key, also such as are not there.
    pub(crate) by_key: bool,
    /// Rows are deleted from the front of what is scanned.
    pub(crate) queue: bool,
    /// Rows are hashes and numbers for the most part, which no compression makes smaller.
    pub(crate) dense: bool,
}

/// A table, by its place in the list the store was opened with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Table(pub(crate) usize);

/// An open store.
pub struct Db {
    db: DB,
    specs: &'static [TableSpec],
    dir: PathBuf,
    memory: Memory,
    latest: Ways,
    #[cfg(debug_assertions)]
    sum: std::sync::Mutex<u128>,
}

impl Db {
    /// Opens the store in `dir`, or makes it.
    pub(crate) fn open(
        dir: &Path,
        specs: &'static [TableSpec],
        memory: &Memory,
    ) -> Result<Db, IndexError> {
        let tables = specs
            .iter()
            .map(|spec| ColumnFamilyDescriptor::new(spec.name, options::of_table(spec, memory)));
        let db = DB::open_cf_descriptors(&options::of_store(memory), dir, tables)
            .map_err(|error| not_opened(dir, &error))?;
        Ok(Db {
            db,
            specs,
            dir: dir.to_owned(),
            memory: memory.clone(),
            latest: Ways::new(None),
            #[cfg(debug_assertions)]
            sum: std::sync::Mutex::new(0),
        })
    }

    /// Opens a store for reading as it is now; another process may have it open and go on.
    pub(crate) fn open_read_only(
        dir: &Path,
        specs: &'static [TableSpec],
        memory: &Memory,
    ) -> Result<Db, IndexError> {
        let tables = || {
            specs
                .iter()
                .map(|spec| ColumnFamilyDescriptor::new(spec.name, options::of_table(spec, memory)))
        };
        let mut store = options::of_store(memory);
        store.create_if_missing(false);
        store.create_missing_column_families(false);
        // All files are opened at once, before the other process replaces any.
        store.set_max_open_files(-1);
        let mut tried = 0;
        let db = loop {
            match DB::open_cf_descriptors_read_only(&store, dir, tables(), false) {
                Ok(db) => break db,
                // A file may be replaced between its listing and its opening.
                Err(error) if tried == 5 => return Err(not_opened(dir, &error)),
                Err(_) => tried += 1,
            }
            std::thread::sleep(std::time::Duration::from_millis(200));
        };
        Ok(Db {
            db,
            specs,
            dir: dir.to_owned(),
            memory: memory.clone(),
            latest: Ways::new(None),
            #[cfg(debug_assertions)]
            sum: std::sync::Mutex::new(0),
        })
    }

    /// Whether a store in `dir` has all tables; also true where there is no store yet.
    pub(crate) fn has_tables(dir: &Path, specs: &[TableSpec]) -> bool {
        let options = rocksdb::Options::default();
        // What cannot be listed cannot be opened either, which says why.
        let Ok(names) = DB::list_cf(&options, dir) else { return true };
        specs.iter().all(|spec| names.iter().any(|name| name == spec.name))
    }

    /// The folder.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The tables.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (Table, &'static str)> + use<> {
        self.specs.iter().enumerate().map(|(place, spec)| (Table(place), spec.name))
    }

    fn spec(&self, table: Table) -> &'static TableSpec {
        &self.specs[table.0]
    }

    fn handle(&self, table: Table) -> &ColumnFamily {
        self.db.cf_handle(self.spec(table).name).expect("every table is opened with the store")
    }

    /// Reads what is committed.
    pub(crate) fn latest(&self) -> Reader<'_> {
        Reader::new(self, None, &self.latest, Tier::Any)
    }

    /// Holds what is committed now.
    pub(crate) fn snapshot(self: &Arc<Db>) -> Snapshot {
        Snapshot::new(Arc::clone(self), |db| Held::of(&db.db))
    }

    /// Puts a batch on the disk, whole or not at all.
    pub(crate) fn commit(&self, batch: Batch<'_>) -> Result<(), IndexError> {
        #[cfg(debug_assertions)]
        self.fold(&batch)?;
        let mut options = rocksdb::WriteOptions::default();
        options.set_sync(true);
        Ok(self.db.write_opt(batch.into_inner(), &options).map_err(read_error)?)
    }

    /// The sum over all rows, counted from the store's opening; the same sum means the same rows.
    /// None in a release, which does not count.
    pub(crate) fn sum(&self) -> Option<u128> {
        #[cfg(debug_assertions)]
        return Some(*self.sum.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        #[cfg(not(debug_assertions))]
        None
    }

    #[cfg(debug_assertions)]
    fn fold(&self, batch: &Batch<'_>) -> Result<(), IndexError> {
        let mut sum = self.sum().unwrap_or_default();
        for ((table, key), value) in batch.last_changes() {
            if let Some(old) = self.latest().get(*table, key)? {
                sum = sum.wrapping_sub(row_sum(*table, key, &old));
            }
            if let Some(new) = value {
                sum = sum.wrapping_add(row_sum(*table, key, new));
            }
        }
        *self.sum.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = sum;
        Ok(())
    }

    /// Starts a file of rows in key order for `table`.
    pub(crate) fn sorted_file(&self, table: Table, path: &Path) -> Result<SortedFile, IndexError> {
        SortedFile::create(options::of_table(self.spec(table), &self.memory), path)
    }

    /// Takes whole files of rows into a table: all of them or none.
    pub(crate) fn ingest(&self, table: Table, files: Vec<PathBuf>) -> Result<(), IndexError> {
        if files.is_empty() {
            return Ok(());
        }
        let mut options = rocksdb::IngestExternalFileOptions::default();
        options.set_move_files(true);
        let handle = self.handle(table);
        Ok(self.db.ingest_external_file_cf_opts(handle, &options, files).map_err(read_error)?)
    }

    /// A copy of the store in a new folder, with hard links where both are on one disk.
    pub(crate) fn checkpoint(&self, dir: &Path) -> Result<(), IndexError> {
        let failed = |problem: String| IndexError::File { path: dir.to_owned(), problem };
        if dir.exists() {
            return Err(failed("there is something already; a copy takes a new folder".into()));
        }
        if let Some(parent) = dir.parent() {
            std::fs::create_dir_all(parent).map_err(|error| failed(error.to_string()))?;
        }
        let checkpoint = Checkpoint::new(&self.db).map_err(read_error)?;
        checkpoint.create_checkpoint(dir).map_err(|error| failed(error.into_string()))
    }

    /// Bytes on disk and estimated number of rows, by table.
    pub(crate) fn sizes(&self) -> Vec<(&'static str, u64, u64)> {
        let size = |(table, name)| {
            let ask = |property| self.db.property_int_value_cf(self.handle(table), property);
            let ask = |property| ask(property).ok().flatten().unwrap_or(0);
            (name, ask("rocksdb.live-sst-files-size"), ask("rocksdb.estimate-num-keys"))
        };
        self.tables().map(size).collect()
    }
}

self_cell! {
    /// A store as it was at one moment.
    pub(crate) struct Snapshot {
        owner: Arc<Db>,

        #[covariant]
        dependent: Held,
    }
}

impl Snapshot {
    /// Reads the store as it was.
    pub(crate) fn reader(&self, tier: Tier) -> Reader<'_> {
        self.borrow_dependent().reader(self.borrow_owner(), tier)
    }
}

#[cfg(debug_assertions)]
fn row_sum(table: Table, key: &[u8], value: &[u8]) -> u128 {
    use std::hash::Hasher;

    use siphasher::sip128::{Hasher128, SipHasher24};

    let mut hasher = SipHasher24::new();
    hasher.write_usize(table.0);
    hasher.write_usize(key.len());
    hasher.write(key);
    hasher.write(value);
    hasher.finish128().as_u128()
}

/// What an error of the engine means to a reader.
fn read_error(error: rocksdb::Error) -> ReadError {
    match error.kind() {
        ErrorKind::Incomplete => ReadError::Cold,
        ErrorKind::IOError => ReadError::Failed(error.into_string()),
        _ => ReadError::Damaged(error.into_string()),
    }
}

fn not_opened(dir: &Path, error: &rocksdb::Error) -> IndexError {
    let problem = error.to_string();
    match error.kind() {
        ErrorKind::IOError if is_held(dir, &problem) => IndexError::InUse { dir: dir.to_owned() },
        ErrorKind::Corruption => IndexError::damaged(format!("{}: {problem}", dir.display())),
        _ => IndexError::File { path: dir.to_owned(), problem },
    }
}

/// Whether the engine says that somebody has the store open, in its own words (`LockFile` and
/// `LockHelper` of its `env/fs_posix.cc`): another process, or this one. Other troubles with that
/// file, and words such as "block", are something else.
fn is_held(dir: &Path, problem: &str) -> bool {
    let lock = dir.join("LOCK");
    let elsewhere =
        format!("IO error: While lock file: {}: Resource temporarily unavailable", lock.display());
    let here = problem.starts_with("IO error: lock hold by current process, ")
        && problem.ends_with(&format!(": {}: No locks available", lock.display()));
    here || problem == elsewhere
}

#[cfg(test)]
mod tests;
