//! The word that tells every running server of a change at once.
//!
//! A command raises it after its change is in the store; a server compares it on each request.
//! Only that it differs means anything, so a lost or damaged file costs the instant and no more, and so
//! does one that a full disk has no room for: the store's own version is polled beside it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use crate::OpenError;
use crate::folder::{has_no_room, open_shared};
use crate::mapped::Words;

/// The shared word.
#[derive(Debug)]
pub(crate) struct Epoch {
    path: PathBuf,
    words: OnceLock<Words>,
}

impl Epoch {
    pub(crate) fn open(path: &Path) -> Result<Epoch, OpenError> {
        let epoch = Epoch { path: path.to_owned(), words: OnceLock::new() };
        match epoch.try_again() {
            Err(OpenError::File { source, .. }) if has_no_room(&source) => {
                let file = path.display();
                tracing::error!(%file, "no room for it: changes are in force within a second until there is");
            }
            tried => tried?,
        }
        Ok(epoch)
    }

    /// Maps the file where that was not possible before.
    pub(crate) fn try_again(&self) -> Result<(), OpenError> {
        if self.words.get().is_some() {
            return Ok(());
        }
        let file = open_shared(&self.path)?;
        let failed = |source| OpenError::File { path: self.path.clone(), source };
        if file.metadata().map_err(failed)?.len() < 8 {
            file.set_len(8).map_err(failed)?;
        }
        // Mapped twice by two threads is as good as once.
        let _ = self.words.set(Words::map(&file, 0, 1).map_err(failed)?);
        Ok(())
    }

    /// Where the word stands; it takes another stand when it is had.
    #[inline]
    pub(crate) fn read(&self) -> u64 {
        let word = self.words.get().and_then(|words| words.get(0));
        word.map_or(u64::MAX, |word| word.load(Ordering::Acquire))
    }

    /// Tells every process that the store has changed.
    pub(crate) fn raise(&self) {
        // Without room others look for themselves.
        let _ = self.try_again();
        if let Some(word) = self.words.get().and_then(|words| words.get(0)) {
            word.fetch_add(1, Ordering::AcqRel);
        }
    }
}
