//! Words of a file that processes share.
//!
//! All `unsafe` of the meter stands here. The file is mapped shared, so a word that was written
//! is in the system's page cache at once and outlives a killed process; [`Words::sync`] carries
//! it to the disk. Invariant: every access to the mapping is atomic and 8-byte aligned. A file
//! that somebody cuts shorter while it is mapped is beyond any program's help (SIGBUS); the
//! meter never does so, and has the room on the disk before it maps.

use std::fs::File;
use std::io;
use std::sync::atomic::AtomicU64;

use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;

/// A part of a file as 64-bit words in the machine's byte order.
#[derive(Debug)]
pub(crate) struct Words {
    map: MmapRaw,
    count: usize,
}

impl Words {
    /// Maps `count` words of a file, readable and writable. `offset` is a multiple of the page
    /// size; the file must be that long already.
    pub(crate) fn map(file: &File, offset: u64, count: usize) -> io::Result<Words> {
        let end = offset + count as u64 * 8;
        if file.metadata()?.len() < end {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file is too short"));
        }
        reserve(file, offset, count as u64 * 8)?;
        let map = MmapOptions::new().offset(offset).len(count * 8).map_raw(file)?;
        Ok(Words { map, count })
    }

    /// One word; `None` beyond the end.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> Option<&AtomicU64> {
        if place >= self.count {
            return None;
        }
        // SAFETY: `place` lies within the mapping, which is page-aligned and lives as long as
        // `self`; it is read and written through atomics alone, here and in other processes.
        Some(unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().cast::<u64>().add(place)) })
    }

    /// Waits until the words are on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.map.flush()
    }
}

/// Takes the room on the disk now: a write into a hole of a mapped file that finds the disk full
/// would end the process (SIGBUS). A file system that cannot reserve is taken as it is.
pub(crate) fn reserve(file: &File, offset: u64, len: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, offset, len) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        reserved => Ok(reserved?),
    }
}

#[cfg(test)]
mod tests;
