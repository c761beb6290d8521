//! Several sorted runs, read as one.
//!
//! Invariant: items come in the order of their bytes, equal ones as often as they are there.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::path::Path;

use super::manifest::FileEntry;
use super::run::{OpenFiles, RunReader};
use super::sort::leading;
use crate::IndexError;

/// Items of several runs in one order.
pub(super) struct Merged<const N: usize> {
    runs: Vec<RunReader<N>>,
    heap: BinaryHeap<Reverse<(u128, [u8; N], usize)>>,
}

impl<const N: usize> Merged<N> {
    pub(super) fn open(dir: &Path, files: &[FileEntry]) -> Result<Merged<N>, IndexError> {
        Merged::open_parts(dir, files.iter(), &mut OpenFiles::default())
    }

    /// Opens one part of each run, in files that others read as well.
    pub(super) fn open_parts<'a>(
        dir: &Path,
        parts: impl ExactSizeIterator<Item = &'a FileEntry>,
        files: &mut OpenFiles,
    ) -> Result<Merged<N>, IndexError> {
        let count = parts.len();
        let mut runs = Vec::with_capacity(count);
        let mut heap = BinaryHeap::with_capacity(count);
        for (place, part) in parts.enumerate() {
            let mut run = RunReader::open_among(dir, part, count, files)?;
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
