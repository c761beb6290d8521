//! What a probe sees of a node, and how it is read from the node's answers.
//!
//! What is asked stands beside, by dialect; what follows from it, in `probe`.

use serde::de::DeserializeOwned;

use crate::CallError;

/// What one probe saw.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sight {
    /// The node's state.
    Seen(Tip),
    /// The node says that it is starting.
    WarmingUp,
    /// An answer, but not the one that was asked for.
    NotUnderstood(String),
}

/// Where a node stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tip {
    pub(super) height: u64,
    pub(super) syncing: bool,
}

/// Who a node is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Identity {
    /// `Some(Err)` says what is wrong; `None`: nothing was understood.
    pub(super) right: Option<Result<(), String>>,
    pub(super) version: Option<String>,
    pub(super) version_number: u64,
}

/// Reads a result leniently: unknown members do no harm.
pub(super) fn read<T: DeserializeOwned>(raw: &serde_json::value::RawValue) -> Result<T, CallError> {
    serde_json::from_str(raw.get()).map_err(|_| CallError::Shape { status: http::StatusCode::OK })
}

/// A result, or nothing where the node answers an error or something else than asked for.
pub(super) fn optional<T>(answer: Result<T, CallError>) -> Result<Option<T>, CallError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(CallError::Rpc { .. } | CallError::Shape { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The fact that one hash is another, as an identity.
pub(super) fn same(what: &str, found: &str, expected: &str) -> Result<(), String> {
    match found.eq_ignore_ascii_case(expected) {
        true => Ok(()),
        false => Err(format!("wrong chain: {what} is {found}, expected {expected}")),
    }
}

/// Whether a text is a block hash of 32 bytes in hex, with or without `0x`.
pub(super) fn is_hash(text: &str) -> bool {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}
