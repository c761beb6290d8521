//! `/search/{query}`: what a text means on this chain (decision E8).

use chain::utxo::Format;
use chain::{Hash32, Network};
use index::utxo::Place;
use serde::Serialize;

use super::address::Account;
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

/// What it means.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Meaning<'a> {
    Block {
        hash: String,
        height: u32,
    },
    Tx {
        txid: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        height: Option<u32>,
    },
    Address {
        address: &'a str,
    },
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
    let height = match found.place {
        Place::Block { height, .. } => Some(height),
        Place::Voided { .. } | Place::Mempool { .. } => None,
    };
    Ok(Meaning::Tx { txid: hash.to_string(), height })
}
