//! The wire of geth (rpc/json.go, rpc/handler.go, rpc/http.go).
//!
//! Strictly JSON-RPC 2.0; of duplicate members the last one counts, names are exact. Invariant:
//! HTTP 200 for every body that is read at all, and no newline behind it.

use crate::chunks::Chunks;
use crate::json::{self, Kind};
use crate::player::{Found, Player};
use crate::wire::{Framing, Reply, Request};

/// node/defaults.go `BatchRequestLimit`.
const BATCH_LIMIT: usize = 1000;
/// Go's server sends a length where the whole answer fits its buffer (net/http `bufferBeforeChunkingSize`).
const BEFORE_CHUNKING: usize = 2048;

/// A call as geth reads it. A member of the wrong kind counts as absent.
#[derive(Debug, Default)]
struct Call<'a> {
    v2: bool,
    id: Option<&'a str>,
    method: String,
    params: Option<&'a str>,
}

impl Call<'_> {
    fn has_id(&self) -> bool {
        self.id.is_some_and(|id| !matches!(json::kind(id), Kind::Array | Kind::Object))
    }
}

/// Answers a request.
pub(crate) fn answer(player: &Player, request: &Request) -> Reply {
    if request.verb == "GET" && request.body.is_empty() {
        return Reply::new(200, "", Chunks::default());
    }
    if request.verb != "POST" {
        return Reply::new(405, "text/plain; charset=utf-8", Chunks::fixed("method not allowed\n"));
    }
    if !is_json(request) {
        let text = Chunks::fixed("invalid content type, only application/json is supported\n");
        return Reply::new(415, "text/plain; charset=utf-8", text);
    }
    let body = match json::value(&request.body) {
        Err(_) if request.body.trim_ascii().is_empty() => None,
        Err(_) => Some(refused(None, -32700, "parse error")),
        Ok(raw) if json::kind(raw) == Kind::Array => batch(player, raw),
        Ok(raw) => run(player, &read(raw)),
    };
    let mut reply = Reply::new(200, "application/json", body.unwrap_or_default());
    if reply.body.len() > BEFORE_CHUNKING {
        reply.framing = Framing::Chunked;
    }
    reply
}

/// Is the body declared as JSON?
pub(crate) fn is_json(request: &Request) -> bool {
    let declared = request.content_type.as_deref().unwrap_or_default();
    let media = declared.split(';').next().unwrap_or_default().trim();
    ["application/json", "application/json-rpc", "application/jsonrequest"]
        .iter()
        .any(|known| media.eq_ignore_ascii_case(known))
}

fn batch(player: &Player, raw: &str) -> Option<Chunks> {
    let calls: Vec<_> = json::items(raw)?.into_iter().map(read).collect();
    if calls.is_empty() {
        return Some(refused(None, -32600, "empty batch"));
    }
    if calls.len() > BATCH_LIMIT {
        let first = calls.iter().find(|call| call.has_id()).and_then(|call| call.id);
        return Some(Chunks::joined(vec![refused(first, -32600, "batch too large")], "[", "]"));
    }
    let bodies: Vec<_> = calls.iter().filter_map(|call| run(player, call)).collect();
    (!bodies.is_empty()).then(|| Chunks::joined(bodies, "[", "]"))
}

fn read(raw: &str) -> Call<'_> {
    let mut call = Call::default();
    for (name, raw) in json::members(raw).unwrap_or_default() {
        match name.as_str() {
            "jsonrpc" => call.v2 = json::text(raw).as_deref() == Some("2.0"),
            "id" => call.id = Some(raw),
            "method" => call.method = json::text(raw).unwrap_or_default(),
            "params" => call.params = Some(raw),
            _ => {}
        }
    }
    call
}

fn run(player: &Player, call: &Call<'_>) -> Option<Chunks> {
    let callable = call.v2 && !call.method.is_empty();
    match call.id {
        None if callable => {
            player.call("", &call.method, call.params, None);
            None
        }
        Some(id) if callable && call.has_id() => Some(called(player, call, id)),
        id => Some(refused(id.filter(|_| call.has_id()), -32600, "invalid request")),
    }
}

fn called(player: &Player, call: &Call<'_>, id: &str) -> Chunks {
    let found = player.call("", &call.method, call.params, Some(id));
    let kind = call.params.map_or(Kind::Null, json::kind);
    if found != Found::UnknownMethod && !matches!(kind, Kind::Null | Kind::Array) {
        return refused(Some(id), -32602, "non-array args");
    }
    match found {
        Found::Result(result) => Chunks::fixed(r#"{"jsonrpc":"2.0","id":"#)
            .own(id)
            .text(r#","result":"#)
            .shared(result)
            .text("}"),
        Found::Error { error, .. } => opened(Some(id)).shared(error).text("}"),
        Found::UnknownMethod => {
            let message = format!("the method {} does not exist/is not available", call.method);
            refused(Some(id), -32601, &message)
        }
        Found::NotRecorded | Found::Body(_) => refused(Some(id), -32000, "not in this recording"),
    }
}

fn opened(id: Option<&str>) -> Chunks {
    Chunks::fixed(r#"{"jsonrpc":"2.0","id":"#).own(id.unwrap_or("null")).text(r#","error":"#)
}

fn refused(id: Option<&str>, code: i64, message: &str) -> Chunks {
    let message = crate::go::text(message);
    opened(id).own(format!(r#"{{"code":{code},"message":{message}}}}}"#))
}
