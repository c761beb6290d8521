//! What a waiting transaction of the MimbleWimble extension will take up outside of it.
//!
//! A block's HogEx has an input for each peg-in and an output for each peg-out; their bytes count
//! as the transaction's until it is mined. Source: Litecoin Core, src/consensus/validation.h
//! (GetTransactionWeight), src/libmw/include/mw/models/tx. Invariant: what cannot be read to its
//! end adds nothing.

use crate::utxo::byte_reader::{ByteReader, DecodeError};

/// Bytes of an input of the HogEx.
const PEG_IN_BYTES: usize = 41;
/// Bytes of an output's value.
const VALUE_BYTES: usize = 8;

const KEY: usize = 33;
const COMMITMENT: usize = 33;
const SIGNATURE: usize = 64;
const HASH: usize = 32;
const RANGE_PROOF: usize = 675;
/// A key, a tag of a byte, a masked value and a masked nonce.
const STANDARD_FIELDS: usize = KEY + 1 + 8 + 16;
/// The offsets of kernels and of stealth keys.
const OFFSETS: usize = 2 * 32;

/// Bytes that peg-ins and peg-outs of a transaction's extension data take in the HogEx.
pub(super) fn pegged_bytes(data: &[u8]) -> usize {
    let mut reader = ByteReader::new(data);
    match kernels(&mut reader) {
        Ok(bytes) if reader.remaining() == 0 => bytes,
        _ => 0,
    }
}

fn kernels(reader: &mut ByteReader<'_>) -> Result<usize, DecodeError> {
    reader.take(OFFSETS)?;
    for _ in 0..reader.count(1 + HASH + COMMITMENT + KEY + SIGNATURE)? {
        skip_input(reader)?;
    }
    for _ in 0..reader.count(COMMITMENT + 2 * KEY + 1 + RANGE_PROOF + SIGNATURE)? {
        skip_output(reader)?;
    }
    let mut bytes = 0;
    for _ in 0..reader.count(1 + COMMITMENT + SIGNATURE)? {
        bytes += kernel(reader)?;
    }
    Ok(bytes)
}

fn skip_input(reader: &mut ByteReader<'_>) -> Result<(), DecodeError> {
    let features = reader.u8()?;
    reader.take(HASH + COMMITMENT + KEY)?;
    if features & 1 != 0 {
        reader.take(KEY)?;
    }
    if features & 2 != 0 {
        reader.prefixed()?;
    }
    reader.take(SIGNATURE).map(drop)
}

fn skip_output(reader: &mut ByteReader<'_>) -> Result<(), DecodeError> {
    reader.take(COMMITMENT + 2 * KEY)?;
    let features = reader.u8()?;
    if features & 1 != 0 {
        reader.take(STANDARD_FIELDS)?;
    }
    if features & 2 != 0 {
        reader.prefixed()?;
    }
    reader.take(RANGE_PROOF + SIGNATURE).map(drop)
}

fn kernel(reader: &mut ByteReader<'_>) -> Result<usize, DecodeError> {
    let features = reader.u8()?;
    let has = |bit: u8| features & 1 << bit != 0;
    let mut bytes = 0;
    // A fee.
    if has(0) {
        skip_number(reader)?;
    }
    // A peg-in.
    if has(1) {
        skip_number(reader)?;
        bytes += PEG_IN_BYTES;
    }
    // Peg-outs.
    if has(2) {
        for _ in 0..reader.count(2)? {
            skip_number(reader)?;
            let script = reader.offset();
            reader.prefixed()?;
            bytes += VALUE_BYTES + reader.since(script).len();
        }
    }
    // A height before which it is not valid.
    if has(3) {
        skip_number(reader)?;
    }
    // A key of its own.
    if has(4) {
        reader.take(KEY)?;
    }
    // Data without a meaning.
    if has(5) {
        reader.prefixed()?;
    }
    reader.take(COMMITMENT + SIGNATURE)?;
    Ok(bytes)
}

/// Steps over a number of seven bits a byte.
fn skip_number(reader: &mut ByteReader<'_>) -> Result<(), DecodeError> {
    while reader.u8()? & 0x80 != 0 {}
    Ok(())
}
