//! A chain in a file: raw blocks, each with its length before it (u32 little-endian).
//!
//! Invariant: nothing is read but lengths and headers; a block's bytes are those of the file.

use std::fs::File;
use std::io;
use std::path::Path;

use bytes::Bytes;
use chain::utxo::Header;
use memmap2::Mmap;

use super::invalid;
use super::ledger::Ledger;

/// Puts the blocks of a file on the tip.
pub(super) fn load(path: &Path, ledger: &mut Ledger) -> io::Result<()> {
    let file = File::open(path)?;
    // SAFETY: the file is only read, and the one who benchmarks changes no chain while it is
    // served; a file that is cut off meanwhile ends a process that holds nothing worth keeping.
    let map = unsafe { Mmap::map(&file) }?;
    let mut rest = Bytes::from_owner(map);
    let cut_off = || invalid("the file is cut off");
    while !rest.is_empty() {
        let length = rest.first_chunk::<4>().ok_or_else(cut_off)?;
        let end = (u32::from_le_bytes(*length) as usize).checked_add(4).ok_or_else(cut_off)?;
        if end > rest.len() {
            return Err(cut_off());
        }
        let block = rest.split_to(end).slice(4..);
        let (header, _) = Header::at_front(&block, &ledger.format).map_err(invalid)?;
        if header.previous != ledger.tip().header.hash {
            return Err(invalid(format!("block {} stands on another one", header.hash)));
        }
        ledger.push(header, block);
    }
    Ok(())
}
