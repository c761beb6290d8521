//! Sorted runs: items of one length, sorted in memory, written as files, read back merged.
//!
//! Invariant: a file that is shorter or other than what was written is an error.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use chain::Hash32;

use super::coins::sync;
use super::file_error;
use super::manifest::{FileEntry, Manifest};
use crate::IndexError;
use crate::utxo::schema::{hash_key, txid_key};
use crate::utxo::script_id::ScriptId;

/// Bytes of an event: script id, txnum u40, kind, value u64.
pub(super) const EVENT_BYTES: usize = 10 + 5 + 1 + 8;
const TXID_BYTES: usize = 11;
/// Bytes of a key of `height_by_hash` with its height.
pub(super) const HASH_BYTES: usize = 8 + 4;

/// What a transaction does to a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    Pay = 0,
    Spend = 1,
    /// It pays in the place of an earlier twin.
    Replace = 2,
}

/// One touch of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) script: ScriptId,
    pub(super) txnum: u64,
    pub(super) value: u64,
    pub(super) kind: EventKind,
}

impl Event {
    fn bytes(&self) -> [u8; EVENT_BYTES] {
        let mut out = [0; EVENT_BYTES];
        out[..10].copy_from_slice(&self.script.0);
        out[10..15].copy_from_slice(&self.txnum.to_be_bytes()[3..]);
        out[15] = self.kind as u8;
        out[16..].copy_from_slice(&self.value.to_be_bytes());
        out
    }

    pub(super) fn read(bytes: &[u8; EVENT_BYTES]) -> Event {
        let mut script = [0; 10];
        script.copy_from_slice(&bytes[..10]);
        let mut word = [0; 8];
        word[3..].copy_from_slice(&bytes[10..15]);
        let txnum = u64::from_be_bytes(word);
        word.copy_from_slice(&bytes[16..]);
        let kind = match bytes[15] {
            0 => EventKind::Pay,
            1 => EventKind::Spend,
            _ => EventKind::Replace,
        };
        Event { script: ScriptId(script), txnum, value: u64::from_be_bytes(word), kind }
    }
}

/// The runs of a load.
pub(super) struct Runs {
    txids: RunWriter<TXID_BYTES>,
    events: RunWriter<EVENT_BYTES>,
    /// Keys of `height_by_hash` with the heights.
    hashes: RunWriter<HASH_BYTES>,
    /// Every txid, in block order.
    ids: Option<RunWriter<32>>,
    dir: PathBuf,
}

impl Runs {
    pub(super) fn new(dir: &Path, run_bytes: usize, manifest: &Manifest) -> Runs {
        Runs {
            txids: RunWriter::new(dir, "txids", run_bytes / 2, manifest.next_file),
            events: RunWriter::new(dir, "events", run_bytes, manifest.next_file),
            hashes: RunWriter::new(dir, "hashes", run_bytes / 2, manifest.next_file),
            ids: None,
            dir: dir.to_owned(),
        }
    }

    pub(super) fn hash(&mut self, hash: &Hash32, height: u32) -> Result<(), IndexError> {
        let mut item = [0; HASH_BYTES];
        item[..8].copy_from_slice(&hash_key(hash));
        item[8..].copy_from_slice(&height.to_be_bytes());
        self.hashes.push(item)
    }

    pub(super) fn event(&mut self, event: Event) -> Result<(), IndexError> {
        self.events.push(event.bytes())
    }

    pub(super) fn txid(&mut self, txid: &Hash32, txnum: u64) -> Result<(), IndexError> {
        let mut ids = match self.ids.take() {
            Some(ids) => ids,
            None => RunWriter::unsorted(&self.dir, "ids", self.txids.serial)?,
        };
        ids.push(*txid.wire())?;
        self.ids = Some(ids);
        self.txids.push(txid_key(txid, txnum))
    }

    /// Ends the runs of a segment.
    pub(super) fn close(&mut self, manifest: &mut Manifest) -> Result<(), IndexError> {
        manifest.txids.extend(self.txids.finish()?);
        manifest.events.extend(self.events.finish()?);
        manifest.hashes.extend(self.hashes.finish()?);
        if let Some(mut ids) = self.ids.take() {
            manifest.ids.extend(ids.finish()?);
        }
        let serials = [self.txids.serial, self.events.serial, self.hashes.serial];
        manifest.next_file = serials.into_iter().max().unwrap_or_default() + 1;
        for serial in [&mut self.txids.serial, &mut self.events.serial, &mut self.hashes.serial] {
            *serial = manifest.next_file;
        }
        Ok(())
    }
}

/// Writes runs of items, each sorted on a thread of its own while the next one fills.
pub(super) struct RunWriter<const N: usize> {
    dir: PathBuf,
    kind: &'static str,
    most: usize,
    pub(super) serial: u64,
    items: Vec<[u8; N]>,
    writing: Vec<std::thread::JoinHandle<Result<FileEntry, IndexError>>>,
    /// Items that come sorted, or need no order, go straight into a file.
    straight: Option<Straight>,
}

struct Straight {
    file: BufWriter<File>,
    path: PathBuf,
    entry: FileEntry,
    crc: crc32fast::Hasher,
}

impl<const N: usize> RunWriter<N> {
    /// Runs of at most so many bytes.
    pub(super) fn new(dir: &Path, kind: &'static str, bytes: usize, serial: u64) -> RunWriter<N> {
        RunWriter {
            dir: dir.to_owned(),
            kind,
            most: (bytes / N).max(1),
            serial,
            items: Vec::new(),
            writing: Vec::new(),
            straight: None,
        }
    }

    /// One file, in the order in which items come.
    pub(super) fn unsorted(
        dir: &Path,
        kind: &'static str,
        serial: u64,
    ) -> Result<RunWriter<N>, IndexError> {
        let mut writer = RunWriter::new(dir, kind, usize::MAX, serial);
        writer.straight = Some(Straight::create(dir, kind, serial)?);
        Ok(writer)
    }

    pub(super) fn push(&mut self, item: [u8; N]) -> Result<(), IndexError> {
        if let Some(straight) = &mut self.straight {
            return straight.push(&item);
        }
        self.items.push(item);
        if self.items.len() >= self.most { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), IndexError> {
        if self.items.is_empty() {
            return Ok(());
        }
        // At most one run is sorted beside the one that fills, so that memory stays bounded.
        let earlier = self.writing.len().saturating_sub(1);
        if let Some(writing) = self.writing.get(earlier) {
            while !writing.is_finished() {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
        let mut items = std::mem::take(&mut self.items);
        let (dir, kind, serial) = (self.dir.clone(), self.kind, self.serial);
        self.serial += 1;
        self.writing.push(std::thread::spawn(move || {
            items.sort_unstable();
            let mut straight = Straight::create(&dir, kind, serial)?;
            items.iter().try_for_each(|item| straight.push(item))?;
            straight.finish()
        }));
        Ok(())
    }

    /// Ends all runs; what they are named follows from their numbers.
    pub(super) fn finish(&mut self) -> Result<Vec<FileEntry>, IndexError> {
        if let Some(straight) = self.straight.take() {
            return Ok(vec![straight.finish()?]);
        }
        self.flush()?;
        let mut files = Vec::new();
        for writing in self.writing.drain(..) {
            let written = writing.join();
            files.push(written.map_err(|_| IndexError::damaged("sorting was cut off"))??);
        }
        Ok(files)
    }
}

impl Straight {
    fn create(dir: &Path, kind: &str, serial: u64) -> Result<Straight, IndexError> {
        let name = format!("{kind}-{serial}.run");
        let path = dir.join(&name);
        let file = File::create(&path).map_err(|error| file_error(&path, &error))?;
        let entry = FileEntry { name, serial, items: 0, crc: 0 };
        let file = BufWriter::with_capacity(1 << 20, file);
        Ok(Straight { file, path, entry, crc: crc32fast::Hasher::new() })
    }

    fn push(&mut self, item: &[u8]) -> Result<(), IndexError> {
        self.entry.items += 1;
        self.crc.update(item);
        self.file.write_all(item).map_err(|error| file_error(&self.path, &error))
    }

    fn finish(self) -> Result<FileEntry, IndexError> {
        let Straight { file, path, mut entry, crc } = self;
        let file = file.into_inner().map_err(|error| file_error(&path, error.error()))?;
        sync(&file, &path)?;
        entry.crc = crc.finalize();
        Ok(entry)
    }
}

/// Reads a run from its first item to its last.
pub(super) struct RunReader<const N: usize> {
    file: BufReader<File>,
    path: PathBuf,
    left: u64,
    wanted: u32,
    crc: crc32fast::Hasher,
}

impl<const N: usize> RunReader<N> {
    pub(super) fn open(dir: &Path, entry: &FileEntry) -> Result<RunReader<N>, IndexError> {
        let path = dir.join(&entry.name);
        let file = File::open(&path).map_err(|error| file_error(&path, &error))?;
        let file = BufReader::with_capacity(256 << 10, file);
        let crc = crc32fast::Hasher::new();
        Ok(RunReader { file, path, left: entry.items, wanted: entry.crc, crc })
    }

    pub(super) fn next(&mut self) -> Result<Option<[u8; N]>, IndexError> {
        if self.left == 0 {
            return Ok(None);
        }
        let mut item = [0; N];
        self.file.read_exact(&mut item).map_err(|error| file_error(&self.path, &error))?;
        self.left -= 1;
        self.crc.update(&item);
        if self.left == 0 && self.crc.clone().finalize() != self.wanted {
            let problem = "a file of the load is not what was written".into();
            return Err(IndexError::File { path: self.path.clone(), problem });
        }
        Ok(Some(item))
    }
}

/// Items of several runs in one order.
pub(super) struct Merged<const N: usize> {
    runs: Vec<RunReader<N>>,
    heap: BinaryHeap<Reverse<([u8; N], usize)>>,
}

/// Merges runs.
pub(super) fn merge_keys<const N: usize>(
    dir: &Path,
    files: &[FileEntry],
) -> Result<Merged<N>, IndexError> {
    let mut runs = Vec::with_capacity(files.len());
    let mut heap = BinaryHeap::with_capacity(files.len());
    for (place, file) in files.iter().enumerate() {
        let mut run = RunReader::open(dir, file)?;
        heap.extend(run.next()?.map(|item| Reverse((item, place))));
        runs.push(run);
    }
    Ok(Merged { runs, heap })
}

impl<const N: usize> Merged<N> {
    pub(super) fn next(&mut self) -> Result<Option<[u8; N]>, IndexError> {
        let Some(mut top) = self.heap.peek_mut() else { return Ok(None) };
        let Reverse((item, place)) = *top;
        match self.runs[place].next()? {
            // Replacing the top keeps the heap's shape; the guard sifts it down.
            Some(next) => *top = Reverse((next, place)),
            None => {
                std::collections::binary_heap::PeekMut::pop(top);
            }
        }
        Ok(Some(item))
    }
}
