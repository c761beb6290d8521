//! How a usage file is laid out: a header, then segments of slots, all of 64-bit words in the machine's
//! byte order.

/// Words of a header, one page.
pub(super) const HEADER_WORDS: usize = 512;
/// Words of a slot.
pub(super) const SLOT_WORDS: usize = 8;
/// Slots of a segment: 256 KiB, a multiple of every page size in use.
pub(crate) const SEGMENT_SLOTS: usize = 4096;
/// Bytes of a segment.
pub(super) const SEGMENT_BYTES: u64 = (SEGMENT_SLOTS * SLOT_WORDS * 8) as u64;
/// The header takes a segment's room, so that every segment begins at a multiple of its size.
pub(super) const HEADER_BYTES: u64 = SEGMENT_BYTES;
/// 1,048,576 live rows, 64 MiB.
pub(super) const MOST_SEGMENTS: usize = 256;

/// FNV-1a over the words, with a last mix: finds tears and damage, not forgery.
pub(super) fn hash(words: &[u64]) -> u64 {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^ hash >> 32
}
