//! A file of items of one length: written in one go, read back part by part.
//!
//! Invariant: a file that is shorter or other than what was written is an error.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::folder::Folder;
use super::folder::file_error;
use super::manifest::FileEntry;
use crate::IndexError;

/// Bytes that are written and read at once, about; fewer a file where many are merged.
const PIECE: usize = 256 << 10;
/// Memory of all files that are merged, and the least of one.
const MERGE_BYTES: usize = 64 << 20;
const LEAST_PIECE: usize = 8 << 10;

/// A file of items in the order in which they come.
pub(super) struct RunFile {
    file: File,
    path: PathBuf,
    /// The part that is written, and the bytes of the file.
    entry: FileEntry,
    bytes: u64,
    crc: crc32fast::Hasher,
    piece: Vec<u8>,
}

impl RunFile {
    pub(super) fn create(dir: &Folder, kind: &str, serial: u64) -> Result<RunFile, IndexError> {
        dir.check_room(0)?;
        RunFile::begin(dir, kind, serial)
    }

    /// Creates one after the caller looked at the room.
    pub(super) fn begin(dir: &Folder, kind: &str, serial: u64) -> Result<RunFile, IndexError> {
        let name = format!("{kind}-{serial}.run");
        let path = dir.join(&name);
        let file = File::create(&path).map_err(|error| file_error(&path, &error))?;
        let entry = FileEntry { name, serial, at: 0, items: 0, crc: 0 };
        let piece = Vec::with_capacity(PIECE + 64);
        Ok(RunFile { file, path, entry, bytes: 0, crc: crc32fast::Hasher::new(), piece })
    }

    pub(super) fn push(&mut self, item: &[u8]) -> Result<(), IndexError> {
        self.entry.items += 1;
        self.piece.extend_from_slice(item);
        if self.piece.len() >= PIECE { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), IndexError> {
        self.crc.update(&self.piece);
        self.bytes += self.piece.len() as u64;
        self.file.write_all(&self.piece).map_err(|error| file_error(&self.path, &error))?;
        self.piece.clear();
        Ok(())
    }

    /// Ends a part; what follows is the next one.
    pub(super) fn cut(&mut self) -> Result<FileEntry, IndexError> {
        self.write()?;
        let FileEntry { name, serial, .. } = self.entry.clone();
        let next = FileEntry { name, serial, at: self.bytes, items: 0, crc: 0 };
        let mut ended = std::mem::replace(&mut self.entry, next);
        ended.crc = std::mem::take(&mut self.crc).finalize();
        Ok(ended)
    }

    /// Puts it on the disk, and gives what the manifest keeps of it.
    pub(super) fn finish(mut self) -> Result<FileEntry, IndexError> {
        self.write()?;
        self.file.sync_data().map_err(|error| file_error(&self.path, &error))?;
        self.entry.crc = self.crc.finalize();
        Ok(self.entry)
    }
}

/// Files that are read at once, each opened once whatever number of its parts is read.
#[derive(Default)]
pub(super) struct OpenFiles(HashMap<String, Arc<File>>);

impl OpenFiles {
    fn open(&mut self, dir: &Path, name: &str) -> Result<Arc<File>, IndexError> {
        if let Some(file) = self.0.get(name) {
            return Ok(Arc::clone(file));
        }
        let path = dir.join(name);
        let file = Arc::new(File::open(&path).map_err(|error| file_error(&path, &error))?);
        self.0.insert(name.to_owned(), Arc::clone(&file));
        Ok(file)
    }
}

/// Reads a part of a run from its first item to its last.
pub(super) struct RunReader<const N: usize> {
    file: Arc<File>,
    path: PathBuf,
    place: u64,
    left: u64,
    wanted: u32,
    crc: crc32fast::Hasher,
    piece: Vec<u8>,
    /// Bytes that are read at once, about.
    piece_bytes: usize,
    at: usize,
}

impl<const N: usize> RunReader<N> {
    pub(super) fn open(dir: &Path, entry: &FileEntry) -> Result<RunReader<N>, IndexError> {
        RunReader::open_among(dir, entry, 1, &mut OpenFiles::default())
    }

    /// Opens one of so many runs that are read at once.
    pub(super) fn open_among(
        dir: &Path,
        entry: &FileEntry,
        runs: usize,
        files: &mut OpenFiles,
    ) -> Result<RunReader<N>, IndexError> {
        let (file, path) = (files.open(dir, &entry.name)?, dir.join(&entry.name));
        let place = entry.at;
        let (left, wanted, crc) = (entry.items, entry.crc, crc32fast::Hasher::new());
        let piece_bytes = (MERGE_BYTES / runs.max(1)).clamp(LEAST_PIECE, PIECE);
        let piece = Vec::new();
        Ok(RunReader { file, path, place, left, wanted, crc, piece, piece_bytes, at: 0 })
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
        let items = self.left.min((self.piece_bytes / N).max(1) as u64);
        self.piece.resize(items as usize * N, 0);
        self.at = 0;
        let read = self.file.read_exact_at(&mut self.piece, self.place);
        read.map_err(|error| file_error(&self.path, &error))?;
        self.place += self.piece.len() as u64;
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
        file.read_exact_at(&mut item, entry.at + place * N as u64).map_err(failed)?;
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
