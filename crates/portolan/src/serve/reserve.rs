//! Room on the store's disk that is kept for a start while that disk is full.
//!
//! Indexes need a little room to be opened, and rows of usage that a former process left are recorded
//! in it. Where there is none left the store is served as it is known; that is the meter's own affair.
//! Invariant: the reserve is made only where there is plenty, and given up only where there is none.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::FallocateFlags;

/// What the database, its log and its index take at a start, several times over.
const BYTES: u64 = 4 << 20;
/// The reserve is made while so much would be left.
const PLENTY: u64 = 64 << 20;
/// With less than this free a disk is full.
const FULL: u64 = 1 << 20;

/// The file in a store's folder.
fn path(store: &Path) -> PathBuf {
    store.join("reserve")
}

/// Bytes that are free on the disk of a store.
fn free(store: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(store).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Makes the reserve where it is missing and there is room. A disk that cannot set room aside has
/// none: what was made of the file is taken away again.
pub(super) fn make(store: &Path) {
    let path = path(store);
    if path.exists() || free(store).is_none_or(|free| free < BYTES + PLENTY) {
        return;
    }
    let made = || {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, BYTES)?;
        Ok::<_, std::io::Error>(())
    };
    if made().is_err() {
        // It is there in part or not at all; either way nothing depends on it.
        let _ = fs::remove_file(&path);
    }
}

/// Gives the reserve up if the disk is full. Returns whether there is room now that was not there.
pub(super) fn give_up(store: &Path) -> bool {
    free(store).is_some_and(|free| free < FULL) && fs::remove_file(path(store)).is_ok()
}
