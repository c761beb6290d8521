//! Usage files of the format before this one.
//!
//! Format 1 kept units as they are, with their highest bit for what was unsettled. Such a file is
//! written anew once, by the process that holds the service. Invariant: a file that is not whole
//! and ours is left to be refused.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::{
    ABSURD_UNITS, CHECK, HEADER_BYTES, MOST_SEGMENTS, SEGMENT_BYTES, SLOT_WORDS, UNITS, UNSETTLED,
    coded, header,
};
use crate::Service;

const FORMAT: u64 = 1;
const FORMER_UNSETTLED: u64 = 1 << 63;

/// The slots of a file of the former format, in the words of this one; None for any other file.
pub(super) fn slots(path: &Path, service: Service, identity: u64) -> io::Result<Option<Vec<u64>>> {
    let mut file = File::open(path)?;
    let mut begin = Vec::new();
    (&mut file).take(HEADER_BYTES).read_to_end(&mut begin)?;
    if !words(&begin).starts_with(&header(FORMAT, service, identity)) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(MOST_SEGMENTS as u64 * SEGMENT_BYTES).read_to_end(&mut bytes)?;
    let mut slots = words(&bytes);
    for slot in slots.as_chunks_mut::<SLOT_WORDS>().0 {
        let unsettled = if slot[UNITS] & FORMER_UNSETTLED == 0 { 0 } else { UNSETTLED };
        let units = slot[UNITS] & !FORMER_UNSETTLED;
        match slot[CHECK] {
            0 => slot.fill(0),
            _ if units < ABSURD_UNITS => slot[UNITS] = coded(units) + unsettled,
            // No multiple: damaged here as it was there.
            _ => slot[UNITS] = 1,
        }
    }
    Ok(Some(slots))
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect()
}
