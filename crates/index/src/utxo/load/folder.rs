//! The folder of a load, and the room that is to stay free on its disk.
//!
//! Invariant: every file of a load is made after a look at the room.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{IndexError, room};

/// The folder of a load. Clones go by one bound.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    path: PathBuf,
    least_free: Arc<AtomicU64>,
}

impl Folder {
    /// One whose disk may be filled.
    pub(super) fn new(path: &Path) -> Folder {
        Folder { path: path.to_owned(), least_free: Arc::default() }
    }

    /// From now on so many bytes stay free.
    pub(super) fn keep_free(&self, bytes: u64) {
        self.least_free.store(bytes, Ordering::Relaxed);
    }

    /// Bytes that are to stay free.
    pub(super) fn least_free(&self) -> u64 {
        self.least_free.load(Ordering::Relaxed)
    }

    /// Whether there is room for so many bytes more.
    ///
    /// # Errors
    /// `NoRoom`.
    pub(super) fn check_room(&self, more: u64) -> Result<(), IndexError> {
        match self.least_free() {
            0 => Ok(()),
            least => room::check(&self.path, least.saturating_add(more)),
        }
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

/// Where the folder of a load is: beside that of the index.
pub(super) fn folder(index: &Path) -> PathBuf {
    let mut name = index.as_os_str().to_owned();
    name.push(".load");
    PathBuf::from(name)
}

/// Removes what a load left whose index has a tip, if it was cut off at the very end.
pub(crate) fn clear_remains(index: &Path) -> Result<(), IndexError> {
    let dir = folder(index);
    match std::fs::remove_dir_all(&dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(file_error(&dir, &error)),
        _ => Ok(()),
    }
}

/// What a failed operation on a file is told as.
pub(super) fn file_error(path: &Path, error: &std::io::Error) -> IndexError {
    IndexError::File { path: path.to_owned(), problem: error.to_string() }
}
