//! One JSON-RPC call to a live node, for tests that build a chain.
//!
//! Invariant: a node's error is an error here, with its text.

use serde_json::{Value, json};

use crate::client::{Answer, post};

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The node was not reached, or broke off.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The node answered an error, or no JSON.
    #[error("HTTP {status}: {body}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What stood in the body.
        body: String,
    },
}

/// Calls a method with these headers, and gives the `result`.
pub async fn call(
    url: &str,
    headers: &[(&str, &str)],
    method: &str,
    params: Value,
) -> Result<Value, CallError> {
    let body = envelope(method, params);
    let headers = [&[("Content-Type", "application/json")], headers].concat();
    result(&post(url, &headers, &body).await?)
}

pub(crate) fn envelope(method: &str, params: Value) -> Vec<u8> {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string().into_bytes()
}

pub(crate) fn result(answer: &Answer) -> Result<Value, CallError> {
    let mut parsed: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let failed = parsed.get("error").is_some_and(|error| !error.is_null());
    match parsed.get_mut("result") {
        Some(result) if !failed => Ok(result.take()),
        _ => Err(CallError::Refused { status: answer.status, body: answer.text() }),
    }
}
