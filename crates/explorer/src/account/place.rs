//! Blocks, transactions and places in lists as a request names them.

use chain::account::Hash;
use index::Tier;
use index::account::{BlockFacts, TxPlace, View};

use crate::answer::{Number, Question};
use crate::fail::Fail;
use crate::refusal::{Reason, Refusal};

/// The last place that a block can have.
const LAST: u32 = 0xff_ffff;

/// A height or a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockPlace {
    /// None: digits that no height has.
    Height(Option<u32>),
    Hash(Hash),
}

impl BlockPlace {
    /// Reads plain digits, or `0x` and 64 hex digits.
    pub(super) fn of(text: &str) -> Result<BlockPlace, Refusal> {
        let malformed = Refusal::saying(Reason::BadRequest, "not a height or a block hash");
        match Number::of(text) {
            Some(number) => Ok(BlockPlace::Height(number.height())),
            None => text.parse().map(BlockPlace::Hash).map_err(|_| malformed),
        }
    }

    /// The block, if it is in our chain.
    pub(super) fn find(self, view: &View, tier: Tier) -> Result<Option<BlockFacts>, Fail> {
        Ok(match self {
            BlockPlace::Height(Some(height)) => view.block(height, tier)?,
            BlockPlace::Height(None) => None,
            BlockPlace::Hash(hash) => view.block_of(&hash, tier)?,
        })
    }

    /// Whether it is the height of a block below what is held.
    pub(super) fn is_below(self, view: &View) -> bool {
        matches!(self, BlockPlace::Height(Some(height)) if height < view.base())
    }
}

/// Reads a transaction's hash.
pub(super) fn transaction_hash(text: &str) -> Result<Hash, Refusal> {
    text.parse().map_err(|_| Refusal::saying(Reason::BadRequest, "not a transaction hash"))
}

/// Where a list goes on (decision A6): height + position × 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) height: u32,
    /// 0: the whole block.
    pub(super) position: u32,
}

impl Cursor {
    pub(super) fn of(question: &Question<'_>) -> Result<Option<Cursor>, Refusal> {
        let out = Refusal::saying(Reason::BadRequest, "the cursor is out of bounds");
        match question.number("cursor")? {
            None => Ok(None),
            Some(Number::Fits(number)) if number < 1 << 53 => {
                Ok(Some(Cursor { height: number as u32, position: (number >> 32) as u32 }))
            }
            Some(_) => Err(out),
        }
    }

    /// As a client is told it.
    pub(super) fn number(self) -> u64 {
        u64::from(self.height) | u64::from(self.position) << 32
    }

    /// The newest row of a history that it lets through.
    pub(super) fn newest(self) -> TxPlace {
        let index = self.position.checked_sub(1).unwrap_or(LAST);
        TxPlace { height: self.height, index }
    }

    /// The cursor of a history whose next row is `next`, after one at `last`.
    pub(super) fn after(last: Option<TxPlace>, next: TxPlace) -> Cursor {
        match last {
            Some(last) if last.height == next.height => {
                Cursor { height: next.height, position: next.index + 1 }
            }
            _ => Cursor { height: next.height, position: 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_boundary_is_a_plain_height() {
        let place = |height, index| TxPlace { height, index };
        let after = |last, next| Cursor::after(Some(last), next).number();
        assert_eq!(after(place(13, 0), place(12, 3)), 12);
        assert_eq!(after(place(11, 38), place(11, 37)), 163_208_757_259);
        let cursor = Cursor { height: 11, position: 38 };
        assert_eq!(cursor.newest(), place(11, 37));
        assert_eq!(Cursor { height: 9, position: 0 }.newest(), place(9, LAST));
    }

    #[test]
    fn blocks_are_named_by_plain_digits_or_a_hash() {
        assert_eq!(BlockPlace::of("12").unwrap(), BlockPlace::Height(Some(12)));
        assert_eq!(BlockPlace::of("99999999999999999999").unwrap(), BlockPlace::Height(None));
        let hash = Hash([0xab; 32]);
        let text = hash.to_string();
        assert_eq!(BlockPlace::of(&text).unwrap(), BlockPlace::Hash(hash));
        for bad in ["", "0x12", "+1", "latest", "007", &text[2..], &text[..64], " 1"] {
            assert_eq!(BlockPlace::of(bad).unwrap_err().reason, Reason::BadRequest, "{bad}");
        }
    }
}
