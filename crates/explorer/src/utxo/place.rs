//! Blocks and transactions as a path names them.

use chain::Hash32;
use index::utxo::BlockRow;

use super::{Desk, Fail};
use crate::answer::Number;
use crate::refusal::{Reason, Refusal};

/// A height or a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockPlace {
    /// None: digits that no height has.
    Height(Option<u32>),
    Hash(Hash32),
}

impl BlockPlace {
    /// Reads plain digits or 64 hex digits.
    pub(crate) fn of(text: &str) -> Result<BlockPlace, Refusal> {
        let malformed = Refusal::saying(Reason::BadRequest, "not a height or a block hash");
        if text.len() == 64 {
            return text.parse().map(BlockPlace::Hash).map_err(|_| malformed);
        }
        Number::of(text).map(|number| BlockPlace::Height(number.height())).ok_or(malformed)
    }

    /// The block, if it is in our chain.
    pub(crate) fn find(self, desk: &Desk) -> Result<Option<BlockRow>, Fail> {
        let height = match self {
            BlockPlace::Height(height) => height,
            BlockPlace::Hash(hash) => desk.view.block_height(&hash, desk.tier)?,
        };
        match height {
            Some(height) => Ok(desk.view.block(height, desk.tier)?),
            None => Ok(None),
        }
    }
}

/// Reads a transaction id.
pub(crate) fn txid(text: &str) -> Result<Hash32, Refusal> {
    text.parse().map_err(|_| Refusal::saying(Reason::BadRequest, "not a transaction id"))
}
