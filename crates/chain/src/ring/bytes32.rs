//! 32 bytes that are shown in their own order: hashes, public keys and key images.
//!
//! Invariant: text is 64 lower-case hex digits without a prefix.

use std::fmt;
use std::str::FromStr;

use crate::NotAHash;

/// The hash of a block or a transaction, in the order in which it is shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// All bits zero: the parent of a genesis block.
    pub const ZERO: Hash = Hash([0; 32]);
}

/// A public key, a key image or a commitment as it stands on the chain. It may be no point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Key(pub [u8; 32]);

fn read(text: &str) -> Result<[u8; 32], NotAHash> {
    let mut bytes = [0; 32];
    match text.len() == 64 && !text.starts_with("0x") {
        true => const_hex::decode_to_slice(text, &mut bytes).map_err(|_| NotAHash)?,
        false => return Err(NotAHash),
    }
    Ok(bytes)
}

fn show(bytes: &[u8; 32], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(const_hex::Buffer::<32>::new().format(bytes))
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(&self.0, f)
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(&self.0, f)
    }
}

impl FromStr for Hash {
    type Err = NotAHash;

    /// Reads 64 hex digits of any case, without a prefix.
    fn from_str(text: &str) -> Result<Hash, NotAHash> {
        read(text).map(Hash)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(&self.0, f)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(&self.0, f)
    }
}

impl FromStr for Key {
    type Err = NotAHash;

    /// Reads 64 hex digits of any case, without a prefix.
    fn from_str(text: &str) -> Result<Key, NotAHash> {
        read(text).map(Key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_any_case_is_read_and_one_form_is_shown() {
        let text = "aB".repeat(32);
        let hash: Hash = text.parse().unwrap();
        assert_eq!((hash, hash.to_string()), (Hash([0xab; 32]), text.to_lowercase()));
        assert_eq!(text.parse(), Ok(Key([0xab; 32])));
        let prefixed = format!("0x{}", "ab".repeat(31));
        for bad in ["", "0x", &text[..63], &format!("{text}0"), &prefixed, &"zz".repeat(32)] {
            assert_eq!(bad.parse::<Hash>(), Err(NotAHash), "{bad}");
        }
    }
}
