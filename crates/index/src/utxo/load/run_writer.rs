//! Items in any order become sorted runs, each in a file of its own.
//!
//! Invariant: two runs at most are in memory, one that fills and one that is written.

use std::thread::JoinHandle;

use super::folder::Folder;
use super::manifest::FileEntry;
use super::run::RunFile;
use super::sort::sort;
use crate::IndexError;

/// Bytes of the first runs; a later one has an eighth of all before it, if that is more, so that a
/// short load takes little memory and a long one few files.
const FIRST_RUN: usize = 8 << 20;

/// Writes runs of items, each sorted on a thread of its own while the next one fills.
pub(super) struct RunWriter<const N: usize> {
    dir: Folder,
    kind: &'static str,
    most: usize,
    parts: usize,
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
    parts: Vec<FileEntry>,
    items: Vec<[u8; N]>,
}

impl<const N: usize> RunWriter<N> {
    /// Runs of at most so many bytes.
    pub(super) fn new(dir: &Folder, kind: &'static str, bytes: usize, serial: u64) -> RunWriter<N> {
        RunWriter {
            dir: dir.to_owned(),
            kind,
            most: (bytes / N).max(1),
            parts: 1,
            full: (bytes.min(FIRST_RUN) / N).max(1),
            written: 0,
            serial,
            items: Vec::new(),
            writing: None,
            spare: Vec::new(),
            done: Vec::new(),
        }
    }

    /// Splits each run by the first byte of its items, for so many readers.
    pub(super) fn in_parts(mut self, parts: usize) -> RunWriter<N> {
        self.parts = parts;
        self
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
        self.dir.check_room(0)?;
        self.written += self.items.len();
        self.full = self.full.max(self.written / 8).min(self.most);
        let mut next = std::mem::take(&mut self.spare);
        if next.capacity() < self.full {
            next = Vec::new();
        }
        let mut items = std::mem::replace(&mut self.items, next);
        let (dir, kind, serial, parts) = (self.dir.clone(), self.kind, self.serial, self.parts);
        self.serial += 1;
        self.writing = Some(std::thread::spawn(move || {
            sort(&mut items);
            let mut file = RunFile::begin(&dir, kind, serial)?;
            let (mut written, mut rest) = (Vec::with_capacity(parts), &items[..]);
            for part in 1..parts {
                let before = |item: &[u8; N]| usize::from(item[0]) * parts / 256 < part;
                let (these, others) = rest.split_at(rest.partition_point(before));
                these.iter().try_for_each(|item| file.push(item))?;
                written.push(file.cut()?);
                rest = others;
            }
            rest.iter().try_for_each(|item| file.push(item))?;
            written.push(file.finish()?);
            items.clear();
            Ok(Written { parts: written, items })
        }));
        Ok(())
    }

    fn join(&mut self) -> Result<(), IndexError> {
        let Some(writing) = self.writing.take() else { return Ok(()) };
        let written = writing.join().map_err(|_| IndexError::damaged("sorting was cut off"))?;
        let Written { parts, items } = written?;
        self.done.extend(parts);
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

#[cfg(test)]
mod tests;
