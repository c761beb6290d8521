//! What a load that was cut off goes on from.
//!
//! Invariant: the manifest is replaced as a whole after everything that it names is on the disk.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use chain::Hash32;
use serde::{Deserialize, Serialize};

use super::coin::CoinName;
use super::file_error;
use crate::IndexError;
use crate::db::Table;
use crate::utxo::script_id::HashKey;
use crate::utxo::tip::Tip;

/// Name of the manifest in its folder.
pub(super) const NAME: &str = "manifest.json";
const VERSION: u32 = 3;

/// Items of one length in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileEntry {
    pub(super) name: String,
    pub(super) serial: u64,
    /// Bytes before the first of them: a file may have several parts.
    pub(super) at: u64,
    pub(super) items: u64,
    pub(super) crc: u32,
}

/// The state of a load at the end of a segment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Manifest {
    version: u32,
    /// Tells loads with different keys apart, without telling the key.
    key_check: u64,
    pub(super) next_height: u32,
    pub(super) next_txnum: u64,
    /// Hash of the last block.
    pub(super) last: Option<String>,
    /// Whether the block after it voids its regular tree.
    pub(super) last_voided: bool,
    /// A number that no file has yet.
    pub(super) next_file: u64,
    /// Files of the store's own form, by table.
    pub(super) tables: BTreeMap<usize, Vec<String>>,
    pub(super) txids: Vec<FileEntry>,
    /// Of each run its parts, one after the other.
    pub(super) events: Vec<FileEntry>,
    pub(super) hashes: Vec<FileEntry>,
    pub(super) ids: Vec<FileEntry>,
    pub(super) voided: Vec<FileEntry>,
    pub(super) spilled: Vec<FileEntry>,
    pub(super) table: Option<FileEntry>,
    /// Names of all coinbases.
    pub(super) coinbases: Vec<FileEntry>,
    /// Unspent outputs of transactions that may have an earlier twin.
    pub(super) twins: Vec<CoinName>,
    /// The tip, once all rows are in files of the store's own form.
    pub(super) tip: Option<(u32, String, u64)>,
}

impl Manifest {
    /// The manifest of a folder, or a fresh one. One of another key or version is left aside.
    pub(super) fn read(dir: &Path, key: &HashKey) -> Result<Manifest, IndexError> {
        let key_check = u64::from_be_bytes(*key.script_id(0, b"load").0.first_chunk().expect("10"));
        let fresh = Manifest { version: VERSION, key_check, ..Manifest::default() };
        let path = dir.join(NAME);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(fresh),
            Err(error) => return Err(file_error(&path, &error)),
        };
        let read = serde_json::from_slice::<Manifest>(&text).ok();
        let ours = |read: &Manifest| read.version == VERSION && read.key_check == key_check;
        Ok(read.filter(ours).unwrap_or(fresh))
    }

    pub(super) fn last_hash(&self) -> Option<Hash32> {
        self.last.as_ref().and_then(|hash| hash.parse().ok())
    }

    /// The tip of a load whose rows are complete.
    pub(super) fn finished_tip(&self) -> Result<Tip, IndexError> {
        let tip = self.tip.as_ref().and_then(|(height, hash, next_txnum)| {
            let hash = hash.parse().ok()?;
            Some(Tip { height: *height, hash, next_txnum: *next_txnum })
        });
        tip.ok_or_else(|| IndexError::damaged("the load's manifest has no tip"))
    }

    /// The files for each table that the store has not taken yet.
    pub(super) fn finished(&self, dir: &Path) -> Vec<(Table, Vec<PathBuf>)> {
        let files = |names: &Vec<String>| {
            names.iter().map(|name| dir.join(name)).filter(|path| path.exists()).collect()
        };
        self.tables.iter().map(|(table, names)| (Table(*table), files(names))).collect()
    }

    /// Bytes of the runs that are merged at the end.
    pub(super) fn run_bytes(&self, dir: &Path) -> u64 {
        let runs = [&self.txids, &self.events, &self.hashes, &self.ids, &self.spilled];
        let names: HashSet<&String> = runs.into_iter().flatten().map(|file| &file.name).collect();
        let bytes = |name| std::fs::metadata(dir.join(name)).map_or(0, |file| file.len());
        names.into_iter().map(bytes).sum()
    }

    /// Adds files of the store's own form.
    pub(super) fn add_tables(&mut self, made: BTreeMap<usize, Vec<String>>) {
        for (table, mut names) in made {
            self.tables.entry(table).or_default().append(&mut names);
        }
    }

    /// Forgets what the store's own files hold by now.
    pub(super) fn forget_runs(&mut self) {
        let lists = [&mut self.txids, &mut self.events, &mut self.hashes, &mut self.ids];
        lists.into_iter().for_each(Vec::clear);
        self.spilled.clear();
        self.voided.clear();
        self.coinbases.clear();
        self.twins.clear();
        self.table = None;
    }

    /// Puts the manifest in the place of the one before.
    pub(super) fn write(&self, dir: &Path) -> Result<(), IndexError> {
        let path = dir.join("manifest.new");
        let text = serde_json::to_vec(self).expect("a manifest is plain text");
        let write = || {
            let mut file = File::create(&path)?;
            file.write_all(&text)?;
            file.sync_all()?;
            std::fs::rename(&path, dir.join(NAME))?;
            File::open(dir)?.sync_all()
        };
        write().map_err(|error| file_error(&path, &error))
    }

    /// Removes the files that the manifest does not name: what a load left that was cut off.
    pub(super) fn clear_others(&self, dir: &Path) -> Result<(), IndexError> {
        let runs = [&self.txids, &self.events, &self.hashes, &self.ids, &self.spilled];
        let runs = runs.into_iter().chain([&self.coinbases, &self.voided]);
        let named = runs.flatten().chain(&self.table).map(|file| &file.name);
        let named: HashSet<&String> = named.chain(self.tables.values().flatten()).collect();
        let failed = |error| file_error(dir, &error);
        for entry in std::fs::read_dir(dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name != NAME && !named.contains(&name) {
                std::fs::remove_file(entry.path()).map_err(failed)?;
            }
        }
        Ok(())
    }
}
