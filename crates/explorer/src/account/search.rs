//! `/search/{query}`: what a text means on this chain (decision E8).

use bytes::Bytes;
use chain::account::{Address, Hash};
use index::account::View;
use schemars::JsonSchema;
use serde::Serialize;

use super::Desk;
use super::text::Text;
use crate::answer::Number;
use crate::json::json;
use crate::refusal::Refusal;

/// A text that was looked at without the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Query {
    Height(u32),
    Hash(Hash),
    Address(Address),
    Nothing,
}

/// What a text means.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[schemars(rename = "Found")]
pub enum Meaning {
    /// A block of the main chain.
    Block {
        /// Its hash.
        hash: Text<Hash>,
        /// Its height.
        height: u32,
    },
    /// A transaction, waiting or of a block.
    Tx {
        /// Its hash.
        hash: Text<Hash>,
        /// Height of its block; absent while it waits.
        #[serde(skip_serializing_if = "Option::is_none")]
        height: Option<u32>,
    },
    /// An address, used or not.
    Address {
        /// In lower case.
        address: Text<Address>,
    },
    /// Nothing on this chain.
    None,
}

impl Query {
    /// 64 hex digits are a hash, 40 an address, with `0x` or without; other digits a height.
    pub(super) fn of(text: &str) -> Query {
        let text = text.trim();
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        let prefixed = format!("0x{}", digits.unwrap_or(text));
        if let Ok(hash) = prefixed.parse() {
            return Query::Hash(hash);
        }
        if let Ok(address) = prefixed.parse() {
            return Query::Address(address);
        }
        let height = Number::of(text).and_then(Number::height);
        height.map_or(Query::Nothing, Query::Height)
    }
}

/// What a text means.
pub(super) async fn search(desk: &Desk<'_>, query: Query) -> Result<Bytes, Refusal> {
    let meaning = match query {
        Query::Height(height) => {
            let read = move |view: &View, tier| Ok(view.block(height, tier)?);
            let block = desk.read(read).await?;
            block.map_or(Meaning::None, |it| Meaning::Block { hash: Text(it.hash), height })
        }
        Query::Hash(hash) => by_hash(desk, hash).await?,
        Query::Address(address) => Meaning::Address { address: Text(address) },
        Query::Nothing => Meaning::None,
    };
    Ok(json(&meaning))
}

async fn by_hash(desk: &Desk<'_>, hash: Hash) -> Result<Meaning, Refusal> {
    let read = move |view: &View, tier| {
        if let Some(block) = view.block_of(&hash, tier)? {
            return Ok(Meaning::Block { hash: Text(hash), height: block.height });
        }
        Ok(match view.transaction(&hash, tier)? {
            Some(tx) => Meaning::Tx { hash: Text(hash), height: Some(tx.place.height) },
            None => Meaning::None,
        })
    };
    match desk.read(read).await? {
        Meaning::None => {}
        meaning => return Ok(meaning),
    }
    // A node that tells nothing of its pool keeps no search from its answer.
    Ok(match desk.index.waiting(&hash).await {
        Ok(Some(_)) => Meaning::Tx { hash: Text(hash), height: None },
        _ => Meaning::None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_mean_what_their_length_says() {
        let address = Address([0xab; 20]);
        let hash = Hash([0x12; 32]);
        assert_eq!(Query::of(" 12 "), Query::Height(12));
        assert_eq!(Query::of(&hash.to_string()), Query::Hash(hash));
        assert_eq!(Query::of(&hash.to_string()[2..]), Query::Hash(hash));
        assert_eq!(Query::of(&"12".repeat(20)), Query::Address(Address([0x12; 20])));
        assert_eq!(Query::of(&address.checksummed()), Query::Address(address));
        assert_eq!(Query::of(&address.to_string()[2..]), Query::Address(address));
        for nothing in ["", "0x", "007", "-1", "0x12", "vitalik.eth", "99999999999"] {
            assert_eq!(Query::of(nothing), Query::Nothing, "{nothing}");
        }
    }
}
