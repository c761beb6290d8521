//! The 80 bytes at the front of a block.

use super::byte_reader::{ByteReader, DecodeError};
use crate::Hash32;

/// The header of a block.
///
/// Source: Bitcoin Core, src/primitives/block.h. Relatives that work on other hashes (scrypt) or
/// on a parent chain's work still name a block by the double SHA-256 of these bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Hash of the block.
    pub hash: Hash32,
    /// Version and signalling bits, signed as nodes print it.
    pub version: i32,
    /// Hash of the block before, all zero at genesis.
    pub previous: Hash32,
    /// Root of the tree of transaction ids.
    pub merkle_root: Hash32,
    /// Seconds since 1970 as the miner claims.
    pub time: u32,
    /// Target in compact form; nodes print it as 8 hex digits.
    pub bits: u32,
    /// Nonce.
    pub nonce: u32,
}

impl Header {
    /// Bytes of a header, without the parent chain's work that may follow it.
    pub const BYTES: usize = 80;

    /// Reads a header from its 80 bytes.
    ///
    /// # Errors
    /// Fewer or more than 80 bytes.
    pub fn decode(bytes: &[u8]) -> Result<Header, DecodeError> {
        let mut reader = ByteReader::new(bytes);
        let header = Header::read(&mut reader)?;
        reader.end()?;
        Ok(header)
    }

    pub(super) fn read(reader: &mut ByteReader<'_>) -> Result<Header, DecodeError> {
        let hash = Hash32::sha256d(&[reader.clone().take(Header::BYTES)?]);
        Ok(Header {
            hash,
            version: reader.i32()?,
            previous: reader.hash()?,
            merkle_root: reader.hash()?,
            time: reader.u32()?,
            bits: reader.u32()?,
            nonce: reader.u32()?,
        })
    }
}
