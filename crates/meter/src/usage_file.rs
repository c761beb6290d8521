//! The file of live usage rows of one service: `usage-<service>.map`.
//!
//! A header page, then segments of fixed-size slots, one slot a live row. Segments are mapped
//! once and never move, so a slot's words can be added to without a lock. What a slot counts is
//! published last (its check word), and withdrawn first, so a process killed at any moment leaves
//! each slot either a whole row or free. Leaves to `opening` how one is opened and made, to `header`
//! whose file it is, to `slot` what its words say, to `absent` a file that has no room on the disk yet,
//! and to `waiting` one of a former format that has none to be written anew.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::folder::{has_no_room, open_shared};
use crate::mapped::{Words, reserve};
use crate::store::{ChainName, RowName};
use crate::{OpenError, Replica, Service};

mod absent;
mod former;
mod header;
mod layout;
mod look;
mod opening;
mod slot;
mod waiting;

use absent::Absent;
use header::owner;
pub(crate) use layout::SEGMENT_SLOTS;
use layout::{HEADER_BYTES, HEADER_WORDS, MOST_SEGMENTS, SEGMENT_BYTES, SLOT_WORDS};
use slot::{
    ABSURD_UNITS, ACCOUNT, CHAIN, CHECK, HOUR, KEY, UNITS, UNSETTLED, check, coded, decoded,
};
pub(crate) use slot::{LiveRow, Slot};
use waiting::Waiting;

/// The mapped file.
#[derive(Debug)]
pub(crate) struct UsageFile {
    path: PathBuf,
    replica: Replica,
    /// Empty as long as there is no room for it.
    file: OnceLock<File>,
    /// What makes it then.
    absent: Option<Absent>,
    /// Its slots, as long as it is still of a former format.
    waiting: Option<Waiting>,
    segments: Box<[OnceLock<Words>]>,
}

impl UsageFile {
    fn map(path: &Path, service: Service, identity: u64) -> Result<UsageFile, OpenError> {
        let failed = |source| OpenError::File { path: path.to_owned(), source };
        let file = open_shared(path)?;
        let length = file.metadata().map_err(failed)?.len();
        let foreign = |problem: &str| foreign(path, problem);
        let found = Words::map(&file, 0, HEADER_WORDS)
            .map_err(|_| foreign("it is no usage file, or was cut short"))?;
        let word = |place| found.get(place).map_or(0, |word| word.load(Ordering::Acquire));
        let found = std::array::from_fn(word);
        let replica = owner(&found, service, identity).map_err(foreign)?;
        // A file cut within a segment is filled up with free slots.
        let segments = length.saturating_sub(HEADER_BYTES).div_ceil(SEGMENT_BYTES);
        let segments = usize::try_from(segments).unwrap_or(usize::MAX);
        if segments > MOST_SEGMENTS {
            return Err(foreign("it is longer than a usage file can be"));
        }
        let file = UsageFile::of(path, replica, OnceLock::from(file), None, None);
        for segment in 0..segments {
            match file.map_segment(segment) {
                // A full disk had no room for what the file was made longer by.
                Err(error) if has_no_room(&error) && file.is_blank_from(segment) => break,
                mapped => mapped.map_err(failed)?,
            }
        }
        Ok(file)
    }

    fn of(
        path: &Path,
        replica: Replica,
        file: OnceLock<File>,
        absent: Option<Absent>,
        waiting: Option<Waiting>,
    ) -> UsageFile {
        let segments = (0..MOST_SEGMENTS).map(|_| OnceLock::new()).collect();
        UsageFile { path: path.to_owned(), replica, file, absent, waiting, segments }
    }

    /// The file's own place, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whose rows these are.
    pub(crate) fn replica(&self) -> Replica {
        self.replica
    }

    /// Slots of the segments that are mapped, or of a file that waits to be written anew.
    pub(crate) fn len(&self) -> usize {
        let mapped = self.segments.iter().take_while(|segment| segment.get().is_some()).count();
        match (mapped, &self.waiting) {
            (0, Some(waiting)) => waiting.len(),
            _ => mapped * SEGMENT_SLOTS,
        }
    }

    /// Adds a segment of free slots.
    pub(crate) fn grow(&self) -> io::Result<()> {
        let segment = self.len() / SEGMENT_SLOTS;
        if segment == MOST_SEGMENTS {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "too many live usage rows"));
        }
        self.map_segment(segment)
    }

    fn map_segment(&self, segment: usize) -> io::Result<()> {
        let file = self.made()?;
        let offset = HEADER_BYTES + segment as u64 * SEGMENT_BYTES;
        if file.metadata()?.len() < offset + SEGMENT_BYTES {
            // First the room, then the length: a full disk leaves the file as it is.
            reserve(file, offset, SEGMENT_BYTES)?;
            file.set_len(offset + SEGMENT_BYTES)?;
        }
        let words = words_of(file, segment)?;
        // Mapped twice by nobody: growing is done under the ledger's lock.
        let _ = self.segments[segment].set(words);
        Ok(())
    }

    /// Is there nothing in the file from a segment on?
    fn is_blank_from(&self, segment: usize) -> bool {
        let (mut at, mut bytes) = (HEADER_BYTES + segment as u64 * SEGMENT_BYTES, [0; 4096]);
        let Some(file) = self.file.get() else { return true };
        loop {
            match file.read_at(&mut bytes, at) {
                Ok(0) => return true,
                Ok(read) if bytes[..read].iter().all(|byte| *byte == 0) => at += read as u64,
                _ => return false,
            }
        }
    }

    #[inline]
    fn word(&self, slot: u32, word: usize) -> Option<&AtomicU64> {
        let slot = slot as usize;
        match self.segments.get(slot / SEGMENT_SLOTS)?.get() {
            Some(words) => words.get(slot % SEGMENT_SLOTS * SLOT_WORDS + word),
            None => self.waiting.as_ref()?.word(slot, word),
        }
    }

    /// Makes a free slot the row of that name, unsettled and without units.
    pub(crate) fn begin(&self, slot: u32, name: RowName) {
        self.store(slot, UNITS, UNSETTLED);
        self.store(slot, ACCOUNT, name.account);
        self.store(slot, KEY, name.key);
        self.store(slot, CHAIN, u64::from_le_bytes(name.chain.bytes()));
        self.store(slot, HOUR, u64::from(name.hour));
        self.store(slot, CHECK, check(name));
    }

    /// Frees a slot whose row is recorded, if it still has that many units.
    pub(crate) fn end(&self, slot: u32, units: u64) -> bool {
        let swapped = self.units(slot).is_some_and(|word| {
            word.compare_exchange(coded(units), 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        });
        if swapped {
            self.clear(slot);
        }
        swapped
    }

    /// Frees a slot.
    pub(crate) fn clear(&self, slot: u32) {
        for word in [CHECK, ACCOUNT, KEY, CHAIN, HOUR, UNITS] {
            self.store(slot, word, 0);
        }
    }

    fn store(&self, slot: u32, word: usize, value: u64) {
        if let Some(word) = self.word(slot, word) {
            word.store(value, Ordering::Release);
        }
    }

    /// Adds units to the row of a slot, if the slot still is that key's row of that hour and
    /// chain. This is the step that makes a charge durable.
    #[inline]
    pub(crate) fn add(&self, slot: u32, name: &RowName, units: u64) -> bool {
        let Some(word) = self.units(slot) else { return false };
        word.fetch_add(coded(units), Ordering::AcqRel);
        if self.is(slot, name) {
            return true;
        }
        word.fetch_sub(coded(units), Ordering::AcqRel);
        false
    }

    /// Takes units back from the row of a slot that they were added to.
    pub(crate) fn take_back(&self, slot: u32, name: &RowName, units: u64) {
        if let Some(word) = self.units(slot).filter(|_| self.is(slot, name)) {
            word.fetch_sub(coded(units), Ordering::AcqRel);
        }
    }

    /// Adds what was recorded for a row before, once.
    pub(crate) fn settle(&self, slot: u32, recorded: u64) {
        let Some(word) = self.units(slot) else { return };
        let settled = |word: u64| match decoded(word)? {
            (units, true) => Some(coded(units.saturating_add(recorded).min(ABSURD_UNITS))),
            (_, false) => None,
        };
        // A word that is settled already, or damaged, stays as it is.
        let _ = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, settled);
    }

    #[inline]
    fn units(&self, slot: u32) -> Option<&AtomicU64> {
        self.word(slot, UNITS)
    }

    #[inline]
    fn is(&self, slot: u32, name: &RowName) -> bool {
        let has = |word, value| {
            self.word(slot, word).is_some_and(|word| word.load(Ordering::Acquire) == value)
        };
        has(KEY, name.key)
            && has(HOUR, u64::from(name.hour))
            && has(CHAIN, u64::from_le_bytes(name.chain.bytes()))
    }

    /// What a slot holds now.
    pub(crate) fn read(&self, slot: u32) -> Slot {
        let load = |word| self.word(slot, word).map_or(0, |word| word.load(Ordering::Acquire));
        let stored = load(CHECK);
        if stored == 0 {
            return Slot::Free;
        }
        let chain = ChainName::from_bytes(load(CHAIN).to_le_bytes());
        let (Some(chain), Ok(hour)) = (chain, u32::try_from(load(HOUR))) else {
            return Slot::Damaged;
        };
        let name = RowName { hour, account: load(ACCOUNT), key: load(KEY), chain };
        match decoded(load(UNITS)) {
            Some((units, unsettled)) if stored == check(name) && units < ABSURD_UNITS => {
                Slot::Row(LiveRow { name, units, unsettled })
            }
            _ => Slot::Damaged,
        }
    }

    /// Every row of the file, with its slot.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (u32, Slot)> {
        (0..self.len() as u32).map(|slot| (slot, self.read(slot)))
    }

    /// Waits until everything counted so far is on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.segments.iter().filter_map(OnceLock::get).try_for_each(Words::sync)
    }
}

/// Maps a segment for which the file is long enough.
fn words_of(file: &File, segment: usize) -> io::Result<Words> {
    let offset = HEADER_BYTES + segment as u64 * SEGMENT_BYTES;
    Words::map(file, offset, SEGMENT_SLOTS * SLOT_WORDS)
}

/// The file is not what its name says.
fn foreign(path: &Path, problem: &str) -> OpenError {
    let problem = format!(
        "{problem}. Move the file away to start without it; usage recorded in the database stays"
    );
    OpenError::Foreign { path: path.to_owned(), problem }
}

#[cfg(test)]
pub(crate) mod tests;
