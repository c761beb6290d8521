//! What one script adds up to, as `totals_by_script` keeps it.
//!
//! Invariant: sums are never bent to fit; a count that would fall below nothing is an error.

use super::txnums::{is_inline, put_txnums, read_txnums};
use crate::row::{BadRow, RowReader, put_varint, put_varint_128};

/// More than any chain can hold: txnums have 40 bits, an output's place has 24 and its value 64.
const TX_COUNTS: u64 = 1 << 40;
const OUTPUT_COUNTS: u64 = 1 << 62;
const SUMS: u128 = 1 << 126;

/// The confirmed totals of one script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Transactions that touch it.
    pub(crate) tx_count: u64,
    /// Outputs that pay it and are unspent.
    pub(crate) unspent_count: u64,
    /// Sum of all outputs that ever paid it.
    pub(crate) received: u128,
    /// Sum of those that were spent.
    pub(crate) sent: u128,
    /// The txnums, where they are few ([`is_inline`]); else empty, and they are in chunks.
    pub(crate) inline: Vec<u64>,
}

impl Totals {
    /// `tx count, unspent count, received, sent` as varints, then the inline txnums: the first
    /// one and the differences.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(24);
        self.put(&mut out, &self.inline);
        out
    }

    /// The same with other inline txnums.
    pub(crate) fn put(&self, out: &mut Vec<u8>, inline: &[u64]) {
        put_varint(out, self.tx_count);
        put_varint(out, self.unspent_count);
        put_varint_128(out, self.received);
        put_varint_128(out, self.sent);
        put_txnums(out, inline);
    }

    pub(crate) fn read(row: &[u8]) -> Result<Totals, BadRow> {
        let mut reader = RowReader::new(row);
        let mut totals = Totals {
            tx_count: reader.varint()?,
            unspent_count: reader.varint()?,
            received: reader.varint_128()?,
            sent: reader.varint_128()?,
            inline: Vec::new(),
        };
        let Totals { tx_count, unspent_count, received, sent, .. } = totals;
        if tx_count > TX_COUNTS || unspent_count > OUTPUT_COUNTS || received > SUMS {
            return Err(BadRow);
        }
        if tx_count == 0 || sent > received {
            return Err(BadRow);
        }
        if is_inline(tx_count) {
            totals.inline = read_txnums(&mut reader)?;
            if totals.inline.len() as u64 != tx_count {
                return Err(BadRow);
            }
        }
        reader.end()?;
        Ok(totals)
    }
}
