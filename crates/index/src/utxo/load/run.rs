//! Sorted runs: items of one length, sorted in memory, written as files, read back merged.
//!
//! Invariant: a file that is shorter or other than what was written is an error.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use super::file_error;
use super::manifest::FileEntry;
use crate::IndexError;

/// Bytes that are written and read at once, about.
const PIECE: usize = 256 << 10;

/// The first bytes of an item as a number of the same order, which compares faster than bytes.
fn leading<const N: usize>(item: &[u8; N]) -> u128 {
    let mut word = [0; 16];
    let taken = N.min(16);
    word[..taken].copy_from_slice(&item[..taken]);
    u128::from_be_bytes(word)
}

/// Sorts by the first byte, in place, and then what shares it, by the second: items begin with
/// hashes for the most part, so that few are left to compare.
fn sort<const N: usize>(items: &mut [[u8; N]]) {
    sort_from(items, 0);
}

fn sort_from<const N: usize>(items: &mut [[u8; N]], byte: usize) {
    const FEW: usize = 1 << 9;
    if items.len() < FEW || byte >= 2.min(N) {
        return sort_all(items);
    }
    let digit = |item: &[u8; N]| usize::from(item[byte]);
    let mut ends = [0; 256];
    items.iter().for_each(|item| ends[digit(item)] += 1);
    let (mut places, mut end) = ([0; 256], 0);
    for (place, count) in places.iter_mut().zip(&mut ends) {
        *place = end;
        end += *count;
        *count = end;
    }
    for part in 0..256 {
        while places[part] < ends[part] {
            let place = places[part];
            let target = digit(&items[place]);
            items.swap(place, places[target]);
            places[target] += 1;
        }
    }
    let mut start = 0;
    for end in ends {
        sort_from(&mut items[start..end], byte + 1);
        start = end;
    }
}

fn sort_all<const N: usize>(items: &mut [[u8; N]]) {
    if N <= 16 {
        items.sort_unstable_by_key(leading);
    } else {
        items.sort_unstable_by(|a, b| leading(a).cmp(&leading(b)).then_with(|| a.cmp(b)));
    }
}

/// Bytes of the first runs; a later one has an eighth of all before it, if that is more, so that a
/// short load takes little memory and a long one few files.
const FIRST_RUN: usize = 8 << 20;

/// Writes runs of items, each sorted on a thread of its own while the next one fills.
pub(super) struct RunWriter<const N: usize> {
    dir: PathBuf,
    kind: &'static str,
    most: usize,
    /// Items of the run that fills, when it is full.
    full: usize,
    written: usize,
    pub(super) serial: u64,
    items: Vec<[u8; N]>,
    writing: Option<JoinHandle<Result<Written<N>, IndexError>>>,
    /// The memory of the run that was written last.
    spare: Vec<[u8; N]>,
    done: Vec<FileEntry>,
}

/// A run that was written, and the memory that it stood in.
struct Written<const N: usize> {
    file: FileEntry,
    items: Vec<[u8; N]>,
}

impl<const N: usize> RunWriter<N> {
    /// Runs of at most so many bytes.
    pub(super) fn new(dir: &Path, kind: &'static str, bytes: usize, serial: u64) -> RunWriter<N> {
        RunWriter {
            dir: dir.to_owned(),
            kind,
            most: (bytes / N).max(1),
            full: (bytes.min(FIRST_RUN) / N).max(1),
            written: 0,
            serial,
            items: Vec::new(),
            writing: None,
            spare: Vec::new(),
            done: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, item: [u8; N]) -> Result<(), IndexError> {
        self.push_with(|place| *place = item)
    }

    /// Writes an item where it stands.
    pub(super) fn push_with(&mut self, write: impl FnOnce(&mut [u8; N])) -> Result<(), IndexError> {
        if self.items.capacity() == 0 {
            self.items.reserve_exact(self.full);
        }
        self.items.push([0; N]);
        self.items.last_mut().map(write);
        if self.items.len() >= self.full { self.flush() } else { Ok(()) }
    }

    /// Whether nothing was pushed since the last end.
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.writing.is_none() && self.done.is_empty()
    }

    fn flush(&mut self) -> Result<(), IndexError> {
        if self.items.is_empty() {
            return Ok(());
        }
        // One run at most is sorted beside the one that fills, so that memory stays bounded.
        self.join()?;
        self.written += self.items.len();
        self.full = self.full.max(self.written / 8).min(self.most);
        let mut next = std::mem::take(&mut self.spare);
        if next.capacity() < self.full {
            next = Vec::new();
        }
        let mut items = std::mem::replace(&mut self.items, next);
        let (dir, kind, serial) = (self.dir.clone(), self.kind, self.serial);
        self.serial += 1;
        self.writing = Some(std::thread::spawn(move || {
            sort(&mut items);
            let mut file = RunFile::create(&dir, kind, serial)?;
            items.iter().try_for_each(|item| file.push(item))?;
            let file = file.finish()?;
            items.clear();
            Ok(Written { file, items })
        }));
        Ok(())
    }

    fn join(&mut self) -> Result<(), IndexError> {
        let Some(writing) = self.writing.take() else { return Ok(()) };
        let written = writing.join().map_err(|_| IndexError::damaged("sorting was cut off"))?;
        let Written { file, items } = written?;
        self.done.push(file);
        self.spare = items;
        Ok(())
    }

    /// Ends all runs.
    pub(super) fn finish(&mut self) -> Result<Vec<FileEntry>, IndexError> {
        self.flush()?;
        self.join()?;
        self.items = Vec::new();
        self.spare = Vec::new();
        Ok(std::mem::take(&mut self.done))
    }
}

impl<const N: usize> Drop for RunWriter<N> {
    /// Nobody writes into the folder once a load is dropped.
    fn drop(&mut self) {
        let _ = self.join();
    }
}

/// A file of items in the order in which they come.
pub(super) struct RunFile {
    file: File,
    path: PathBuf,
    entry: FileEntry,
    crc: crc32fast::Hasher,
    piece: Vec<u8>,
}

impl RunFile {
    pub(super) fn create(dir: &Path, kind: &str, serial: u64) -> Result<RunFile, IndexError> {
        let name = format!("{kind}-{serial}.run");
        let path = dir.join(&name);
        let file = File::create(&path).map_err(|error| file_error(&path, &error))?;
        let entry = FileEntry { name, serial, items: 0, crc: 0 };
        let piece = Vec::with_capacity(PIECE + 64);
        Ok(RunFile { file, path, entry, crc: crc32fast::Hasher::new(), piece })
    }

    pub(super) fn push(&mut self, item: &[u8]) -> Result<(), IndexError> {
        self.entry.items += 1;
        self.piece.extend_from_slice(item);
        if self.piece.len() >= PIECE { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), IndexError> {
        self.crc.update(&self.piece);
        self.file.write_all(&self.piece).map_err(|error| file_error(&self.path, &error))?;
        self.piece.clear();
        Ok(())
    }

    /// Puts it on the disk, and gives what the manifest keeps of it.
    pub(super) fn finish(mut self) -> Result<FileEntry, IndexError> {
        self.write()?;
        self.file.sync_data().map_err(|error| file_error(&self.path, &error))?;
        self.entry.crc = self.crc.finalize();
        Ok(self.entry)
    }
}

/// Reads a run from its first item to its last.
pub(super) struct RunReader<const N: usize> {
    file: File,
    path: PathBuf,
    left: u64,
    wanted: u32,
    crc: crc32fast::Hasher,
    piece: Vec<u8>,
    at: usize,
}

impl<const N: usize> RunReader<N> {
    pub(super) fn open(dir: &Path, entry: &FileEntry) -> Result<RunReader<N>, IndexError> {
        let path = dir.join(&entry.name);
        let file = File::open(&path).map_err(|error| file_error(&path, &error))?;
        let (left, wanted, crc) = (entry.items, entry.crc, crc32fast::Hasher::new());
        Ok(RunReader { file, path, left, wanted, crc, piece: Vec::new(), at: 0 })
    }

    pub(super) fn next(&mut self) -> Result<Option<[u8; N]>, IndexError> {
        if self.at == self.piece.len() {
            if self.left == 0 {
                return Ok(None);
            }
            self.read()?;
        }
        let item = self.piece[self.at..].first_chunk().copied();
        self.at += N;
        Ok(item)
    }

    fn read(&mut self) -> Result<(), IndexError> {
        let items = self.left.min((PIECE / N).max(1) as u64);
        self.piece.resize(items as usize * N, 0);
        self.at = 0;
        self.file.read_exact(&mut self.piece).map_err(|error| file_error(&self.path, &error))?;
        self.left -= items;
        self.crc.update(&self.piece);
        if self.left == 0 && self.crc.clone().finalize() != self.wanted {
            let problem = "a file of the load is not what was written".into();
            return Err(IndexError::File { path: self.path.clone(), problem });
        }
        Ok(())
    }
}

/// The items of a sorted file that begin with `start`.
pub(super) fn find<const N: usize>(
    dir: &Path,
    entry: &FileEntry,
    start: &[u8],
) -> Result<Vec<[u8; N]>, IndexError> {
    let path = dir.join(&entry.name);
    let failed = |error: std::io::Error| file_error(&path, &error);
    let file = File::open(&path).map_err(failed)?;
    let item = |place: u64| {
        let mut item = [0; N];
        file.read_exact_at(&mut item, place * N as u64).map_err(failed)?;
        Ok::<_, IndexError>(item)
    };
    let (mut low, mut high) = (0, entry.items);
    while low < high {
        let middle = low + (high - low) / 2;
        if item(middle)?[..] < *start { low = middle + 1 } else { high = middle }
    }
    let mut found = Vec::new();
    for place in low..entry.items {
        let item = item(place)?;
        if !item.starts_with(start) {
            break;
        }
        found.push(item);
    }
    Ok(found)
}

/// Items of several runs in one order.
pub(super) struct Merged<const N: usize> {
    runs: Vec<RunReader<N>>,
    heap: BinaryHeap<Reverse<(u128, [u8; N], usize)>>,
}

impl<const N: usize> Merged<N> {
    pub(super) fn open(dir: &Path, files: &[FileEntry]) -> Result<Merged<N>, IndexError> {
        let mut runs = Vec::with_capacity(files.len());
        let mut heap = BinaryHeap::with_capacity(files.len());
        for (place, file) in files.iter().enumerate() {
            let mut run = RunReader::open(dir, file)?;
            heap.extend(run.next()?.map(|item| Reverse((leading(&item), item, place))));
            runs.push(run);
        }
        Ok(Merged { runs, heap })
    }

    pub(super) fn next(&mut self) -> Result<Option<[u8; N]>, IndexError> {
        let Some(mut top) = self.heap.peek_mut() else { return Ok(None) };
        let Reverse((_, item, place)) = *top;
        match self.runs[place].next()? {
            Some(next) => *top = Reverse((leading(&next), next, place)),
            None => {
                PeekMut::pop(top);
            }
        }
        Ok(Some(item))
    }
}
