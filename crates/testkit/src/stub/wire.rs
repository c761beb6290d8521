//! How a stub node speaks: HTTP/1.1, JSON-RPC envelopes of both versions, batches, REST paths.
//!
//! What is answered is left to `methods`. Invariant: ids go back as they came; statuses and the names
//! of headers are those of the node's own generation (src/httprpc.cpp, src/rest.cpp of Bitcoin Core,
//! whose HTTP server writes `Content-Length`: some clients know no other spelling).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use chain::Dialect;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::outcome::Outcome;
use super::{Shared, blocks, methods, parameters};

/// The longest request body (src/httpserver.h, `MAX_SIZE`).
const MAX_BODY: usize = 32 << 20;
const INVALID_REQUEST: i64 = -32600;
const NO_METHOD: i64 = -32601;
const PARSE_ERROR: i64 = -32700;

/// Accepts and answers for ever. Aborting the task closes the connections with it, when the runtime
/// comes to that; once it is `over`, nothing is answered any more.
pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>, over: Arc<AtomicBool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, shared.clone(), over.clone()));
                }
                Err(_) => tokio::task::yield_now().await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>, over: Arc<AtomicBool>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request: Request<Incoming>| {
        let (shared, over) = (shared.clone(), over.clone());
        async move {
            let answer = answer(&shared, request).await;
            // What was read of the chain since the end is not told.
            if over.load(Ordering::SeqCst) { Err(io::Error::other("stopped")) } else { Ok(answer) }
        }
    });
    // A client that goes away is no matter here.
    let mut builder = http1::Builder::new();
    builder.title_case_headers(true);
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(shared: &Shared, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, MAX_BODY).collect().await else {
        return response(StatusCode::PAYLOAD_TOO_LARGE, "", Bytes::new());
    };
    match (&head.method, head.uri.path()) {
        (&Method::GET, path) if path.starts_with("/rest/") => rest(shared, path),
        (&Method::POST, "/") => rpc(shared, &body.to_bytes()),
        (_, "/") => response(StatusCode::METHOD_NOT_ALLOWED, "text/html", Bytes::new()),
        _ => response(StatusCode::NOT_FOUND, "", Bytes::new()),
    }
}

fn rest(shared: &Shared, path: &str) -> Response<Full<Bytes>> {
    let options = &shared.options;
    let hash = |prefix| path.strip_prefix(prefix)?.strip_suffix(".bin");
    let found = if let Some(hash) = hash("/rest/block/").filter(|_| options.rest) {
        shared.count("rest/block");
        blocks::rest_block(shared, hash)
    } else {
        shared.count("rest/none");
        return response(StatusCode::NOT_FOUND, "", Bytes::new());
    };
    match found {
        Ok(bytes) => response(StatusCode::OK, "application/octet-stream", bytes),
        Err(text) => response(StatusCode::NOT_FOUND, "text/plain", text.into()),
    }
}

fn rpc(shared: &Shared, body: &[u8]) -> Response<Full<Bytes>> {
    let (status, mut text) = match serde_json::from_slice::<Value>(body) {
        Ok(Value::Array(calls)) => {
            shared.count("batch");
            let answers: Vec<String> =
                calls.iter().map(|call| Answered::to(shared, call).envelope()).collect();
            (StatusCode::OK, format!("[{}]", answers.join(",")))
        }
        Ok(call) => {
            let answered = Answered::to(shared, &call);
            (answered.status(), answered.envelope())
        }
        Err(_) => {
            let outcome = Err((PARSE_ERROR, "Parse error"));
            let answered = Answered { id: &Value::Null, v2: false, outcome };
            (answered.status(), answered.envelope())
        }
    };
    text.push('\n');
    response(status, "application/json", text.into())
}

/// A call with what came of it.
struct Answered<'a> {
    id: &'a Value,
    v2: bool,
    outcome: Outcome,
}

impl<'a> Answered<'a> {
    fn to(shared: &Shared, call: &'a Value) -> Answered<'a> {
        let modern = shared.chain.dialect == Dialect::Core;
        let v2 = modern && call.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
        let id = call.get("id").unwrap_or(&Value::Null);
        let outcome = match (call.get("method").and_then(Value::as_str), call.get("params")) {
            (Some(method), Some(Value::Array(params))) => {
                shared.count(method);
                methods::call(shared, method, params)
            }
            (Some(method), Some(Value::Object(named))) => {
                shared.count(method);
                parameters::in_order(method, named)
                    .and_then(|params| methods::call(shared, method, &params))
            }
            (Some(method), None | Some(Value::Null)) => {
                shared.count(method);
                methods::call(shared, method, &[])
            }
            _ => Err((INVALID_REQUEST, "Invalid Request object")),
        };
        Answered { id, v2, outcome }
    }

    fn status(&self) -> StatusCode {
        match &self.outcome {
            _ if self.v2 => StatusCode::OK,
            Ok(_) => StatusCode::OK,
            Err((INVALID_REQUEST, _)) => StatusCode::BAD_REQUEST,
            Err((NO_METHOD, _)) => StatusCode::NOT_FOUND,
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn envelope(&self) -> String {
        let id = self.id;
        let error = |code: i64, message: &str| {
            serde_json::json!({ "code": code, "message": message }).to_string()
        };
        match (&self.outcome, self.v2) {
            (Ok(result), false) => format!(r#"{{"result":{result},"error":null,"id":{id}}}"#),
            (Ok(result), true) => format!(r#"{{"jsonrpc":"2.0","result":{result},"id":{id}}}"#),
            (Err((code, message)), false) => {
                format!(r#"{{"result":null,"error":{},"id":{id}}}"#, error(*code, message))
            }
            (Err((code, message)), true) => {
                format!(r#"{{"jsonrpc":"2.0","error":{},"id":{id}}}"#, error(*code, message))
            }
        }
    }
}

fn response(status: StatusCode, content: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    if !content.is_empty() {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content));
    }
    response
}
