//! Usage files of the formats before this one.
//!
//! Format 1 kept units as they are, with their highest bit for what was unsettled; neither 1 nor 2
//! had the number of a replica. Such a file is written anew once, by the process that holds the
//! service. Invariant: a file that is not whole and ours is left to be refused.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::{
    ABSURD_UNITS, CHECK, HEADER_BYTES, MARK, MOST_SEGMENTS, SEGMENT_BYTES, SEGMENT_SLOTS,
    SLOT_WORDS, UNITS, UNSETTLED, closed, coded,
};
use crate::Service;

/// Format 1, with units as they are.
const PLAIN: u64 = 1;
/// Format 2, with units as they are now.
const UNNUMBERED: u64 = 2;
const PLAIN_UNSETTLED: u64 = 1 << 63;

/// The slots of a file of a former format, in the words of this one; None for any other file.
pub(super) fn slots(path: &Path, service: Service, identity: u64) -> io::Result<Option<Vec<u64>>> {
    let mut file = File::open(path)?;
    let mut begin = Vec::new();
    (&mut file).take(HEADER_BYTES).read_to_end(&mut begin)?;
    let begin = words(&begin);
    let formats = [PLAIN, UNNUMBERED];
    let of = |format: &&u64| begin.starts_with(&header(**format, service, identity));
    let Some(format) = formats.iter().find(of) else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(MOST_SEGMENTS as u64 * SEGMENT_BYTES).read_to_end(&mut bytes)?;
    let mut slots = words(&bytes);
    if *format == PLAIN {
        slots.as_chunks_mut::<SLOT_WORDS>().0.iter_mut().for_each(translate);
    }
    Ok(Some(slots))
}

/// Is that the begin of a whole header of a former format?
pub(super) fn begins(found: &[u64]) -> bool {
    let formats = [PLAIN, UNNUMBERED];
    formats.contains(&found[1]) && closed(&found[..5]) == found[..6]
}

/// A header of a former format.
pub(super) fn header(format: u64, service: Service, identity: u64) -> Vec<u64> {
    closed(&[MARK, format, service.place() as u64, SEGMENT_SLOTS as u64, identity])
}

/// Brings a slot of format 1 into the words of this one.
fn translate(slot: &mut [u64; SLOT_WORDS]) {
    let unsettled = if slot[UNITS] & PLAIN_UNSETTLED == 0 { 0 } else { UNSETTLED };
    let units = slot[UNITS] & !PLAIN_UNSETTLED;
    match slot[CHECK] {
        0 => slot.fill(0),
        _ if units < ABSURD_UNITS => slot[UNITS] = coded(units) + unsettled,
        // No multiple: damaged here as it was there.
        _ => slot[UNITS] = 1,
    }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect()
}
