//! A key as a store keeps it, and what may be done to it.
//!
//! Invariant: its characters never come here, and what stands for them is in no text.

use std::fmt;

use crate::{Scopes, Utc};

/// A key, without its characters, which the store never sees.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// Number, never used again.
    pub id: u64,
    /// Number of its account.
    pub account: u64,
    /// SHA-256 of the whole key.
    pub digest: [u8; 32],
    /// First 12 characters, for display.
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

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("id", &self.id)
            .field("account", &self.account)
            .field("digest", &"<secret>")
            .field("daily_cap", &self.daily_cap)
            .field("expires_at", &self.expires_at)
            .field("revoked", &self.revoked)
            .finish_non_exhaustive()
    }
}

/// A key that is to be added.
#[derive(Clone)]
pub struct NewKey {
    /// Number of its account.
    pub account: u64,
    /// SHA-256 of the whole key.
    pub digest: [u8; 32],
    /// First 12 characters, for display.
    pub prefix: String,
    /// The owner's words.
    pub label: Option<String>,
    /// Units a UTC day on the gateway through this key.
    pub daily_cap: Option<u64>,
    /// Refused from then on.
    pub expires_at: Option<Utc>,
    /// What it may be used for.
    pub scopes: Scopes,
    /// Now.
    pub created_at: Utc,
}

impl fmt::Debug for NewKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewKey").field("account", &self.account).finish_non_exhaustive()
    }
}

/// What changes in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyChange {
    /// Another daily cap, or none.
    Cap(Option<u64>),
    /// Refused from now on.
    Revoke,
}
