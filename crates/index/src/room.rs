//! Room on the disk: how much is free, and whether it is enough.
//!
//! Invariant: a disk whose free bytes cannot be read counts as roomy; writing to it tells.

use std::path::Path;

use crate::IndexError;

/// Bytes that are free for us on the disk of a folder.
pub(crate) fn free_bytes(dir: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(dir).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// An error while less than `least` bytes are free on the disk of a folder.
pub(crate) fn check(dir: &Path, least: u64) -> Result<(), IndexError> {
    match free_bytes(dir) {
        Some(free) if free < least => {
            Err(IndexError::NoRoom { dir: dir.to_owned(), least_bytes: least })
        }
        _ => Ok(()),
    }
}
