//! A usage file of a former format that a full disk has no room to write anew.
//!
//! Its slots are read into memory, in the words of this format, so that what they have counted counts
//! against quotas. Nothing is added to them, and none is recorded: the file stays as it is until the new
//! one is whole, on the disk and in its place. Invariants: until then the store is told nothing of these
//! rows, so the former file, read again after a kill, says what it said before; their words change only
//! while the ledger is being opened, so what is written is what was read.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use super::absent::TRY_AGAIN;
use super::header::{self, is_former};
use super::layout::{SEGMENT_SLOTS, SLOT_WORDS};
use super::opening::make;
use super::{UsageFile, words_of};
use crate::folder::open_shared;
use crate::{Replica, Service};

const SEGMENT_WORDS: usize = SEGMENT_SLOTS * SLOT_WORDS;

/// What the file will be made of.
#[derive(Debug)]
pub(super) struct Waiting {
    header: Vec<u64>,
    /// Whole segments, one at least.
    words: Box<[AtomicU64]>,
    tried: Mutex<Instant>,
}

impl Waiting {
    /// How many slots there are.
    pub(super) fn len(&self) -> usize {
        self.words.len() / SLOT_WORDS
    }

    /// A word of a slot.
    pub(super) fn word(&self, slot: usize, word: usize) -> Option<&AtomicU64> {
        self.words.get(slot * SLOT_WORDS + word)
    }

    /// Writes the file and opens it, if it was not tried a moment ago.
    fn make(&self, path: &Path) -> io::Result<File> {
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        if tried.elapsed() < TRY_AGAIN {
            return Err(io::ErrorKind::StorageFull.into());
        }
        *tried = Instant::now();
        if !self.may_replace(path)? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let words: Vec<u64> = self.words.iter().map(|word| word.load(Ordering::Acquire)).collect();
        make(path, &self.header, &words)?;
        open_shared(path).map_err(io::Error::other)
    }

    /// Is nothing there but the former file, or what an attempt has made of it?
    fn may_replace(&self, path: &Path) -> io::Result<bool> {
        let mut begin = Vec::new();
        match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            file => file?.take(header::WORDS as u64 * 8).read_to_end(&mut begin)?,
        };
        let words = begin.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word));
        let found: Vec<u64> = words.collect();
        let is_whole = found.len() == header::WORDS;
        let is_the_former = || is_former(&found) && header::have_one_owner(&found, &self.header);
        Ok(begin.is_empty() || is_whole && (found == self.header || is_the_former()))
    }
}

impl UsageFile {
    /// The file of a service whose slots were read from a former format, to be written anew as soon as
    /// there is room, or to be looked into.
    pub(super) fn waiting(
        path: &Path,
        service: Service,
        identity: u64,
        slots: &[u64],
    ) -> UsageFile {
        let header = header::header(service, identity, Replica::FIRST);
        let whole = slots.len().div_ceil(SEGMENT_WORDS).max(1) * SEGMENT_WORDS;
        let words = slots.iter().copied().chain(std::iter::repeat(0)).take(whole);
        let words = words.map(AtomicU64::new).collect();
        let waiting = Waiting { header, words, tried: Mutex::new(Instant::now()) };
        UsageFile::of(path, Replica::FIRST, OnceLock::new(), None, Some(waiting))
    }

    /// Is it still of a former format?
    pub(crate) fn waits(&self) -> bool {
        self.waiting.is_some() && self.segments[0].get().is_none()
    }

    /// Writes it anew where that is still to be done. Called under the ledger's lock; until it succeeds
    /// nothing may be added to the rows, and none may be recorded.
    ///
    /// # Errors
    /// There is no room yet, or another file is in the place.
    pub(crate) fn renew(&self) -> io::Result<()> {
        let Some(waiting) = self.waiting.as_ref().filter(|_| self.waits()) else { return Ok(()) };
        let file = waiting.make(&self.path)?;
        let segments = 0..waiting.len() / SEGMENT_SLOTS;
        let mapped: Vec<_> = segments.map(|it| words_of(&file, it)).collect::<io::Result<_>>()?;
        let _ = self.file.set(file);
        // The first one last: it tells that all are there.
        for (segment, words) in mapped.into_iter().enumerate().rev() {
            let _ = self.segments[segment].set(words);
        }
        tracing::info!(file = %self.path.display(), "there is room: it is written anew, and counted in");
        Ok(())
    }
}
