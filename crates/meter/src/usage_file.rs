//! The file of live usage rows of one service: `usage-<service>.map`.
//!
//! A header page, then segments of fixed-size slots, one slot a live row. Segments are mapped
//! once and never move, so a slot's words can be added to without a lock. What a slot counts is
//! published last (its check word), and withdrawn first, so a process killed at any moment leaves
//! each slot either a whole row or free.
//!
//! Header, 512 words in the machine's byte order: mark, format, service, slots a segment,
//! identity of the store, number of the replica, check. Slot, 8 words: check, account, key, chain (8 bytes ASCII), hour,
//! units, two spare. The check word is a hash of what the row counts, never 0.
//!
//! Units are one word, a multiple of [`CODE`]: twice the units, and one more while what the store
//! recorded for this row is not added yet, so that making a slot never asks the database. Sums of
//! multiples are multiples, so one atomic addition keeps the word whole, and a flipped bit, which
//! adds or takes a power of two, never leaves a multiple.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::folder::open_shared;
use crate::mapped::Words;
use crate::store::{ChainName, RowName};
use crate::{OpenError, Replica, Service};

mod former;

const MARK: u64 = u64::from_le_bytes(*b"PTLUSAGE");
const FORMAT: u64 = 3;
const HEADER_WORDS: usize = 512;
const SLOT_WORDS: usize = 8;
/// Slots of a segment: 256 KiB, a multiple of every page size in use.
pub(crate) const SEGMENT_SLOTS: usize = 4096;
const SEGMENT_BYTES: u64 = (SEGMENT_SLOTS * SLOT_WORDS * 8) as u64;
/// The header takes a segment's room, so that every segment begins at a multiple of its size.
const HEADER_BYTES: u64 = SEGMENT_BYTES;
/// 1,048,576 live rows, 64 MiB.
const MOST_SEGMENTS: usize = 256;
/// What every word of units is a multiple of: the largest prime below 2^16.
const CODE: u64 = 65_521;
/// The recorded amount of this row is still to be added.
const UNSETTLED: u64 = CODE;
/// More units than a row can have; a slot that says so is damaged. A word holds twice as many.
const ABSURD_UNITS: u64 = 1 << 46;

const CHECK: usize = 0;
const ACCOUNT: usize = 1;
const KEY: usize = 2;
const CHAIN: usize = 3;
const HOUR: usize = 4;
const UNITS: usize = 5;

/// The mapped file.
#[derive(Debug)]
pub(crate) struct UsageFile {
    path: PathBuf,
    replica: Replica,
    file: File,
    segments: Box<[OnceLock<Words>]>,
}

/// A row as it stands in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LiveRow {
    pub(crate) name: RowName,
    /// Units counted in this slot.
    pub(crate) units: u64,
    /// Is the recorded amount still to be added?
    pub(crate) unsettled: bool,
}

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    Free,
    Row(LiveRow),
    /// Words that no row has: torn by a power loss, or damaged.
    Damaged,
}

impl UsageFile {
    /// Opens the file of a service for counting, making it if it is not there.
    pub(crate) fn open(
        path: &Path,
        service: Service,
        identity: u64,
    ) -> Result<UsageFile, OpenError> {
        let failed = |source| OpenError::File { path: path.to_owned(), source };
        let length = fs::metadata(path).map_or(0, |metadata| metadata.len());
        // Nothing was counted in a file that was made but never begun.
        if length == 0 {
            let replica = Replica::random().map_err(failed)?;
            make(path, &header(service, identity, replica), &[]).map_err(failed)?;
        } else if let Some(slots) = former::slots(path, service, identity).map_err(failed)? {
            // What it counted was recorded without a number.
            make(path, &header(service, identity, Replica::FIRST), &slots).map_err(failed)?;
        }
        UsageFile::map(path, service, identity)
    }

    /// Opens the file of a service to look into it; `None` if there is none.
    pub(crate) fn look(
        path: &Path,
        service: Service,
        identity: u64,
    ) -> Result<Option<UsageFile>, OpenError> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.len() > 0 => UsageFile::map(path, service, identity).map(Some),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(OpenError::File { path: path.to_owned(), source }),
        }
    }

    fn map(path: &Path, service: Service, identity: u64) -> Result<UsageFile, OpenError> {
        let failed = |source| OpenError::File { path: path.to_owned(), source };
        let file = open_shared(path)?;
        let length = file.metadata().map_err(failed)?.len();
        let foreign = |problem: &str| OpenError::Foreign {
            path: path.to_owned(),
            problem: format!(
                "{problem}. Move the file away to start without it; usage recorded in the \
                 database stays"
            ),
        };
        let header = Words::map(&file, 0, HEADER_WORDS)
            .map_err(|_| foreign("it is no usage file, or was cut short"))?;
        let replica = check_header(&header, service, identity).map_err(foreign)?;
        // A file cut within a segment is filled up with free slots.
        let segments = length.saturating_sub(HEADER_BYTES).div_ceil(SEGMENT_BYTES);
        let segments = usize::try_from(segments).unwrap_or(usize::MAX);
        if segments > MOST_SEGMENTS {
            return Err(foreign("it is longer than a usage file can be"));
        }
        let file = UsageFile {
            path: path.to_owned(),
            replica,
            file,
            segments: (0..MOST_SEGMENTS).map(|_| OnceLock::new()).collect(),
        };
        for segment in 0..segments {
            file.map_segment(segment).map_err(failed)?;
        }
        Ok(file)
    }

    /// The file's own place, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whose rows these are.
    pub(crate) fn replica(&self) -> Replica {
        self.replica
    }

    /// Slots of the segments that are mapped.
    pub(crate) fn len(&self) -> usize {
        self.segments.iter().take_while(|segment| segment.get().is_some()).count() * SEGMENT_SLOTS
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
        let offset = HEADER_BYTES + segment as u64 * SEGMENT_BYTES;
        if self.file.metadata()?.len() < offset + SEGMENT_BYTES {
            self.file.set_len(offset + SEGMENT_BYTES)?;
        }
        let words = Words::map(&self.file, offset, SEGMENT_SLOTS * SLOT_WORDS)?;
        // Mapped twice by nobody: growing is done under the ledger's lock.
        let _ = self.segments[segment].set(words);
        Ok(())
    }

    #[inline]
    fn word(&self, slot: u32, word: usize) -> Option<&AtomicU64> {
        let slot = slot as usize;
        let words = self.segments.get(slot / SEGMENT_SLOTS)?.get()?;
        words.get(slot % SEGMENT_SLOTS * SLOT_WORDS + word)
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

/// The word of settled units.
fn coded(units: u64) -> u64 {
    // Wraps only where units are absurd, which is seen when they are read.
    units.wrapping_mul(2 * CODE)
}

/// Units of a word, and whether they are unsettled; None for a word that no sum gives.
fn decoded(word: u64) -> Option<(u64, bool)> {
    let twice = word / CODE;
    word.is_multiple_of(CODE).then_some((twice / 2, twice % 2 == 1))
}

/// Writes a new file beside the place and moves it there, so that it is whole or absent.
fn make(path: &Path, header: &[u64], slots: &[u64]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let mut bytes: Vec<u8> = header.iter().flat_map(|word| word.to_ne_bytes()).collect();
    bytes.resize(HEADER_BYTES as usize, 0);
    bytes.extend(slots.iter().flat_map(|word| word.to_ne_bytes()));
    let mut file = open_shared(&fresh).map_err(io::Error::other)?;
    file.set_len(0)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    fs::rename(&fresh, path)
}

fn header(service: Service, identity: u64, replica: Replica) -> Vec<u64> {
    let segment = SEGMENT_SLOTS as u64;
    closed(&[MARK, FORMAT, service.place() as u64, segment, identity, replica.number()])
}

/// The words of a header with their check.
fn closed(words: &[u64]) -> Vec<u64> {
    let mut header = words.to_vec();
    header.push(hash(words));
    header
}

/// Whose file it is, if it is one of this service and store.
fn check_header(found: &Words, service: Service, identity: u64) -> Result<Replica, &'static str> {
    let word = |place| found.get(place).map_or(0, |word| word.load(Ordering::Acquire));
    let found: Vec<u64> = (0..7).map(word).collect();
    let replica = Replica::from_number(found[5]);
    let expected = header(service, identity, replica);
    match () {
        () if found[0] == MARK.swap_bytes() => Err("it comes from a machine of other byte order"),
        () if found[0] != MARK => Err("it is no usage file"),
        () if found[1] > FORMAT => Err("a newer Portolan wrote it"),
        () if former::begins(&found) => {
            Err("an older Portolan wrote it, and the next start reads it")
        }
        () if closed(&found[..6]) != found => Err("its header is damaged"),
        () if found[2] != expected[2] => Err("it counts for the other service"),
        () if found[4] != identity => Err("it belongs to another store"),
        () if found != expected => Err("it has another format"),
        () => Ok(replica),
    }
}

/// Hash of what a row counts; never 0, which is a free slot.
fn check(name: RowName) -> u64 {
    let chain = u64::from_le_bytes(name.chain.bytes());
    hash(&[name.account, name.key, chain, u64::from(name.hour)]).max(1)
}

/// FNV-1a over the words, with a last mix: finds tears and damage, not forgery.
fn hash(words: &[u64]) -> u64 {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests;
