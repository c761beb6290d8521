//! The transactions of one script: a few in its totals, else chunks of 1,000.
//!
//! Leaves reading and committing to its callers. Invariant: the layout follows from the list
//! alone, however it came about, so that taking a block back restores every byte.

use crate::row::{BadRow, RowReader, put_varint};

/// Up to so many txnums stand in the totals and there are no chunks.
pub(crate) const INLINE: usize = 4;
/// Every chunk but the last has so many txnums.
pub(crate) const CHUNK: u64 = 1000;

/// The chunk of the `ordinal`th transaction, counted from the oldest.
pub(crate) fn chunk_of(ordinal: u64) -> u32 {
    (ordinal / CHUNK) as u32
}

/// The value of a chunk: the first txnum and the differences, as varints.
pub(crate) fn chunk_bytes(txnums: &[u64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(txnums.len() * 3 + 5);
    let mut last = 0;
    for txnum in txnums {
        put_varint(&mut out, txnum - last);
        last = *txnum;
    }
    out
}

/// Reads a chunk.
pub(crate) fn read_chunk(row: &[u8]) -> Result<Vec<u64>, BadRow> {
    let mut reader = RowReader::new(row);
    let mut txnums = Vec::with_capacity(row.len().min(CHUNK as usize));
    let mut last = 0u64;
    while !reader.is_empty() {
        // Genesis, whose txnum is 0, is in no history: every step goes on.
        let step = reader.varint()?;
        if step == 0 || txnums.len() as u64 == CHUNK {
            return Err(BadRow);
        }
        last = last.checked_add(step).ok_or(BadRow)?;
        txnums.push(last);
    }
    Ok(txnums)
}
