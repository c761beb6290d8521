//! epee's portable storage, in which monerod's binary endpoints are asked and answer.
//!
//! Leaves what a field means to whoever reads it. Source: monero, docs/PORTABLE_STORAGE.md and
//! contrib/epee/include/storages/portable_storage_from_bin.h. Invariants: nothing is copied; a
//! count is held against the bytes that are left before anything is made room for; any depth is
//! refused, not overflowed.

/// What every storage begins with: two signatures and the version.
const HEAD: [u8; 9] = [1, 0x11, 1, 1, 1, 1, 2, 1, 1];
/// Set in the type of an entry that is an array.
const ARRAY: u8 = 0x80;
/// Types of entries.
pub(crate) const U64: u8 = 5;
const STRING: u8 = 10;
const BOOL: u8 = 11;
const OBJECT: u8 = 12;
/// epee itself reads no deeper than 100; the deepest answer that is asked for has 5 levels.
const DEPTH: u32 = 16;

/// Bytes that are no portable storage, or one of another shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadStorage;

/// The type of an entry, with the mark of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind(u8);

/// Reads a storage from its front.
pub(crate) struct Reader<'a> {
    left: &'a [u8],
    depth: u32,
}

impl<'a> Reader<'a> {
    /// A reader that stands on the root object.
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Reader<'a>, BadStorage> {
        let left = bytes.strip_prefix(&HEAD).ok_or(BadStorage)?;
        Ok(Reader { left, depth: DEPTH })
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], BadStorage> {
        let (taken, left) = self.left.split_at_checked(count).ok_or(BadStorage)?;
        self.left = left;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, BadStorage> {
        self.take(1).map(|byte| byte[0])
    }

    /// A number whose two lowest bits tell how long it is.
    fn number(&mut self) -> Result<u64, BadStorage> {
        let length = 1 << (self.left.first().ok_or(BadStorage)? & 3);
        let mut bytes = [0; 8];
        bytes[..length].copy_from_slice(self.take(length)?);
        Ok(u64::from_le_bytes(bytes) >> 2)
    }

    /// A count of items that take at least `least` bytes each.
    fn count(&mut self, least: usize) -> Result<usize, BadStorage> {
        let count = usize::try_from(self.number()?).map_err(|_| BadStorage)?;
        if count > self.left.len() / least { Err(BadStorage) } else { Ok(count) }
    }

    /// Visits the entries of an object. The visitor reads the value or calls [`Reader::skip`].
    pub(crate) fn object(
        &mut self,
        mut visit: impl FnMut(&mut Reader<'a>, &'a [u8], Kind) -> Result<(), BadStorage>,
    ) -> Result<(), BadStorage> {
        self.depth = self.depth.checked_sub(1).ok_or(BadStorage)?;
        for _ in 0..self.count(3)? {
            let length = self.byte()?.into();
            let name = self.take(length)?;
            let kind = Kind(self.byte()?);
            visit(self, name, kind)?;
        }
        self.depth += 1;
        Ok(())
    }

    /// Visits the items of an array of objects.
    pub(crate) fn objects(
        &mut self,
        kind: Kind,
        mut visit: impl FnMut(&mut Reader<'a>) -> Result<(), BadStorage>,
    ) -> Result<(), BadStorage> {
        if kind.0 != OBJECT | ARRAY {
            return Err(BadStorage);
        }
        for _ in 0..self.count(1)? {
            visit(self)?;
        }
        Ok(())
    }

    /// The items of an array of strings, of at least `least` bytes each.
    pub(crate) fn strings(
        &mut self,
        kind: Kind,
        least: usize,
    ) -> Result<Vec<&'a [u8]>, BadStorage> {
        if kind.0 != STRING | ARRAY {
            return Err(BadStorage);
        }
        let count = self.count(least + 1)?;
        let mut strings = Vec::with_capacity(count);
        for _ in 0..count {
            let string = self.text()?;
            if string.len() < least {
                return Err(BadStorage);
            }
            strings.push(string);
        }
        Ok(strings)
    }

    /// Appends the items of an array of numbers.
    pub(crate) fn numbers(&mut self, kind: Kind, out: &mut Vec<u64>) -> Result<(), BadStorage> {
        if kind.0 != U64 | ARRAY {
            return Err(BadStorage);
        }
        let count = self.count(8)?;
        let (numbers, _) = self.take(count * 8)?.as_chunks();
        out.extend(numbers.iter().map(|bytes| u64::from_le_bytes(*bytes)));
        Ok(())
    }

    /// A number of 64 bits.
    pub(crate) fn u64(&mut self, kind: Kind) -> Result<u64, BadStorage> {
        let bytes = if kind.0 == U64 { self.take(8)? } else { return Err(BadStorage) };
        bytes.try_into().map(u64::from_le_bytes).map_err(|_| BadStorage)
    }

    /// A string, which is any bytes.
    pub(crate) fn string(&mut self, kind: Kind) -> Result<&'a [u8], BadStorage> {
        if kind.0 == STRING { self.text() } else { Err(BadStorage) }
    }

    fn text(&mut self) -> Result<&'a [u8], BadStorage> {
        let length = self.count(1)?;
        self.take(length)
    }

    /// Passes over a value.
    pub(crate) fn skip(&mut self, kind: Kind) -> Result<(), BadStorage> {
        let Kind(kind) = kind;
        let count = if kind & ARRAY == 0 { 1 } else { self.count(1)? };
        match kind & !ARRAY {
            1 | U64 | 9 => self.take(count.checked_mul(8).ok_or(BadStorage)?).map(drop),
            2 | 6 => self.take(count.checked_mul(4).ok_or(BadStorage)?).map(drop),
            3 | 7 => self.take(count.checked_mul(2).ok_or(BadStorage)?).map(drop),
            4 | 8 | BOOL => self.take(count).map(drop),
            STRING => (0..count).try_for_each(|_| self.text().map(drop)),
            OBJECT => (0..count).try_for_each(|_| self.object(|reader, _, kind| reader.skip(kind))),
            _ => Err(BadStorage),
        }
    }
}

/// Writes a storage with a few entries in its root.
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// A storage of so many entries, which are to be written; at most 63.
    pub(crate) fn new(entries: u8) -> Writer {
        let mut bytes = HEAD.to_vec();
        bytes.push(entries << 2);
        Writer { bytes }
    }

    fn name(&mut self, name: &str, kind: u8) {
        self.bytes.push(name.len() as u8);
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(kind);
    }

    /// A string of less than 2^30 bytes.
    pub(crate) fn string(&mut self, name: &str, value: &[u8]) {
        self.name(name, STRING);
        self.bytes.extend_from_slice(&((value.len() as u32) << 2 | 2).to_le_bytes());
        self.bytes.extend_from_slice(value);
    }

    /// A number.
    pub(crate) fn u64(&mut self, name: &str, value: u64) {
        self.name(name, U64);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// A truth value.
    pub(crate) fn bool(&mut self, name: &str, value: bool) {
        self.name(name, BOOL);
        self.bytes.push(value.into());
    }

    /// The whole storage.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(bytes: &[u8]) -> Result<(), BadStorage> {
        Reader::new(bytes)?.object(|reader, _, kind| reader.skip(kind))
    }

    #[test]
    fn what_is_written_is_read() {
        let mut writer = Writer::new(3);
        writer.string("ids", &[7; 64]);
        writer.u64("start", 1 << 40);
        writer.bool("prune", false);
        let bytes = writer.finish();
        let (mut ids, mut start) = (Vec::new(), 0);
        let read = Reader::new(&bytes).unwrap().object(|reader, name, kind| match name {
            b"ids" => reader.string(kind).map(|found| ids = found.to_vec()),
            b"start" => reader.u64(kind).map(|found| start = found),
            _ => reader.skip(kind),
        });
        assert_eq!((read, ids, start), (Ok(()), vec![7; 64], 1 << 40));
        for end in 0..bytes.len() {
            assert_eq!(skipped(&bytes[..end]), Err(BadStorage), "{end}");
        }
    }

    #[test]
    fn counts_and_depths_are_bounded() {
        let with = |rest: &[u8]| [&HEAD[..], rest].concat();
        // An array of 2^30 objects, and of 2^60 strings, in a few bytes.
        assert_eq!(skipped(&with(&[4, 1, b'a', 0x8c, 2, 0, 0, 0xff])), Err(BadStorage));
        let huge = [&[4, 1, b'a', 0x8a, 3][..], &[0xff; 7]].concat();
        assert_eq!(skipped(&with(&huge)), Err(BadStorage));
        let deep = [4, 1, b'a', 12].repeat(100_000);
        assert_eq!(skipped(&with(&deep)), Err(BadStorage));
        let level = [4, 1, b'a', 12].repeat(10);
        assert_eq!(skipped(&with(&[&level[..], &[0]].concat())), Ok(()));
        for kind in [0, 13, 0x8d, 0xff] {
            assert_eq!(skipped(&with(&[4, 1, b'a', kind, 0, 0])), Err(BadStorage), "{kind}");
        }
    }

    #[test]
    fn short_strings_are_refused_before_they_take_room() {
        let bytes = [&HEAD[..], &[4, 1, b'a', 0x8a, 8], &[16, 1, 2, 3, 4], &[0]].concat();
        let read = |least| {
            let mut count = 0;
            let reading = |reader: &mut Reader<'_>, _: &[u8], kind| {
                reader.strings(kind, least).map(|strings| count = strings.len())
            };
            Reader::new(&bytes).unwrap().object(reading).map(|()| count)
        };
        assert_eq!((read(0), read(1), read(4)), (Ok(2), Err(BadStorage), Err(BadStorage)));
    }
}
