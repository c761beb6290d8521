//! Why a command on accounts and keys is refused.
//!
//! Invariant: no text repeats the characters of a key.

use crate::store::StoreError;
use crate::{MAX_UNITS, OpenError, ScopeError, Utc};

/// Why a command is refused.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// No such account.
    #[error("there is no account {0:?}")]
    NoAccount(String),
    /// No such key.
    #[error("there is no key {0:?}; key ids look like key_1")]
    NoKey(String),
    /// No such plan.
    #[error("there is no plan {given:?}; the plans are {known}, or none")]
    NoPlan {
        /// What was asked for.
        given: String,
        /// The names on offer.
        known: String,
    },
    /// The name cannot be an account's.
    #[error(
        "{0:?} cannot be a name: 1 to 64 printable characters without spaces at its ends, and \
         not like an id (acc_1)"
    )]
    Name(String),
    /// The label is too long or not printable.
    #[error("a label has at most 64 printable characters")]
    Label,
    /// The cap is out of range.
    #[error("a daily cap is 1 to {MAX_UNITS}, not {0}")]
    Cap(u64),
    /// The end of the key is not in the future.
    #[error("a key must end in the future, not at {0}")]
    Ended(Utc),
    /// The key is of no use any more.
    #[error("{0} is revoked or past its end, so nothing can take over from it")]
    Dead(String),
    /// The scopes cannot be a key's.
    #[error(transparent)]
    Scope(#[from] ScopeError),
    /// The operating system gives no randomness.
    #[error("no randomness for a key: {0}")]
    Random(#[from] getrandom::Error),
    /// The store says no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of the store cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
}
