//! The word that tells every running server of a change at once.
//!
//! A command raises it after its change is in the store; a server compares it on each request.
//! Only that it differs means anything, so a lost or damaged file costs the instant and no more:
//! the store's own version is polled beside it.

use std::path::Path;
use std::sync::atomic::Ordering;

use crate::OpenError;
use crate::folder::open_shared;
use crate::mapped::Words;

/// The shared word.
#[derive(Debug)]
pub(crate) struct Epoch {
    words: Words,
}

impl Epoch {
    pub(crate) fn open(path: &Path) -> Result<Epoch, OpenError> {
        let file = open_shared(path)?;
        let failed = |source| OpenError::File { path: path.to_owned(), source };
        if file.metadata().map_err(failed)?.len() < 8 {
            file.set_len(8).map_err(failed)?;
        }
        Ok(Epoch { words: Words::map(&file, 0, 1).map_err(failed)? })
    }

    /// Where the word stands.
    #[inline]
    pub(crate) fn read(&self) -> u64 {
        self.words.get(0).map_or(0, |word| word.load(Ordering::Acquire))
    }

    /// Tells every process that the store has changed.
    pub(crate) fn raise(&self) {
        if let Some(word) = self.words.get(0) {
            word.fetch_add(1, Ordering::AcqRel);
        }
    }
}
