//! Calls of our own: an envelope in the node's dialect, and the result out of its answer.
//!
//! Customers' calls never come this way; they pass through `send` as bytes. Invariant: numbers of
//! a result are not touched, the result is the node's own text.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use chain::Dialect;
use futures_util::stream::{FuturesOrdered, StreamExt};
use http::StatusCode;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::attempt::Query;
use crate::bounds;
use crate::ids::{CallId, Ids};
use crate::node::{Node, Route};
use crate::{AnswerBody, CallError, Cause, NodeError, RpcError, Sent, Weight, says};

/// Calls of a split batch that are under way at once.
const AT_ONCE: usize = 4;
/// Largest answer to a probe or to `check`, in bytes. The largest due is a list of pending
/// transactions, of which nothing is read.
const PROBE_BYTES: u64 = 4 << 20;

/// Ids of our calls: no two are alike, few customers' are like them, and dcrd's floats hold them.
static NEXT_ID: AtomicU64 = AtomicU64::new(1 << 40);

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "even_null")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "if_number")]
    id: Option<u64>,
}

/// A result of `null` is a result.
fn even_null<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// An id of ours; any other is none.
fn if_number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    <&RawValue>::deserialize(from).map(|id| id.get().parse().ok())
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
        let (status, answer) = self.ask_rpc(method, params, weight).await?;
        Ok(result(status, &answer)?.to_owned())
    }

    /// Makes many calls, as `(method, params)`, and gives their results in the same order, a node's
    /// error in its call's place.
    ///
    /// One request that holds one slot where the node takes batches; where it takes none
    /// ([`takes_batches`]), each call alone with its own slot, a few at once. How many calls there
    /// may be is the caller's to bound: nodes of the Core family take any number, and build the
    /// whole answer in memory.
    ///
    /// # Errors
    /// As for `call`; `Rpc` where the node refuses the batch as a whole, `Shape` where an answer
    /// stands at another place than its call.
    pub async fn call_batch<M: AsRef<str>, P: AsRef<str>>(
        self: &Arc<Node>,
        calls: &[(M, P)],
        weight: Weight,
    ) -> Result<Vec<Result<Box<RawValue>, RpcError>>, CallError> {
        if calls.is_empty() {
            return Ok(Vec::new());
        }
        if !takes_batches(self.chain().dialect) {
            return self.call_each(calls, weight).await;
        }
        let first = fresh_ids(calls.len());
        let (mut body, mut ids) = (String::from("["), Vec::with_capacity(calls.len()));
        for (id, (method, params)) in (first..).zip(calls) {
            body.push_str(if id == first { "" } else { "," });
            self.write_envelope(&mut body, id, method.as_ref(), params.as_ref());
            ids.push(CallId { id: Some(id.to_string().into()), answered: true });
        }
        body.push(']');
        let ids = Ids::Batch(ids.into());
        let bound = bounds::of_batch(self.chain(), calls);
        let (status, answer) = self.ask(Route::Rpc, body.into(), ids, weight, bound).await?;
        results(status, &answer, first, calls.len())
    }

    /// The calls of a batch, each alone.
    async fn call_each<M: AsRef<str>, P: AsRef<str>>(
        self: &Arc<Node>,
        calls: &[(M, P)],
        weight: Weight,
    ) -> Result<Vec<Result<Box<RawValue>, RpcError>>, CallError> {
        let one = async |(method, params): &(M, P)| match self
            .call(method.as_ref(), params.as_ref(), weight)
            .await
        {
            Ok(result) => Ok(Ok(result)),
            Err(CallError::Rpc { code, message }) => Ok(Err(RpcError { code, message })),
            Err(error) => Err(error),
        };
        let mut answers = Vec::with_capacity(calls.len());
        let mut under_way = FuturesOrdered::new();
        for call in calls {
            if under_way.len() == AT_ONCE
                && let Some(answer) = under_way.next().await
            {
                answers.push(answer?);
            }
            under_way.push_back(one(call));
        }
        while let Some(answer) = under_way.next().await {
            answers.push(answer?);
        }
        Ok(answers)
    }

    /// Calls `method` and gives the whole answer, which [`result`] reads.
    pub(crate) async fn ask_rpc(
        self: &Arc<Node>,
        method: &str,
        params: &str,
        weight: Weight,
    ) -> Result<(StatusCode, Bytes), CallError> {
        let (body, ids) = self.envelope(method, params);
        let bound = bounds::of_call(self.chain(), method, params);
        self.ask(Route::Rpc, body, ids, weight, bound).await
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
        let bound = bounds::of_path(self.chain(), path);
        match self.ask(Route::Path(path), body.into(), Ids::None, weight, bound).await? {
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
        let (body, ids) = self.envelope(method, params);
        let (status, answer) = self.ask_quietly(Route::Rpc, body, ids).await?;
        Ok(result(status, &answer)?.to_owned())
    }

    /// Posts a body within the limits of probes; gives status and body.
    pub(crate) async fn ask_quietly(
        self: &Arc<Node>,
        route: Route<'_>,
        body: Bytes,
        ids: Ids,
    ) -> Result<(StatusCode, Bytes), CallError> {
        self.query_quietly(Query::post(self.path(route)?, body, ids)).await
    }

    /// Gets a path within the limits of probes; gives status and body.
    pub(crate) async fn get_quietly(
        self: &Arc<Node>,
        path: &str,
    ) -> Result<(StatusCode, Bytes), CallError> {
        self.query_quietly(Query::get(self.path(Route::Path(path))?)).await
    }

    async fn query_quietly(
        self: &Arc<Node>,
        query: Query,
    ) -> Result<(StatusCode, Bytes), CallError> {
        let limit = self.probe_limit;
        let asking = async {
            let lease = self.lease(0, Weight::Internal).await?;
            let answer = self.attempt(lease, &query, limit).await?;
            let whole = answer.body.collect(PROBE_BYTES).await?;
            Ok((answer.status, whole))
        };
        let slack = Duration::from_millis(100);
        match tokio::time::timeout(limit + slack, asking).await {
            Ok(outcome) => outcome,
            Err(_) => Err(NodeError::answered(Cause::TimedOutWhole).into()),
        }
    }

    /// Posts a body and gives status and body of the answer, which is at most `bound` bytes.
    pub(crate) async fn ask(
        self: &Arc<Node>,
        route: Route<'_>,
        body: Bytes,
        ids: Ids,
        weight: Weight,
        bound: u64,
    ) -> Result<(StatusCode, Bytes), CallError> {
        let mut lease = self.lease(0, weight).await?;
        if route == Route::Rpc
            && let Some(multiplex) = self.multiplex().await?
        {
            match self.ask_over(&multiplex, lease, body.clone(), &ids).await {
                // It was closed meanwhile.
                Err(error) if error.sent == Sent::Nothing => lease = self.lease(0, weight).await?,
                outcome => {
                    let whole = outcome?;
                    self.credit();
                    return Ok((StatusCode::OK, whole));
                }
            }
        }
        let answer = self.send(lease, route, body, ids).await?;
        let whole = self.whole(answer.body, bound).await?;
        self.credit();
        Ok((answer.status, whole))
    }

    /// The whole of an answer to a call of ours, of at most `bound` bytes.
    pub(crate) async fn whole(&self, body: AnswerBody, bound: u64) -> Result<Bytes, NodeError> {
        body.collect_bounded(bound.min(self.flow_limits.response)).await
    }

    pub(crate) fn envelope(&self, method: &str, params: &str) -> (Bytes, Ids) {
        let id = fresh_ids(1);
        let mut text = String::new();
        self.write_envelope(&mut text, id, method, params);
        (text.into(), Ids::One(Some(id.to_string().into())))
    }

    fn write_envelope(&self, text: &mut String, id: u64, method: &str, params: &str) {
        let version = match self.chain().dialect {
            Dialect::Core | Dialect::LegacyCore | Dialect::Dcrd => "1.0",
            Dialect::Zebrad | Dialect::Geth | Dialect::Monerod => "2.0",
        };
        let method = serde_json::Value::from(method);
        // Writing into a text does not fail.
        let _ = write!(
            text,
            r#"{{"jsonrpc":"{version}","id":{id},"method":{method},"params":{params}}}"#
        );
    }
}

/// Whether nodes of this dialect take several calls as an array: monerod takes none, and zebrad
/// only such as say "2.0", which customers' calls need not.
pub fn takes_batches(dialect: Dialect) -> bool {
    match dialect {
        Dialect::Core | Dialect::LegacyCore | Dialect::Dcrd | Dialect::Geth => true,
        Dialect::Zebrad | Dialect::Monerod => false,
    }
}

/// As many ids in a row as are asked for; the first of them.
fn fresh_ids(count: usize) -> u64 {
    NEXT_ID.fetch_add(count as u64, Ordering::Relaxed)
}

impl<'a> Envelope<'a> {
    /// Result or error; nothing where it is neither.
    fn outcome(&self) -> Option<Result<&'a RawValue, RpcError>> {
        match (self.error, self.result) {
            (Some(error), _) => serde_json::from_str(error.get()).ok().map(Err),
            (None, result) => result.map(Ok),
        }
    }
}

/// The result in the answer to a call.
pub(crate) fn result(status: StatusCode, answer: &[u8]) -> Result<&RawValue, CallError> {
    if says::says_busy(status, answer) {
        return Err(crate::Busy.into());
    }
    if let Some(refusal) = says::refusal(status, answer) {
        return Err(NodeError::answered(Cause::Tls).refusing(refusal).into());
    }
    let envelope = serde_json::from_slice::<Envelope<'_>>(answer).ok();
    match envelope.and_then(|envelope| envelope.outcome()) {
        Some(outcome) => Ok(outcome?),
        None => Err(CallError::Shape { status }),
    }
}

/// The results in the answer to a batch of `count` calls whose ids go on from `first`.
fn results(
    status: StatusCode,
    answer: &[u8],
    first: u64,
    count: usize,
) -> Result<Vec<Result<Box<RawValue>, RpcError>>, CallError> {
    let shape = CallError::Shape { status };
    let Ok(envelopes) = serde_json::from_slice::<Vec<Envelope<'_>>>(answer) else {
        // Refused as a whole.
        return Err(result(status, answer).err().unwrap_or(shape));
    };
    if envelopes.len() != count {
        return Err(shape);
    }
    let outcomes = (first..).zip(&envelopes).map(|(id, envelope)| {
        if envelope.id != Some(id) {
            return None;
        }
        Some(envelope.outcome()?.map(ToOwned::to_owned))
    });
    outcomes.collect::<Option<_>>().ok_or(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_error_and_nonsense_are_told_apart() {
        fn read(text: &str) -> Result<&RawValue, CallError> {
            result(StatusCode::OK, text.as_bytes())
        }
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

    #[test]
    fn batch_is_read_only_in_its_own_order() {
        let read = |text: &str, count| results(StatusCode::OK, text.as_bytes(), 0, count);
        let good = r#"[{"result":"a","error":null,"id":0},
            {"result":null,"error":{"code":-5,"message":"No such"},"id":1},{"id":2,"result":null}]"#;
        let answers = read(good, 3).unwrap();
        assert_eq!(answers[0].as_ref().unwrap().get(), "\"a\"");
        let error = RpcError { code: -5, message: "No such".to_owned() };
        assert_eq!(answers[1].as_ref().unwrap_err(), &error);
        assert_eq!(answers[2].as_ref().unwrap().get(), "null");
        let (a, b) = (r#"{"result":1,"id":0}"#, r#"{"result":2,"id":1}"#);
        assert!(read(&format!("[{a},{b}]"), 2).is_ok());
        let text = r#"{"result":2,"id":"1"}"#;
        for bad in [format!("[{b},{a}]"), format!("[{a}]"), format!("[{a},{a}]"), a.to_owned()] {
            assert!(matches!(read(&bad, 2), Err(CallError::Shape { .. })), "{bad}");
        }
        for bad in [format!("[{a},{text}]"), format!("[{a},{{\"id\":1}}]"), format!("[{a},7]")] {
            assert!(matches!(read(&bad, 2), Err(CallError::Shape { .. })), "{bad}");
        }
        let refused = r#"{"result":null,"error":{"code":-32600,"message":"No"},"id":null}"#;
        assert!(matches!(read(refused, 2), Err(CallError::Rpc { code: -32600, .. })));
    }
}
