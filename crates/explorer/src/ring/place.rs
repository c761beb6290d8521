//! Blocks and transactions as a path names them.

use chain::ring::Hash;

use crate::answer::Number;
use crate::refusal::{Reason, Refusal};

/// A height or a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockPlace {
    /// None: digits that no height has.
    Height(Option<u32>),
    Hash(Hash),
}

impl BlockPlace {
    /// Reads plain digits, or 64 hex digits in either case.
    pub(super) fn of(text: &str) -> Result<BlockPlace, Refusal> {
        if let Ok(hash) = text.parse() {
            return Ok(BlockPlace::Hash(hash));
        }
        let malformed = Refusal::saying(Reason::BadRequest, "not a height or a block hash");
        Number::of(text).map(|number| BlockPlace::Height(number.height())).ok_or(malformed)
    }
}

/// Reads a transaction's hash.
pub(super) fn transaction_hash(text: &str) -> Result<Hash, Refusal> {
    text.parse().map_err(|_| Refusal::saying(Reason::BadRequest, "not a transaction hash"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_named_by_plain_digits_or_a_hash() {
        assert_eq!(BlockPlace::of("0").unwrap(), BlockPlace::Height(Some(0)));
        assert_eq!(BlockPlace::of("99999999999999999999").unwrap(), BlockPlace::Height(None));
        assert_eq!(BlockPlace::of("4294967296").unwrap(), BlockPlace::Height(None));
        assert_eq!(BlockPlace::of(&"12".repeat(32)).unwrap(), BlockPlace::Hash(Hash([0x12; 32])));
        assert_eq!(BlockPlace::of(&"aB".repeat(32)).unwrap(), BlockPlace::Hash(Hash([0xab; 32])));
        let prefixed = format!("0x{}", "ab".repeat(31));
        for bad in ["", "007", "+1", "-1", " 1", "1 ", "tip", &"ab".repeat(31), &prefixed] {
            assert_eq!(BlockPlace::of(bad).unwrap_err().reason, Reason::BadRequest, "{bad}");
        }
    }
}
