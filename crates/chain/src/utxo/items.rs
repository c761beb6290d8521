//! Lists of a known length whose items differ in theirs.
//!
//! Invariant: whatever is walked was stepped through once before, so that walking it cannot fail.

use super::byte_reader::{ByteReader, DecodeError};

/// Steps through a counted list, and gives the bytes of its items and their number.
pub(super) fn step_through<'a, T>(
    reader: &mut ByteReader<'a>,
    least_bytes: usize,
    read: impl Fn(&mut ByteReader<'a>) -> Result<T, DecodeError>,
) -> Result<(&'a [u8], usize), DecodeError> {
    let count = reader.count(least_bytes)?;
    let start = reader.offset();
    for _ in 0..count {
        read(reader)?;
    }
    Ok((reader.since(start), count))
}

/// Walks items that were stepped through before.
pub(super) struct Items<'a, F> {
    reader: ByteReader<'a>,
    left: usize,
    read: F,
}

impl<'a, T, F: FnMut(&mut ByteReader<'a>) -> Result<T, DecodeError>> Items<'a, F> {
    pub(super) fn new(bytes: &'a [u8], left: usize, read: F) -> Items<'a, F> {
        Items { reader: ByteReader::new(bytes), left, read }
    }
}

impl<'a, T, F: FnMut(&mut ByteReader<'a>) -> Result<T, DecodeError>> Iterator for Items<'a, F> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        (self.read)(&mut self.reader).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<'a, T, F: FnMut(&mut ByteReader<'a>) -> Result<T, DecodeError>> ExactSizeIterator
    for Items<'a, F>
{
}
