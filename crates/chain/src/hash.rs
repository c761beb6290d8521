//! 32-byte hashes of blocks and transactions, and the hashes that most of them are.
//!
//! Invariant: bytes are held in wire order, which is the order in which they are hashed; text is
//! in display order, the reverse.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::blake256::blake256;

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
        Hash32(Sha256::digest(inner.finalize()).into())
    }

    /// BLAKE-256 of the parts, one after the other.
    pub fn blake256(parts: &[&[u8]]) -> Hash32 {
        Hash32(blake256(parts))
    }
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
