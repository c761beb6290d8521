//! Reads the primitives of the wire format from a slice.
//!
//! Invariant: a read never goes past the end, and an error says at which byte it happened.

use crate::Hash32;

/// Bytes that are no block or transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at byte {offset}")]
pub struct DecodeError {
    /// Where, counted from the start of the block or transaction.
    pub offset: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with bytes that are no block or transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The bytes end inside a value.
    #[error("the bytes end too early")]
    Short,
    /// Bytes are left over.
    #[error("bytes are left over")]
    Trailing,
    /// A length is not written in the shortest way.
    #[error("a length is not in its shortest form")]
    Length,
    /// A count of more items than the remaining bytes can hold.
    #[error("a count of more items than there are bytes for")]
    Count,
    /// An amount above 2^63 - 1.
    #[error("an amount is out of range")]
    Amount,
    /// A version of a transaction that nothing is known about.
    #[error("unknown version of a transaction")]
    Version,
    /// Flags of a transaction that nothing is known about, or none after a marker.
    #[error("unknown transaction flags")]
    Flags,
    /// A block without transactions, or a transaction in it without inputs or outputs.
    #[error("nothing where a block must have something")]
    Empty,
    /// A transaction in a block that carries extension data of its own.
    #[error("extension data inside a block's transaction")]
    Extension,
    /// A number of variable length that is not in its shortest form, or too large.
    #[error("a number is not in its shortest form or too large")]
    Number,
    /// An input of a kind that nothing is known about.
    #[error("unknown kind of an input")]
    InputKind,
    /// An output of a kind that nothing is known about.
    #[error("unknown kind of an output")]
    OutputKind,
    /// A proof whose parts do not fit each other or the transaction.
    #[error("a proof that does not fit the transaction")]
    Proof,
}

/// Reads from the front of a slice.
#[derive(Clone)]
pub(crate) struct ByteReader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> ByteReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> ByteReader<'a> {
        ByteReader { bytes, offset: 0 }
    }

    /// How many bytes were read.
    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    /// How many bytes are left.
    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.offset
    }

    /// The bytes read since `start`, an earlier offset.
    pub(crate) fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start..self.offset]
    }

    /// The error that `problem` is at this place.
    pub(crate) fn fault(&self, problem: Problem) -> DecodeError {
        DecodeError { offset: self.offset, problem }
    }

    /// The next byte, which stays unread.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.offset).copied()
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let rest = &self.bytes[self.offset..];
        let taken = rest.get(..count).ok_or_else(|| self.fault(Problem::Short))?;
        self.offset += count;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let rest = &self.bytes[self.offset..];
        let array = *rest.first_chunk().ok_or_else(|| self.fault(Problem::Short))?;
        self.offset += N;
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn i32(&mut self) -> Result<i32, DecodeError> {
        self.array().map(i32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn hash(&mut self) -> Result<Hash32, DecodeError> {
        self.array().map(Hash32::from_wire)
    }

    /// A compact size; a longer form than needed is refused, as every node does.
    pub(crate) fn compact_size(&mut self) -> Result<u64, DecodeError> {
        let start = self.clone();
        let (value, least) = match self.u8()? {
            0xfd => (u16::from_le_bytes(self.array()?).into(), 0xfd),
            0xfe => (self.u32()?.into(), 0x1_0000),
            0xff => (self.u64()?, 0x1_0000_0000),
            small => (small.into(), 0),
        };
        if value < least { Err(start.fault(Problem::Length)) } else { Ok(value) }
    }

    /// A count of items that take at least `least_bytes` each.
    pub(crate) fn count(&mut self, least_bytes: usize) -> Result<usize, DecodeError> {
        let start = self.clone();
        let count = usize::try_from(self.compact_size()?).unwrap_or(usize::MAX);
        if count > self.remaining() / least_bytes {
            Err(start.fault(Problem::Count))
        } else {
            Ok(count)
        }
    }

    /// Bytes after their length.
    pub(crate) fn prefixed(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = usize::try_from(self.compact_size()?).unwrap_or(usize::MAX);
        self.take(length)
    }

    /// The end of the bytes.
    pub(crate) fn end(&self) -> Result<(), DecodeError> {
        if self.remaining() == 0 { Ok(()) } else { Err(self.fault(Problem::Trailing)) }
    }
}

#[cfg(test)]
mod tests;
