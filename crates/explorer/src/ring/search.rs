//! `/search/{query}`: what a text means on this chain (decision E8).

use chain::ring::Hash;
use index::ring::Inclusion;
use schemars::JsonSchema;
use serde::Serialize;

use super::Desk;
use super::hex::Hex32;
use crate::answer::Number;
use crate::fail::Fail;

/// A text that was looked at without the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Query {
    Height(u32),
    Hash(Hash),
    Nothing,
}

/// What a text means. Addresses, key images and payment ids mean nothing: the chain cannot be
/// searched for them.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[schemars(rename = "Found")]
pub enum Meaning {
    /// A block of the main chain.
    Block {
        /// Its hash.
        hash: Hex32,
        /// Its height.
        height: u32,
    },
    /// A transaction, waiting or of a block.
    Tx {
        /// Its hash.
        hash: Hex32,
        /// Height of its block; absent while it waits.
        #[serde(skip_serializing_if = "Option::is_none")]
        height: Option<u32>,
    },
    /// Nothing on this chain.
    None,
}

impl Query {
    /// 64 hex digits are a hash, other digits a height.
    pub(super) fn of(text: &str) -> Query {
        let text = text.trim();
        if let Ok(hash) = text.parse() {
            return Query::Hash(hash);
        }
        let height = Number::of(text).and_then(Number::height);
        height.map_or(Query::Nothing, Query::Height)
    }

    pub(super) fn answer(self, desk: &Desk) -> Result<Meaning, Fail> {
        match self {
            Query::Height(height) => Ok(match desk.view.block(height, desk.tier)? {
                Some(block) => Meaning::Block { hash: block.hash.into(), height },
                None => Meaning::None,
            }),
            Query::Hash(hash) => by_hash(desk, hash),
            Query::Nothing => Ok(Meaning::None),
        }
    }
}

fn by_hash(desk: &Desk, hash: Hash) -> Result<Meaning, Fail> {
    if let Some(height) = desk.view.block_height(&hash, desk.tier)? {
        return Ok(Meaning::Block { hash: hash.into(), height });
    }
    let Some(found) = desk.view.transaction_within(desk.tier, &hash)? else {
        return Ok(Meaning::None);
    };
    let height = match found.inclusion {
        Inclusion::Block { height, .. } => Some(height),
        Inclusion::Mempool { .. } => None,
    };
    Ok(Meaning::Tx { hash: hash.into(), height })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_mean_what_their_length_says() {
        assert_eq!(Query::of(" 12 "), Query::Height(12));
        assert_eq!(Query::of(&"aB".repeat(32)), Query::Hash(Hash([0xab; 32])));
        assert_eq!(Query::of(&"12".repeat(32)), Query::Hash(Hash([0x12; 32])));
        let address = "42hRbwbMjoMLEds8GEKjsFa7iGrWGjKaAV7H24RhsQtaTYUo9EDKw9j4HzHqzwSrabSgwmtxy2nD3ed4MDTPvAnL5xLv1S3";
        for nothing in ["", "007", "-1", "0x12", "4294967296", "3c4344f72b029469", address] {
            assert_eq!(Query::of(nothing), Query::Nothing, "{nothing}");
        }
    }
}
