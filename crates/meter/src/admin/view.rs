//! What administration commands show, with public ids.
//!
//! Ids are `acc_N` and `key_N` outside and numbers inside. Invariant: a key's characters are in
//! one view alone, the one that its making returns.

use serde::{Serialize, Serializer};

use crate::store::{Account, Key};
use crate::{ApiKey, Scopes, Utc};

/// An account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AccountView {
    /// `acc_N`.
    pub id: String,
    /// Unique name.
    pub name: String,
    /// Plan on the gateway, or `none`.
    pub gateway_plan: String,
    /// Plan on the explorer, or `none`.
    pub explorer_plan: String,
    /// Refused until resumed.
    pub suspended: bool,
    /// When it was added.
    pub created_at: Utc,
}

/// A key without its characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyView {
    /// `key_N`.
    pub id: String,
    /// First 12 characters, to recognise it by.
    pub prefix: String,
    /// The owner's words.
    pub label: Option<String>,
    /// Units a UTC day on the gateway through this key.
    pub daily_cap: Option<u64>,
    /// Refused from then on.
    pub expires_at: Option<Utc>,
    /// Refused for good.
    pub revoked: bool,
    /// What it may be used for.
    pub scopes: Scopes,
    /// When it was added.
    pub created_at: Utc,
}

/// A key that was just made.
#[derive(Clone, Debug, Serialize)]
pub struct NewKeyView {
    /// `key_N`.
    pub id: String,
    /// Its characters, shown this once.
    #[serde(serialize_with = "reveal")]
    pub key: ApiKey,
}

impl NewKeyView {
    pub(super) fn new(added: &Key, key: ApiKey) -> NewKeyView {
        NewKeyView { id: key_id(added.id), key }
    }
}

impl From<Account> for AccountView {
    fn from(account: Account) -> AccountView {
        AccountView {
            id: account_id(account.id),
            name: account.name,
            gateway_plan: account.gateway_plan,
            explorer_plan: account.explorer_plan,
            suspended: account.suspended,
            created_at: account.created_at,
        }
    }
}

impl From<Key> for KeyView {
    fn from(key: Key) -> KeyView {
        KeyView {
            id: key_id(key.id),
            prefix: key.prefix,
            label: key.label,
            daily_cap: key.daily_cap,
            expires_at: key.expires_at,
            revoked: key.revoked,
            scopes: key.scopes,
            created_at: key.created_at,
        }
    }
}

pub(super) fn account_id(number: u64) -> String {
    format!("acc_{number}")
}

pub(super) fn key_id(number: u64) -> String {
    format!("key_{number}")
}

/// The number of a public id.
pub(super) fn number(given: &str, mark: &str) -> Option<u64> {
    let digits = given.strip_prefix(mark)?;
    let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    digits.parse().ok().filter(|_| plain)
}

fn reveal<S: Serializer>(key: &ApiKey, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(key.reveal())
}
