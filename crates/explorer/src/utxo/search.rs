//! `/search/{query}`: what a text means on this chain (decision E8).

use chain::utxo::Format;
use chain::{Hash32, Network};
use index::utxo::Inclusion;
use schemars::JsonSchema;
use serde::Serialize;

use super::address::Account;
use super::hex::HashHex;
use super::{Desk, Fail};
use crate::answer::Number;

/// A text that was looked at without the index.
#[derive(Debug)]
pub(crate) enum Query {
    Height(u32),
    Hash(Hash32),
    Address(Account),
    Nothing,
}

/// What a text means.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[schemars(rename = "Found")]
pub enum Meaning<'a> {
    /// A block of the main chain.
    Block {
        /// Its hash.
        #[schemars(with = "HashHex")]
        hash: String,
        /// Its height.
        height: u32,
    },
    /// A transaction, waiting or of a block.
    Tx {
        /// Its id.
        #[schemars(with = "HashHex")]
        txid: String,
        /// Height of its block; absent while it waits.
        #[serde(skip_serializing_if = "Option::is_none")]
        height: Option<u32>,
    },
    /// A valid address of this network, used or not.
    Address {
        /// In its canonical form.
        address: &'a str,
    },
    /// Nothing on this chain.
    None,
}

impl Query {
    /// Digits are a height, 64 hex digits a hash, else it may be an address.
    pub(crate) fn of(text: &str, network: &'static Network, format: &Format) -> Query {
        let text = text.trim();
        if let Ok(hash) = text.parse() {
            return Query::Hash(hash);
        }
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            let height = Number::of(text).and_then(Number::height);
            return height.map_or(Query::Nothing, Query::Height);
        }
        Account::of(text, network, format).map_or(Query::Nothing, Query::Address)
    }

    pub(crate) fn answer(&self, desk: &Desk) -> Result<Meaning<'_>, Fail> {
        match self {
            Query::Height(height) => match desk.view.block(*height, desk.tier)? {
                Some(block) => Ok(Meaning::Block { hash: block.hash.to_string(), height: *height }),
                None => Ok(Meaning::None),
            },
            Query::Hash(hash) => by_hash(desk, hash),
            Query::Address(account) => Ok(Meaning::Address { address: account.address() }),
            Query::Nothing => Ok(Meaning::None),
        }
    }
}

fn by_hash<'a>(desk: &Desk, hash: &Hash32) -> Result<Meaning<'a>, Fail> {
    if let Some(height) = desk.view.block_height(hash, desk.tier)? {
        return Ok(Meaning::Block { hash: hash.to_string(), height });
    }
    let Some(found) = desk.view.transaction_within(desk.tier, hash)? else {
        return Ok(Meaning::None);
    };
    let height = match found.inclusion {
        Inclusion::Block { height, .. } => Some(height),
        Inclusion::Voided { .. } | Inclusion::Mempool { .. } => None,
    };
    Ok(Meaning::Tx { txid: hash.to_string(), height })
}
