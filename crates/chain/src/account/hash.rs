//! 32-byte hashes of blocks and transactions, which are shown in the order of their bytes.
//!
//! Invariant: text is `0x` and 64 lower-case hex digits.

use std::fmt;
use std::str::FromStr;

use crate::NotAHash;

/// The hash of a block or a transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// All bits zero: the parent of a genesis block.
    pub const ZERO: Hash = Hash([0; 32]);
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(const_hex::Buffer::<32, true>::new().format(&self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Hash {
    type Err = NotAHash;

    /// Reads `0x` (or `0X`) and 64 hex digits of any case.
    fn from_str(text: &str) -> Result<Hash, NotAHash> {
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).ok_or(NotAHash)?;
        let mut bytes = [0; 32];
        match digits.len() == 64 && !digits.starts_with("0x") {
            true => const_hex::decode_to_slice(digits, &mut bytes).map_err(|_| NotAHash)?,
            false => return Err(NotAHash),
        }
        Ok(Hash(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_any_case_is_read_and_one_form_is_shown() {
        let text = format!("0x{}", "aB".repeat(32));
        let hash: Hash = text.parse().unwrap();
        assert_eq!(hash.to_string(), text.to_lowercase());
        assert_eq!(format!("0X{}", "Ab".repeat(32)).parse(), Ok(hash));
        for bad in ["", "0x", &"ab".repeat(32), &text[..65], &format!("{text}0"), "0xzz"] {
            assert_eq!(bad.parse::<Hash>(), Err(NotAHash), "{bad}");
        }
        assert!(format!("0x0x{}", "ab".repeat(31)).parse::<Hash>().is_err());
    }
}
