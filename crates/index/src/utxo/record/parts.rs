//! The parts of a record's row in their order, for whoever knows them at different times.
//!
//! Invariant: a row is the same bytes whoever writes it.

use chain::Hash32;

use crate::row::{BadRow, RowReader, put_prefixed, put_signed, put_varint};

/// It is a coinbase: without fee, with the script of its input.
pub(crate) const COINBASE: u8 = 1;
/// The previous txids stand behind the inputs.
pub(crate) const NAMED: u8 = 2;
/// An output has tokens, so that of each it is said which.
pub(crate) const TOKENS: u8 = 4;
/// Outputs replaced those of an earlier twin.
pub(crate) const REPLACED: u8 = 8;
pub(super) const KNOWN: u8 = COINBASE | NAMED | TOKENS | REPLACED;

/// What a row begins with, behind the marks.
pub(crate) struct Start {
    pub(crate) txid: Hash32,
    pub(crate) version: i32,
    pub(crate) lock_time: u32,
    pub(crate) size: u32,
    pub(crate) vsize: u32,
}

/// Marks, txid, version, lock time, size, size less vsize.
pub(crate) fn put_start(out: &mut Vec<u8>, marks: u8, start: &Start) {
    out.push(marks);
    out.extend_from_slice(start.txid.wire());
    put_signed(out, start.version.into());
    put_varint(out, start.lock_time.into());
    put_varint(out, start.size.into());
    put_signed(out, i128::from(start.size) - i128::from(start.vsize));
}

/// The fee, which a coinbase lacks.
pub(crate) fn put_fee(out: &mut Vec<u8>, fee: i128) {
    put_signed(out, fee);
}

/// An input of the transaction at `txnum`; their number stands before them.
pub(crate) fn put_input(out: &mut Vec<u8>, txnum: u64, previous: u64, vout: u32, sequence: u32) {
    put_signed(out, i128::from(txnum) - i128::from(previous));
    put_varint(out, vout.into());
    put_sequence(out, sequence);
}

/// The previous txid of an input.
pub(crate) fn put_name(out: &mut Vec<u8>, name: &Hash32) {
    out.extend_from_slice(name.wire());
}

/// The input of a coinbase.
pub(crate) fn put_coinbase(out: &mut Vec<u8>, script: &[u8], sequence: u32) {
    put_prefixed(out, script);
    put_sequence(out, sequence);
}

/// Places of outputs that replaced others; nothing where there are none.
pub(crate) fn put_replaced(out: &mut Vec<u8>, replaced: &[u32]) {
    if !replaced.is_empty() {
        put_varint(out, replaced.len() as u64);
        replaced.iter().for_each(|vout| put_varint(out, (*vout).into()));
    }
}

/// The usual sequence numbers take one byte.
const USUAL: [u32; 4] = [u32::MAX, u32::MAX - 1, u32::MAX - 2, 0];

fn put_sequence(out: &mut Vec<u8>, sequence: u32) {
    match USUAL.iter().position(|usual| *usual == sequence) {
        Some(place) => out.push(place as u8),
        None => {
            out.push(USUAL.len() as u8);
            out.extend_from_slice(&sequence.to_be_bytes());
        }
    }
}

pub(super) fn read_sequence(reader: &mut RowReader<'_>) -> Result<u32, BadRow> {
    let code = usize::from(reader.u8()?);
    match USUAL.get(code) {
        Some(sequence) => Ok(*sequence),
        None if code == USUAL.len() => reader.u32(),
        None => Err(BadRow),
    }
}
