//! Inputs, outputs and `extra`: the part that every version has.
//!
//! Source: monero, src/cryptonote_basic/cryptonote_basic.h, `transaction_prefix`.

use super::{Input, Output, Transaction};
use crate::ring::bytes32::Key;
use crate::ring::varint;
use crate::utxo::{ByteReader, DecodeError, Problem};

const COINBASE: u8 = 0xff;
const TO_KEY: u8 = 0x02;
const TO_TAGGED_KEY: u8 = 0x03;

/// Bytes of the shortest input, a coinbase, and of the shortest output.
const INPUT_LEAST_BYTES: usize = 2;
const OUTPUT_LEAST_BYTES: usize = 34;

/// Reads the prefix; what follows is for the caller to fill in. What was read before an error
/// stands.
pub(super) fn read<'a>(
    reader: &mut ByteReader<'a>,
    transaction: &mut Transaction<'a>,
) -> Result<(), DecodeError> {
    let start = reader.clone();
    let version = || start.fault(Problem::Version);
    transaction.version = u8::try_from(varint::read(reader)?).map_err(|_| version())?;
    if !(1..=2).contains(&transaction.version) {
        return Err(version());
    }
    transaction.unlock_time = varint::read(reader)?;
    let count = varint::count(reader, INPUT_LEAST_BYTES)?;
    transaction.counts[0] = Some(count);
    // Not reserved: an input in memory is many times the shortest one on the wire.
    for _ in 0..count {
        transaction.inputs.push(read_input(reader)?);
    }
    let count = varint::count(reader, OUTPUT_LEAST_BYTES)?;
    transaction.counts[1] = Some(count);
    transaction.outputs.reserve_exact(count);
    for _ in 0..count {
        transaction.outputs.push(read_output(reader)?);
    }
    transaction.extra = varint::prefixed(reader)?;
    Ok(())
}

fn read_input(reader: &mut ByteReader<'_>) -> Result<Input, DecodeError> {
    let start = reader.clone();
    match reader.u8()? {
        COINBASE => Ok(Input::Coinbase { height: varint::read(reader)? }),
        TO_KEY => {
            let amount = varint::read(reader)?;
            let ring = read_ring(reader)?;
            Ok(Input::Key { amount, ring, key_image: Key(reader.array()?) })
        }
        _ => Err(start.fault(Problem::InputKind)),
    }
}

/// Differences of indices; those that add up to more than there can be outputs lead nowhere.
fn read_ring(reader: &mut ByteReader<'_>) -> Result<Vec<u64>, DecodeError> {
    let count = varint::count(reader, 1)?;
    let mut ring = Vec::with_capacity(count);
    let mut last = 0_u64;
    for _ in 0..count {
        let start = reader.clone();
        let next = last.checked_add(varint::read(reader)?);
        last = next.ok_or_else(|| start.fault(Problem::Number))?;
        ring.push(last);
    }
    Ok(ring)
}

fn read_output(reader: &mut ByteReader<'_>) -> Result<Output, DecodeError> {
    let amount = varint::read(reader)?;
    let start = reader.clone();
    let kind = reader.u8()?;
    if kind != TO_KEY && kind != TO_TAGGED_KEY {
        return Err(start.fault(Problem::OutputKind));
    }
    let key = Key(reader.array()?);
    let view_tag = if kind == TO_TAGGED_KEY { Some(reader.u8()?) } else { None };
    Ok(Output { amount, key, view_tag })
}
