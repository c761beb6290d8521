//! 32-byte hashes of blocks and transactions, and the hashes that most of them are.
//!
//! Invariant: bytes are held in wire order, which is the order in which they are hashed; text is
//! in display order, the reverse.
//!
//! Half of what decoding a chain takes is SHA-256 of messages whose lengths are known, so those are
//! padded here (FIPS 180-4, section 5.1.1) and take no hasher's buffer; what is longer does.

use std::fmt;
use std::str::FromStr;

use sha2::block_api::compress256;
use sha2::{Digest, Sha256};

use crate::blake256::blake256;

/// What SHA-256 begins with (FIPS 180-4, section 5.3.3).
const START: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/// Bytes that SHA-256 takes at once.
type Chunk = [u8; 64];

/// The hash of a block or a transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Hash32([u8; 32]);

impl Hash32 {
    /// All bits zero: the previous hash of a genesis block, the outpoint of a coinbase.
    pub const ZERO: Hash32 = Hash32([0; 32]);

    /// The hash whose bytes stand in wire order.
    pub const fn from_wire(bytes: [u8; 32]) -> Hash32 {
        Hash32(bytes)
    }

    /// The bytes in wire order.
    pub const fn wire(&self) -> &[u8; 32] {
        &self.0
    }

    /// SHA-256 of the SHA-256 of the parts, one after the other.
    pub fn sha256d(parts: &[&[u8]]) -> Hash32 {
        let mut inner = Sha256::new();
        for part in parts {
            inner.update(part);
        }
        sha256_of_hash(&inner.finalize().into())
    }

    /// SHA-256 of the SHA-256 of one hash after another: a node of a tree over ids.
    pub fn sha256d_of_two(left: &Hash32, right: &Hash32) -> Hash32 {
        let mut chunks = [[0; 64], padding(64)];
        let (first, second) = chunks[0].split_at_mut(32);
        first.copy_from_slice(&left.0);
        second.copy_from_slice(&right.0);
        chunks[1][0] = 0x80;
        sha256_of_hash(&sha256(&chunks))
    }

    /// BLAKE-256 of the parts, one after the other.
    pub(crate) fn blake256(parts: &[&[u8]]) -> Hash32 {
        Hash32(blake256(parts))
    }
}

/// The last chunk of a message of so many bytes, but for the mark at the message's end.
const fn padding(bytes: u16) -> Chunk {
    let mut chunk = [0; 64];
    [chunk[62], chunk[63]] = (bytes * 8).to_be_bytes();
    chunk
}

fn sha256_of_hash(hash: &[u8; 32]) -> Hash32 {
    let mut chunk = padding(32);
    chunk[..32].copy_from_slice(hash);
    chunk[32] = 0x80;
    Hash32(sha256(&[chunk]))
}

/// SHA-256 of a message that was padded.
fn sha256(padded: &[Chunk]) -> [u8; 32] {
    let mut state = START;
    compress256(&mut state, padded);
    let mut hash = [0; 32];
    for (bytes, word) in hash.as_chunks_mut().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
    hash
}

impl fmt::Display for Hash32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = self.0;
        bytes.reverse();
        f.write_str(const_hex::Buffer::<32>::new().format(&bytes))
    }
}

impl fmt::Debug for Hash32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text that is not 64 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a hash of 64 hex digits")]
pub struct NotAHash;

impl FromStr for Hash32 {
    type Err = NotAHash;

    /// Reads 64 hex digits in display order, of any case, without a prefix.
    fn from_str(text: &str) -> Result<Hash32, NotAHash> {
        if text.len() != 64 {
            return Err(NotAHash);
        }
        let mut bytes = [0; 32];
        const_hex::decode_to_slice(text, &mut bytes).map_err(|_| NotAHash)?;
        bytes.reverse();
        Ok(Hash32(bytes))
    }
}

#[cfg(test)]
mod tests;
