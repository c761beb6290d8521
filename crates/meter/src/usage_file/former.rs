//! Usage files of the formats before this one.
//!
//! Format 1 kept units as they are, with their highest bit for what was unsettled; neither 1 nor 2
//! had the number of a replica. Such a file is written anew once, by the process that holds the
//! service. Invariant: a file that is not whole and ours is left to be refused.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::header::{self, PLAIN, UNNUMBERED};
use super::layout::{HEADER_BYTES, MOST_SEGMENTS, SEGMENT_BYTES, SLOT_WORDS};
use super::slot::{ABSURD_UNITS, CHECK, UNITS, UNSETTLED, coded};
use crate::Service;

const PLAIN_UNSETTLED: u64 = 1 << 63;

/// The slots of a file of a former format, in the words of this one; None for any other file.
pub(super) fn slots(path: &Path, service: Service, identity: u64) -> io::Result<Option<Vec<u64>>> {
    let mut file = File::open(path)?;
    let mut begin = Vec::new();
    (&mut file).take(HEADER_BYTES).read_to_end(&mut begin)?;
    let begin = words(&begin);
    let formats = [PLAIN, UNNUMBERED];
    let of = |format: &&u64| begin.starts_with(&header::former(**format, service, identity));
    let Some(format) = formats.iter().find(of) else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(MOST_SEGMENTS as u64 * SEGMENT_BYTES).read_to_end(&mut bytes)?;
    let mut slots = words(&bytes);
    if *format == PLAIN {
        slots.as_chunks_mut::<SLOT_WORDS>().0.iter_mut().for_each(translate);
    }
    Ok(Some(slots))
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
