//! Calls of our own: an envelope in the node's dialect, and the result out of its answer.
//!
//! Customers' calls never come this way; they pass through `send` as bytes. Invariant: numbers of
//! a result are not touched, the result is the node's own text.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chain::Dialect;
use http::StatusCode;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::node::{Node, Route};
use crate::{CallError, Weight, says_busy};

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "even_null")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RpcError {
    code: i64,
    #[serde(default)]
    message: String,
}

/// A result of `null` is a result.
fn even_null<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

impl Node {
    /// Calls `method` with `params`, a JSON array (or, on monerod, object), and gives its result
    /// as the node wrote it.
    ///
    /// # Errors
    /// `Busy` without a slot or where the node says so, `Node` without an answer, `Rpc` for an
    /// error of the node, `Shape` for anything that is not a JSON-RPC answer.
    pub async fn call(
        self: &Arc<Node>,
        method: &str,
        params: &str,
        weight: Weight,
    ) -> Result<Box<RawValue>, CallError> {
        let body = self.envelope(method, params);
        let (status, answer) = self.ask(Route::Rpc, body, weight).await?;
        result(status, &answer)
    }

    /// Posts `body`, a JSON object, to a plain path of the node and gives the answer's body
    /// (monerod).
    ///
    /// # Errors
    /// As for `call`; a status other than 200 is `Shape`.
    pub async fn call_path(
        self: &Arc<Node>,
        path: &str,
        body: impl Into<Bytes>,
        weight: Weight,
    ) -> Result<Bytes, CallError> {
        match self.ask(Route::Path(path), body.into(), weight).await? {
            (StatusCode::OK, answer) => Ok(answer),
            (status, _) => Err(CallError::Shape { status }),
        }
    }

    /// A call of a probe or of `check`: as `call`, but within the probes' own time limit, and
    /// without being counted among the calls whose failures eject the node.
    pub(crate) async fn call_quietly(
        self: &Arc<Node>,
        method: &str,
        params: &str,
    ) -> Result<Box<RawValue>, CallError> {
        let body = self.envelope(method, params);
        let (status, answer) = self.ask_quietly(Route::Rpc, body).await?;
        result(status, &answer)
    }

    /// Posts a body within the time limit of probes; gives status and body.
    pub(crate) async fn ask_quietly(
        self: &Arc<Node>,
        route: Route<'_>,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes), CallError> {
        let limit = self.probe_limit;
        let asking = async {
            let lease = self.lease(0, Weight::Internal).await?;
            let answer = self.attempt(lease, self.uri(route)?, body, limit).await?;
            let whole = answer.body.collect(self.flow_limits.response).await?;
            Ok((answer.status, whole))
        };
        let slack = Duration::from_millis(100);
        match tokio::time::timeout(limit + slack, asking).await {
            Ok(outcome) => outcome,
            Err(_) => Err(crate::NodeError::answered(crate::Cause::TimedOutWhole).into()),
        }
    }

    async fn ask(
        self: &Arc<Node>,
        route: Route<'_>,
        body: Bytes,
        weight: Weight,
    ) -> Result<(StatusCode, Bytes), CallError> {
        let lease = self.lease(0, weight).await?;
        let answer = self.send(lease, route, body).await?;
        let whole = answer.body.collect(self.flow_limits.response).await?;
        self.credit();
        Ok((answer.status, whole))
    }

    fn envelope(&self, method: &str, params: &str) -> Bytes {
        let version = match self.chain().dialect {
            Dialect::Core | Dialect::LegacyCore | Dialect::Dcrd => "1.0",
            Dialect::Zebrad | Dialect::Geth | Dialect::Monerod => "2.0",
        };
        let method = serde_json::Value::from(method);
        format!(r#"{{"jsonrpc":"{version}","id":0,"method":{method},"params":{params}}}"#).into()
    }
}

fn result(status: StatusCode, answer: &[u8]) -> Result<Box<RawValue>, CallError> {
    if says_busy(status, answer) {
        return Err(crate::Busy.into());
    }
    let shape = CallError::Shape { status };
    let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(answer) else { return Err(shape) };
    match (envelope.error, envelope.result) {
        (Some(error), _) => match serde_json::from_str::<RpcError>(error.get()) {
            Ok(RpcError { code, message }) => Err(CallError::Rpc { code, message }),
            Err(_) => Err(shape),
        },
        (None, Some(result)) => Ok(result.to_owned()),
        (None, None) => Err(shape),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_error_and_nonsense_are_told_apart() {
        let read = |text: &str| result(StatusCode::OK, text.as_bytes());
        let raw = read(r#"{"result":1.10000000,"error":null,"id":0}"#).unwrap();
        assert_eq!(raw.get(), "1.10000000");
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":0,"result":null}"#).unwrap().get(), "null");
        let error = read(r#"{"result":null,"error":{"code":-28,"message":"Loading"},"id":0}"#);
        assert!(matches!(error, Err(CallError::Rpc { code: -28, .. })));
        for text in ["", "[]", "{}", r#"{"error":"x"}"#, r#"{"result":1"#, "<html>"] {
            assert!(matches!(read(text), Err(CallError::Shape { .. })), "{text}");
        }
        let busy = result(StatusCode::INTERNAL_SERVER_ERROR, b"Work queue depth exceeded");
        assert!(matches!(busy, Err(CallError::Busy(_))));
    }
}
