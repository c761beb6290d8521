//! The note that a reorganisation is half done.
//!
//! It lies beside the rows, so that rows stay what their blocks make them. Invariant: it is on the
//! disk before the first block is taken back, and goes when a tip is published again; a start that
//! finds it takes the rows back to where the chains part, and serves that (decision E7).

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::Family;
use crate::IndexError;
use crate::store::Store;

/// The note of an index.
#[derive(Clone, Debug)]
pub(crate) struct HalfDone(PathBuf);

impl HalfDone {
    /// That of the index in a folder.
    pub(crate) fn of(dir: &Path) -> HalfDone {
        let mut name = dir.as_os_str().to_owned();
        name.push(".reorg");
        HalfDone(PathBuf::from(name))
    }

    fn failed(&self, error: &std::io::Error) -> IndexError {
        IndexError::File { path: self.0.clone(), problem: error.to_string() }
    }

    /// The height at which the chains part, if a reorganisation is half done.
    pub(crate) fn fork(&self) -> Option<u32> {
        fs::read_to_string(&self.0).ok().and_then(|text| text.trim().parse().ok())
    }

    /// Notes that blocks down to a height are about to be taken back.
    pub(crate) fn note(&self, fork: u32) -> Result<(), IndexError> {
        // A deeper one that is half done holds on.
        let fork = self.fork().map_or(fork, |noted| noted.min(fork));
        let write = || {
            let mut file = File::create(&self.0)?;
            write!(file, "{fork}")?;
            file.sync_all()
        };
        write().map_err(|error| self.failed(&error))
    }

    /// Takes the note away.
    pub(crate) fn clear(&self) -> Result<(), IndexError> {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(self.failed(&error)),
            _ => Ok(()),
        }
    }
}

/// Takes back what a reorganisation that was cut off has left above the fork.
pub(super) fn back_to_fork<F: Family>(store: &mut Store<F::Schema>) -> Result<(), IndexError> {
    let note = HalfDone::of(&store.dir());
    let Some(fork) = note.fork() else { return Ok(()) };
    while F::tip(store).is_some_and(|(height, _)| height > fork) {
        store.disconnect()?;
    }
    note.clear()
}
