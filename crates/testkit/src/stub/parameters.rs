//! What a call to a stub node asks for: a hash, and in how much detail.
//!
//! Source: Bitcoin Core 31.99, src/rpc/util.cpp.

use chain::Hash32;
use serde_json::Value;

use super::outcome::{BAD_PARAMETER, WRONG_TYPE};

/// What is asked for of a block or a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Its bytes.
    Hex,
    /// What can be said of it.
    Json,
}

/// A hash that is a parameter.
pub(super) fn hash_of(param: Option<&Value>) -> Result<Hash32, (i64, &'static str)> {
    let text = param.and_then(Value::as_str);
    let text = text.ok_or((WRONG_TYPE, "JSON value is not a string as expected"))?;
    text.parse().map_err(|_| (BAD_PARAMETER, "hash must be of length 64 and hexadecimal"))
}

/// A verbosity that is a parameter, as a number or a boolean.
pub(super) fn detail(
    param: Option<&Value>,
    unless_given: Detail,
) -> Result<Detail, (i64, &'static str)> {
    match param {
        None | Some(Value::Null) => Ok(unless_given),
        Some(Value::Bool(false)) => Ok(Detail::Hex),
        Some(Value::Bool(true)) => Ok(Detail::Json),
        Some(Value::Number(number)) if number.as_i64() == Some(0) => Ok(Detail::Hex),
        Some(Value::Number(_)) => Ok(Detail::Json),
        Some(_) => Err((WRONG_TYPE, "JSON value is not an integer as expected")),
    }
}
