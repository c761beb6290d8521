//! A stub node of the account family: it serves a chain made to measure over real HTTP, and lacks,
//! refuses or distorts what a test wants.
//!
//! Leaves what a block says to `account_chain` and whoever makes it. Invariant: what is
//! answered for a block by its hash and by its height is the same block.

#![allow(clippy::unwrap_used, reason = "a stub ends the test that misuses it")]

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::account_chain::AccountChain;

/// Changes an answer before it goes out; an error becomes one of the node.
pub type Distortion =
    Box<dyn Fn(&str, &Value, Result<Value, (i64, String)>) -> Result<Value, (i64, String)> + Send>;

struct Inner {
    chain: AccountChain,
    /// Calls that it lacks, and how it says so.
    lacks: HashMap<String, (i64, String)>,
    distortion: Option<Distortion>,
    calls: HashMap<String, usize>,
    /// Calls that it answers later.
    held: HashSet<String>,
}

/// A running stub node. Dropping it ends it.
pub struct StubAccounts {
    inner: Arc<Mutex<Inner>>,
    port: u16,
    task: JoinHandle<()>,
}

impl StubAccounts {
    /// Starts a node with this chain.
    pub async fn start(chain: AccountChain) -> StubAccounts {
        let inner = Inner {
            chain,
            lacks: HashMap::new(),
            distortion: None,
            calls: HashMap::new(),
            held: HashSet::new(),
        };
        let inner = Arc::new(Mutex::new(inner));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let task = tokio::spawn(serve(listener, Arc::clone(&inner)));
        StubAccounts { inner, port, task }
    }

    /// Where it is reached.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn locked(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows another chain from now on.
    pub fn show(&self, chain: AccountChain) {
        self.locked().chain = chain;
    }

    /// Lacks a call from now on, and says so with this code and text.
    pub fn lack(&self, method: &str, code: i64, text: &str) {
        self.locked().lacks.insert(method.to_owned(), (code, text.to_owned()));
    }

    /// Has a call again from now on.
    pub fn regain(&self, method: &str) {
        self.locked().lacks.remove(method);
    }

    /// Gives no answer to a call from now on until it is released; all others are answered.
    pub fn hold(&self, method: &str) {
        self.locked().held.insert(method.to_owned());
    }

    /// Answers a call again.
    pub fn release(&self, method: &str) {
        self.locked().held.remove(method);
    }

    /// Changes answers from now on.
    pub fn distort(&self, distortion: Option<Distortion>) {
        self.locked().distortion = distortion;
    }

    /// How often a method was called.
    pub fn calls(&self, method: &str) -> usize {
        self.locked().calls.get(method).copied().unwrap_or_default()
    }
}

impl Drop for StubAccounts {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl std::fmt::Debug for StubAccounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StubAccounts({})", self.port)
    }
}

async fn serve(listener: TcpListener, inner: Arc<Mutex<Inner>>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let inner = Arc::clone(&inner);
        connections.spawn(async move {
            let service = service_fn(|request: Request<Incoming>| {
                let inner = Arc::clone(&inner);
                async move {
                    let body = request.into_body().collect().await?.to_bytes();
                    while is_held(&inner, &body) {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    let text = answer(&inner, &body);
                    let mut response = Response::new(Full::new(Bytes::from(text)));
                    let json = HeaderValue::from_static("application/json");
                    response.headers_mut().insert(CONTENT_TYPE, json);
                    Ok::<_, hyper::Error>(response)
                }
            });
            // A client that goes away is no matter here.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// Whether a call of these is to be answered later.
fn is_held(inner: &Mutex<Inner>, body: &[u8]) -> bool {
    let held = &inner.lock().unwrap_or_else(PoisonError::into_inner).held;
    let call = |call: &Value| call["method"].as_str().is_some_and(|method| held.contains(method));
    // They are parsed once more only while something is held.
    !held.is_empty()
        && match serde_json::from_slice::<Value>(body) {
            Ok(Value::Array(calls)) => calls.iter().any(call),
            one => one.is_ok_and(|one| call(&one)),
        }
}

fn answer(inner: &Mutex<Inner>, body: &[u8]) -> String {
    let mut inner = inner.lock().unwrap_or_else(PoisonError::into_inner);
    match serde_json::from_slice::<Value>(body) {
        Ok(Value::Array(calls)) => {
            let answers: Vec<String> = calls.iter().map(|call| inner.answer(call)).collect();
            format!("[{}]", answers.join(","))
        }
        Ok(call) => inner.answer(&call),
        Err(_) => r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}"#
            .to_owned(),
    }
}

impl Inner {
    fn answer(&mut self, call: &Value) -> String {
        let method = call["method"].as_str().unwrap_or_default();
        *self.calls.entry(method.to_owned()).or_default() += 1;
        let params = &call["params"];
        let found = match self.lacks.get(method) {
            Some((code, text)) => Err((*code, text.clone())),
            None => self.find(method, params),
        };
        let found = match &self.distortion {
            Some(distort) => distort(method, params, found),
            None => found,
        };
        let id = &call["id"];
        let block = params[0].as_str().and_then(|hash| self.chain.by_hash(hash));
        let raw = block.filter(|_| method == "debug_traceBlockByHash");
        if let Some(raw) = raw.and_then(|block| block.raw_traces.as_ref()) {
            return format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{raw}}}"#);
        }
        match found {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string(),
            Err((code, message)) => {
                let error = json!({"code": code, "message": message});
                json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
            }
        }
    }

    fn find(&self, method: &str, params: &Value) -> Result<Value, (i64, String)> {
        let chain = &self.chain;
        let first = params[0].as_str().unwrap_or_default();
        let block = match first.len() {
            66 => chain.by_hash(first),
            _ => chain.by_tag(first),
        };
        let gone = || (-32000, format!("block {first} not found"));
        Ok(match method {
            "eth_blockNumber" => chain.tip().body["number"].clone(),
            "eth_syncing" => Value::Bool(false),
            "eth_getBlockByNumber" | "eth_getBlockByHash" => {
                let mut body = block.map_or(Value::Null, |block| block.body.clone());
                if params[1] == false && body.is_object() {
                    body["transactions"] = json!([]);
                }
                body
            }
            "eth_getBlockReceipts" => block.map_or(Value::Null, |block| block.receipts.clone()),
            "debug_traceBlockByHash" => block.ok_or_else(gone)?.traces.clone(),
            "eth_getUncleByBlockHashAndIndex" => {
                let place = params[1].as_str().and_then(|text| text.strip_prefix("0x"));
                let place = place.and_then(|text| usize::from_str_radix(text, 16).ok());
                let uncles = block.map(|block| &block.uncles);
                uncles.zip(place).and_then(|(uncles, at)| uncles.get(at)).cloned().into()
            }
            "eth_getTransactionReceipt" => match chain.transaction(first) {
                Some((block, place)) => block.receipts[place].clone(),
                None => Value::Null,
            },
            "debug_traceTransaction" => match chain.transaction(first) {
                Some((block, place)) => match block.traces[place]["result"].clone() {
                    Value::Null => return Err((-32000, "execution timeout".into())),
                    traced => traced,
                },
                None => return Err((-32000, "transaction not found".into())),
            },
            _ => return self.said(method, params),
        })
    }

    fn said(&self, method: &str, params: &Value) -> Result<Value, (i64, String)> {
        let key = (method.to_owned(), params.to_string());
        let known = self.chain.said.keys().any(|(known, _)| known == method);
        match self.chain.said.get(&key) {
            Some(said) => Ok(said.clone()),
            // What is not there is null.
            None if method == "eth_getTransactionByHash" => Ok(Value::Null),
            None if known => Err((3, "execution reverted".into())),
            None => Err((-32601, format!("the method {method} does not exist/is not available"))),
        }
    }
}
