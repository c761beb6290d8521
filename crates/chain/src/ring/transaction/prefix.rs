//! Inputs, outputs and `extra`: the part that every version has.
//!
//! Source: monero, src/cryptonote_basic/cryptonote_basic.h, `transaction_prefix`.

use super::{Input, Output, RingCt, Transaction};
use crate::ring::bytes32::Key;
use crate::ring::varint;
use crate::utxo::{ByteReader, DecodeError, Problem};

const COINBASE: u8 = 0xff;
const TO_KEY: u8 = 0x02;
const TO_TAGGED_KEY: u8 = 0x03;

/// Bytes of the shortest input, a coinbase, and of the shortest output.
const INPUT_LEAST_BYTES: usize = 2;
const OUTPUT_LEAST_BYTES: usize = 34;

/// Reads the prefix; what follows is for the caller to fill in.
pub(super) fn read<'a>(reader: &mut ByteReader<'a>) -> Result<Transaction<'a>, DecodeError> {
    let start = reader.clone();
    let version = match varint::read(reader)? {
        1 => 1,
        2 => 2,
        _ => return Err(start.fault(Problem::Version)),
    };
    let unlock_time = varint::read(reader)?;
    // Not reserved: an input in memory is many times the shortest one on the wire.
    let mut inputs = Vec::new();
    for _ in 0..varint::count(reader, INPUT_LEAST_BYTES)? {
        inputs.push(read_input(reader)?);
    }
    let count = varint::count(reader, OUTPUT_LEAST_BYTES)?;
    let outputs: Result<_, _> = (0..count).map(|_| read_output(reader)).collect();
    let (outputs, extra) = (outputs?, varint::prefixed(reader)?);
    Ok(Transaction {
        version,
        unlock_time,
        inputs,
        outputs,
        extra,
        ring_ct: RingCt::Absent,
        raw: &[],
        ends: (0, 0),
        is_whole: false,
        room: None,
    })
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
