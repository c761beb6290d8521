//! What the index asks of a node of this family, typed.
//!
//! Leaves transport to `node`, what to do with an answer to its callers. Invariants: an answer of
//! another shape is an error, never a guess; a call that a node lacks is remembered and not asked
//! again for a while; what a node has pruned is told apart from what does not exist.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chain::account::{Hash, RewardForks};
use node::{CallError, Cause, Node, NodeError, Weight};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::assembly::{Misfit, assemble};
use super::facts::{Block, Traced};
use super::quantity::Hex;
use super::shapes::{BlockShape, HeaderShape, ReceiptShape};
use super::trace::{BadTrace, OneTrace, read_flat, read_tree, read_trees};
use crate::sync::UpstreamError;

/// Receipts that are asked for in one request where a node has no call for a whole block.
const RECEIPTS: usize = 100;
/// The code of an error that is about a call's parameters.
const INVALID_PARAMS: i64 = -32602;
/// How the tracer is named; a transaction that is traced alone may take longer.
const TRACER: &str = r#"{"tracer":"callTracer"}"#;
const SLOW_TRACER: &str = r#"{"tracer":"callTracer","timeout":"60s"}"#;

/// What an error of a call means.
fn meaning(method: &'static str, error: CallError) -> UpstreamError {
    let CallError::Rpc { code, message } = &error else { return error.into() };
    let text = message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let names_it = text.contains(&method.to_ascii_lowercase());
    let lacks = names_it && says(&["not supported", "does not exist", "not found", "unsupported"]);
    let gone = says(&["historical state", "missing trie node", "pruned", "pruning"])
        || says(&["state is not available", "state not available", "required historical"]);
    match code {
        -32601 | -32004 => UpstreamError::Missing { method },
        _ if lacks => UpstreamError::Missing { method },
        4444 => UpstreamError::Pruned,
        _ if gone => UpstreamError::Pruned,
        _ => error.into(),
    }
}

/// A node's block as its chain is followed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) height: u32,
    pub(crate) hash: Hash,
    pub(crate) parent: Hash,
}

/// What is known of nodes besides their health, and the calls.
#[derive(Debug)]
pub(crate) struct Upstream {
    /// By node and call: since when it is known to be missing.
    lacks: Mutex<HashMap<(u64, &'static str), Instant>>,
    lacks_for: Duration,
    forks: RewardForks,
}

impl Upstream {
    /// A call that a node lacks is not asked of it again for so long.
    pub(super) fn new(forks: RewardForks, lacks_for: Duration) -> Upstream {
        Upstream { lacks: Mutex::default(), lacks_for, forks }
    }

    /// The heights from which blocks are made by other rules.
    pub(super) fn forks(&self) -> RewardForks {
        self.forks
    }

    /// Whether a node is known to lack a call.
    pub(super) fn lacks(&self, node: &Node, method: &'static str) -> bool {
        let lacks = self.lacks.lock().unwrap_or_else(PoisonError::into_inner);
        lacks.get(&(node.id(), method)).is_some_and(|since| since.elapsed() < self.lacks_for)
    }

    /// Remembers that a node lacks a call.
    pub(super) fn note_lack(&self, node: &Node, method: &'static str) {
        let mut lacks = self.lacks.lock().unwrap_or_else(PoisonError::into_inner);
        lacks.insert((node.id(), method), Instant::now());
    }

    /// Calls a method that a node may lack.
    pub(super) async fn call(
        &self,
        node: &Arc<Node>,
        method: &'static str,
        params: &str,
    ) -> Result<Box<RawValue>, UpstreamError> {
        if self.lacks(node, method) {
            return Err(UpstreamError::Missing { method });
        }
        let answer = node.call(method, params, Weight::Internal).await;
        let answer = answer.map_err(|error| meaning(method, error));
        if matches!(answer, Err(UpstreamError::Missing { .. })) {
            self.note_lack(node, method);
        }
        answer
    }

    /// The node's best block.
    pub(super) async fn best(&self, node: &Arc<Node>) -> Result<Head, UpstreamError> {
        let method = "eth_getBlockByNumber";
        let text = self.call(node, method, r#"["latest",false]"#).await?;
        let header: Option<HeaderShape> = read(method, &text)?;
        header.ok_or(UpstreamError::NotThere).and_then(|header| head(method, &header))
    }

    /// The number of the node's chain.
    pub(super) async fn chain_id(&self, node: &Arc<Node>) -> Result<u64, UpstreamError> {
        let method = "eth_chainId";
        let text = self.call(node, method, "[]").await?;
        read::<Hex<u64>>(method, &text).map(|id| id.0)
    }

    /// The height of the newest block that the node calls final.
    pub(super) async fn finalized(&self, node: &Arc<Node>) -> Result<Option<u32>, UpstreamError> {
        let method = "eth_getBlockByNumber";
        let text = self.call(node, method, r#"["finalized",false]"#).await?;
        let header: Option<HeaderShape> = read(method, &text)?;
        header.map(|header| head(method, &header).map(|head| head.height)).transpose()
    }

    /// The node's blocks at those heights; the list ends before the first that it has not.
    pub(super) async fn heads(
        &self,
        node: &Arc<Node>,
        heights: impl Iterator<Item = u32>,
    ) -> Result<Vec<Head>, UpstreamError> {
        let method = "eth_getBlockByNumber";
        let calls: Vec<(&str, String)> =
            heights.map(|height| (method, format!(r#"["{height:#x}",false]"#))).collect();
        let mut heads = Vec::with_capacity(calls.len());
        for answer in node.call_batch(&calls, Weight::Internal).await? {
            let Ok(text) = answer else { break };
            let Some(header) = read::<Option<HeaderShape>>(method, &text)? else { break };
            heads.push(head(method, &header)?);
        }
        Ok(heads)
    }

    /// The node's block at a height, with everything that is stored of it.
    pub(super) async fn block(
        &self,
        node: &Arc<Node>,
        height: u32,
    ) -> Result<Block, UpstreamError> {
        let method = "eth_getBlockByNumber";
        let text = self.call(node, method, &format!(r#"["{height:#x}",true]"#)).await?;
        let body = blocking(move || read::<Option<BlockShape>>(method, &text)).await??;
        let body = body.ok_or(UpstreamError::NotThere)?;
        if body.number.0 != u64::from(height) {
            return Err(UpstreamError::Shape { method });
        }
        let hash = body.hash.0;
        let uncles = self.uncles(node, &body).await?;
        let receipts = match body.transactions.is_empty() {
            true => Vec::new(),
            false => {
                let hashes: Vec<Hash> = body.transactions.iter().map(|tx| tx.hash.0).collect();
                self.receipts(node, hash, &hashes).await?
            }
        };
        let forks = self.forks;
        let assembled = blocking(move || {
            let receipts =
                receipts.iter().map(|text| read_receipts(text)).collect::<Result<Vec<_>, _>>()?;
            let problem =
                |Misfit(problem)| UpstreamError::Misfit { height: height.into(), problem };
            assemble(body, receipts.into_iter().flatten().collect(), &uncles, forks)
                .map_err(problem)
        });
        assembled.await?
    }

    /// The receipts of a block, as one text or as one a transaction.
    async fn receipts(
        &self,
        node: &Arc<Node>,
        block: Hash,
        transactions: &[Hash],
    ) -> Result<Vec<Box<RawValue>>, UpstreamError> {
        let method = "eth_getBlockReceipts";
        match self.call(node, method, &format!(r#"["{block}"]"#)).await {
            Ok(text) if text.get() == "null" => Err(UpstreamError::NotThere),
            Ok(text) => Ok(vec![text]),
            Err(UpstreamError::Missing { .. }) => self.single_receipts(node, transactions).await,
            // It takes heights alone, which may mean another block by now.
            Err(UpstreamError::Call(CallError::Rpc { code: INVALID_PARAMS, .. })) => {
                self.note_lack(node, method);
                self.single_receipts(node, transactions).await
            }
            Err(error) => Err(error),
        }
    }

    async fn single_receipts(
        &self,
        node: &Arc<Node>,
        transactions: &[Hash],
    ) -> Result<Vec<Box<RawValue>>, UpstreamError> {
        let method = "eth_getTransactionReceipt";
        let mut receipts = Vec::with_capacity(transactions.len());
        for some in transactions.chunks(RECEIPTS) {
            let calls: Vec<(&str, String)> =
                some.iter().map(|hash| (method, format!(r#"["{hash}"]"#))).collect();
            for answer in node.call_batch(&calls, Weight::Internal).await? {
                let text = answer.map_err(|error| meaning(method, error.into()))?;
                match text.get() {
                    "null" => return Err(UpstreamError::NotThere),
                    _ => receipts.push(text),
                }
            }
        }
        Ok(receipts)
    }

    /// The heights of a block's uncles, which its body only names.
    async fn uncles(&self, node: &Arc<Node>, body: &BlockShape) -> Result<Vec<u64>, UpstreamError> {
        #[derive(Deserialize)]
        struct Uncle {
            number: Hex<u64>,
        }
        let method = "eth_getUncleByBlockHashAndIndex";
        let count = body.uncles.as_ref().map_or(0, Vec::len);
        if body.difficulty.0.is_zero() || count == 0 {
            return Ok(Vec::new());
        }
        let mut heights = Vec::with_capacity(count);
        for index in 0..count {
            let params = format!(r#"["{}","{index:#x}"]"#, body.hash.0);
            let text = self.call(node, method, &params).await?;
            let uncle: Option<Uncle> = read(method, &text)?;
            heights.push(uncle.ok_or(UpstreamError::NotThere)?.number.0);
        }
        Ok(heights)
    }

    /// What the calls of a block's transactions did; none of one that the node could not trace.
    pub(super) async fn traces(
        &self,
        node: &Arc<Node>,
        height: u32,
        block: Hash,
        transactions: &[Hash],
    ) -> Result<Vec<Option<Traced>>, UpstreamError> {
        let method = "debug_traceBlockByHash";
        let trees = self.call(node, method, &format!(r#"["{block}",{TRACER}]"#)).await;
        let traces = match trees {
            Ok(text) => {
                let traces = blocking(move || read_trees(text.get())).await?;
                let traces = traces.map_err(|BadTrace| UpstreamError::Shape { method })?;
                match !traces.is_empty() && traces.iter().all(|one| one.is_foreign) {
                    // It does not know the tracer, and takes its own.
                    true => {
                        self.note_lack(node, method);
                        self.flat(node, height, block, transactions.len()).await?
                    }
                    false => traces,
                }
            }
            Err(UpstreamError::Missing { .. }) => {
                self.flat(node, height, block, transactions.len()).await?
            }
            // The whole may be too much where each is not.
            Err(UpstreamError::Call(CallError::Node(NodeError {
                cause: Cause::TooLarge | Cause::TimedOutFirstByte | Cause::TimedOutWhole,
                ..
            }))) => vec![OneTrace::default(); transactions.len()],
            Err(error) => return Err(error),
        };
        let fits = traces.len() == transactions.len();
        let mut pairs = traces.iter().zip(transactions);
        if !fits || !pairs.all(|(one, hash)| one.hash.is_none_or(|own| own == *hash)) {
            return Err(UpstreamError::Shape { method });
        }
        let mut traced = Vec::with_capacity(traces.len());
        for (one, hash) in traces.into_iter().zip(transactions) {
            traced.push(match one.traced {
                Some(traced) => Some(traced),
                None => self.single_trace(node, *hash).await?,
            });
        }
        Ok(traced)
    }

    async fn flat(
        &self,
        node: &Arc<Node>,
        height: u32,
        block: Hash,
        count: usize,
    ) -> Result<Vec<OneTrace>, UpstreamError> {
        let method = "trace_block";
        let text = self.call(node, method, &format!(r#"["{height:#x}"]"#)).await?;
        let traces = blocking(move || read_flat(text.get(), block, count)).await?;
        traces.map_err(|BadTrace| UpstreamError::Shape { method })
    }

    /// The trace of one transaction, which the node may take its time for.
    async fn single_trace(
        &self,
        node: &Arc<Node>,
        hash: Hash,
    ) -> Result<Option<Traced>, UpstreamError> {
        let method = "debug_traceTransaction";
        match self.call(node, method, &format!(r#"["{hash}",{SLOW_TRACER}]"#)).await {
            Ok(text) => Ok(blocking(move || read_tree(text.get())).await?.ok().flatten()),
            Err(UpstreamError::Call(CallError::Rpc { .. }) | UpstreamError::Missing { .. }) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

fn head(method: &'static str, header: &HeaderShape) -> Result<Head, UpstreamError> {
    let height = header.number.0.try_into().map_err(|_| UpstreamError::Shape { method })?;
    Ok(Head { height, hash: header.hash.0, parent: header.parent_hash.0 })
}

fn read_receipts(text: &RawValue) -> Result<Vec<ReceiptShape>, UpstreamError> {
    let method = "eth_getBlockReceipts";
    match text.get().starts_with('[') {
        true => read(method, text),
        false => read(method, text).map(|receipt| vec![receipt]),
    }
}

/// Reads an answer.
pub(super) fn read<T: DeserializeOwned>(
    method: &'static str,
    text: &RawValue,
) -> Result<T, UpstreamError> {
    serde_json::from_str(text.get()).map_err(|_| UpstreamError::Shape { method })
}

/// Reads what may be long away from the runtime's workers.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, UpstreamError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| UpstreamError::Shape { method: "a reading that was cut off" })
}
