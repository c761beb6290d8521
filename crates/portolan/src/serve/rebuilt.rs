//! An index that was made beside the one in use, and how it takes its place.
//!
//! Invariant: at every moment one of the two stands whole under a name that the next start finds.

use std::fs;
use std::path::{Path, PathBuf};

use index::IndexError;
use index::utxo::{Identity, Store};

use super::index_dir;
use crate::failure::Failure;

/// Where the new one is made.
pub(crate) fn folder(store: &Path, slug: &str) -> PathBuf {
    store.join(format!("{slug}.new"))
}

/// Says that the new one is complete.
fn marker(store: &Path, slug: &str) -> PathBuf {
    store.join(format!("{slug}.new.ready"))
}

/// Notes that the new index is complete.
pub(crate) fn mark_ready(store: &Path, slug: &str) -> Result<(), Failure> {
    Ok(fs::write(marker(store, slug), b"")?)
}

/// Puts a complete new index in the place of the old one; nothing happens where there is none.
///
/// # Errors
/// `InUse` while another process has the old one open; `Stranger` if the new one is of another
/// network or format than what is wanted by now: both stay.
pub(crate) fn put_in_place(store: &Path, slug: &str, wanted: &Identity) -> Result<(), IndexError> {
    let (marker, new, old) = (marker(store, slug), folder(store, slug), index_dir(store, slug));
    if !marker.exists() {
        return Ok(());
    }
    if let Some(found) = Store::identity(&new)?.filter(|found| found != wanted) {
        return Err(IndexError::Stranger {
            dir: new,
            found: found.to_string(),
            wanted: wanted.to_string(),
        });
    }
    if is_open(&old) {
        return Err(IndexError::InUse { dir: old });
    }
    let failed =
        |error: std::io::Error| IndexError::File { path: new.clone(), problem: error.to_string() };
    if new.exists() {
        if old.exists() {
            let gone = store.join(format!("{slug}.old"));
            if gone.exists() {
                fs::remove_dir_all(&gone).map_err(failed)?;
            }
            fs::rename(&old, &gone).map_err(failed)?;
        }
        fs::rename(&new, &old).map_err(failed)?;
    }
    fs::remove_file(&marker).map_err(failed)?;
    let gone = store.join(format!("{slug}.old"));
    if gone.exists() {
        fs::remove_dir_all(&gone).map_err(failed)?;
    }
    Ok(())
}

/// Whether a process has the index of a folder open: the engine locks its file `LOCK`.
fn is_open(dir: &Path) -> bool {
    let Ok(file) = fs::OpenOptions::new().write(true).open(dir.join("LOCK")) else { return false };
    rustix::fs::fcntl_lock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_err()
}
