//! Lists of transactions by their places in the chain, as totals and chunks of histories have them.
//!
//! Invariant: how many stand where follows from the length of the whole list alone.

use crate::row::{BadRow, RowReader, put_varint};

/// Up to so many txnums stand in the totals and there are no chunks.
const INLINE: u64 = 4;
/// Every chunk but the last has so many txnums.
pub(super) const CHUNK: u64 = 1000;

/// Whether so many transactions stand in the totals.
pub(crate) fn is_inline(tx_count: u64) -> bool {
    tx_count <= INLINE
}

/// Writes ascending txnums: the first one and the differences, as varints.
pub(crate) fn put_txnums(out: &mut Vec<u8>, txnums: &[u64]) {
    let mut last = 0;
    for txnum in txnums {
        put_varint(out, txnum - last);
        last = *txnum;
    }
}

/// Reads such a list up to the end of the row.
pub(crate) fn read_txnums(reader: &mut RowReader<'_>) -> Result<Vec<u64>, BadRow> {
    let mut txnums = Vec::new();
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
