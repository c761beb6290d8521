//! Numbers of variable length: seven bits a byte, the lowest first.
//!
//! Source: monero, src/common/varint.h. Invariant: what does not fit into 64 bits or has a needless
//! last byte is refused, as every node does.

use crate::utxo::{ByteReader, DecodeError, Problem};

/// The longest form of 64 bits.
const LONGEST: usize = 10;

/// Reads a number.
pub(super) fn read(reader: &mut ByteReader<'_>) -> Result<u64, DecodeError> {
    let start = reader.clone();
    let mut value = 0_u64;
    for shift in (0..).step_by(7).take(LONGEST) {
        let byte = reader.u8()?;
        let low = u64::from(byte & 0x7f);
        if low << shift >> shift != low || (byte == 0 && shift > 0) {
            return Err(start.fault(Problem::Number));
        }
        value |= low << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(start.fault(Problem::Number))
}

/// Reads a count of items that take at least `least_bytes` each.
pub(super) fn count(reader: &mut ByteReader<'_>, least_bytes: usize) -> Result<usize, DecodeError> {
    let start = reader.clone();
    let count = usize::try_from(read(reader)?).unwrap_or(usize::MAX);
    match count > reader.remaining() / least_bytes {
        true => Err(start.fault(Problem::Count)),
        false => Ok(count),
    }
}

/// Reads bytes after their length.
pub(super) fn prefixed<'a>(reader: &mut ByteReader<'a>) -> Result<&'a [u8], DecodeError> {
    let length = usize::try_from(read(reader)?).unwrap_or(usize::MAX);
    reader.take(length)
}

/// The bytes of a number.
pub(super) fn bytes(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(LONGEST);
    while value >= 0x80 {
        bytes.push(0x80 | (value & 0x7f) as u8);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_longer_forms_are_refused() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), 1 << 63, u64::MAX] {
            let bytes = bytes(value);
            let mut reader = ByteReader::new(&bytes);
            assert_eq!((read(&mut reader), reader.remaining()), (Ok(value), 0));
        }
        let too_large = [&[0xff; 9][..], &[2]].concat();
        for bad in [&[0x80, 0][..], &[0xff; 11], &too_large] {
            let error = read(&mut ByteReader::new(bad)).unwrap_err();
            assert_eq!(error, DecodeError { offset: 0, problem: Problem::Number });
        }
        let short = read(&mut ByteReader::new(&[0x80])).unwrap_err();
        assert_eq!(short.problem, Problem::Short);
        assert_eq!(count(&mut ByteReader::new(&[3, 0, 0]), 1).unwrap_err().problem, Problem::Count);
    }
}
