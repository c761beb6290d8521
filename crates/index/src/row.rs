//! The bytes of keys and values: integers, varints and slices, written and read.
//!
//! Leaves the order of fields to the schemas. Invariants: key integers are big-endian; a varint
//! has one form; reading past the end or over a longer form is an error, never a panic.

use crate::ReadError;

/// Bytes that are no row of the table they were read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRow;

impl BadRow {
    /// The error of a read that met such bytes.
    pub(crate) fn of(self, table: &str) -> ReadError {
        ReadError::Damaged(format!("a row of {table} makes no sense"))
    }
}

/// Appends a number of 7 bits a byte, lowest first; the high bit says that more follow.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The same for 128 bits.
pub(crate) fn put_varint_128(out: &mut Vec<u8>, mut value: u128) {
    while value > u128::from(u64::MAX) {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    put_varint(out, value as u64);
}

/// Appends a signed number, small ones of either sign in few bytes.
pub(crate) fn put_signed(out: &mut Vec<u8>, value: i128) {
    put_varint_128(out, ((value << 1) ^ (value >> 127)) as u128);
}

/// Appends bytes after their length.
pub(crate) fn put_prefixed(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The low 40 bits of a number, big-endian.
pub(crate) fn u40(value: u64) -> [u8; 5] {
    let [_, _, _, rest @ ..] = value.to_be_bytes();
    rest
}

/// The number of 40 bits.
pub(crate) fn of_u40(bytes: [u8; 5]) -> u64 {
    let [a, b, c, d, e] = bytes;
    u64::from_be_bytes([0, 0, 0, a, b, c, d, e])
}

/// Reads from the front of a row.
#[derive(Clone, Copy)]
pub(crate) struct RowReader<'a>(&'a [u8]);

impl<'a> RowReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> RowReader<'a> {
        RowReader(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Everything that was not read.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], BadRow> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(BadRow)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], BadRow> {
        let (array, rest) = self.0.split_first_chunk().ok_or(BadRow)?;
        self.0 = rest;
        Ok(*array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, BadRow> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, BadRow> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u40(&mut self) -> Result<u64, BadRow> {
        self.array().map(of_u40)
    }

    pub(crate) fn varint(&mut self) -> Result<u64, BadRow> {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift > 63 || (shift == 63 && bits > 1) {
                return Err(BadRow);
            }
            value |= bits << shift;
            if byte < 0x80 {
                return if byte == 0 && shift > 0 { Err(BadRow) } else { Ok(value) };
            }
            shift += 7;
        }
    }

    pub(crate) fn varint_128(&mut self) -> Result<u128, BadRow> {
        let (mut value, mut shift) = (0u128, 0);
        loop {
            let byte = self.u8()?;
            let bits = u128::from(byte & 0x7f);
            if shift > 126 || (shift == 126 && bits > 3) {
                return Err(BadRow);
            }
            value |= bits << shift;
            if byte < 0x80 {
                return if byte == 0 && shift > 0 { Err(BadRow) } else { Ok(value) };
            }
            shift += 7;
        }
    }

    pub(crate) fn signed(&mut self) -> Result<i128, BadRow> {
        let value = self.varint_128()?;
        Ok((value >> 1) as i128 ^ -((value & 1) as i128))
    }

    /// A varint that fits into 32 bits.
    pub(crate) fn small(&mut self) -> Result<u32, BadRow> {
        self.varint()?.try_into().map_err(|_| BadRow)
    }

    /// A count of items of at least one byte each.
    pub(crate) fn count(&mut self) -> Result<usize, BadRow> {
        let count = usize::try_from(self.varint()?).map_err(|_| BadRow)?;
        if count > self.0.len() { Err(BadRow) } else { Ok(count) }
    }

    pub(crate) fn prefixed(&mut self) -> Result<&'a [u8], BadRow> {
        let length = self.count()?;
        self.take(length)
    }

    pub(crate) fn end(&self) -> Result<(), BadRow> {
        if self.0.is_empty() { Ok(()) } else { Err(BadRow) }
    }
}

#[cfg(test)]
mod tests;
