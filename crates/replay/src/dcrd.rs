//! The wire of dcrd (internal/rpcserver/rpcserver.go, dcrjson/jsonrpc.go).
//!
//! It reads JSON as Go does (member names in any case, the last one wins), sends every id through a
//! float, answers 200 to everything, closes the connection behind each answer and tells no length.
//! Invariant: the body ends with a newline, and is that alone where nothing is answered.

use bytes::Bytes;

use crate::chunks::Chunks;
use crate::go;
use crate::json::{self, Fault, Kind};
use crate::player::{Found, Player};
use crate::wire::{Framing, Reply, Request};

/// A call as Go reads it.
#[derive(Debug, Default)]
struct Call<'a> {
    version: String,
    method: String,
    params: Option<&'a str>,
    id: Option<&'a str>,
}

/// Answers a request, of any verb and path.
pub(crate) fn answer(player: &Player, request: &Request) -> Reply {
    let body = &request.body[..];
    // The array is told by the very first byte.
    let body = if body.first() == Some(&b'[') { batch(player, body) } else { single(player, body) };
    let mut reply = Reply::new(200, "application/json", body.unwrap_or_default().text("\n"));
    reply.framing = Framing::Close;
    reply
}

/// Whether a request asks for a websocket where dcrd has one.
pub(crate) fn upgrades(request: &Request) -> bool {
    request.path == "/ws" && request.websocket_key.is_some()
}

/// Answers a message of a websocket: no newline behind it, and to a batch of which nothing is
/// answered an empty one (internal/rpcserver/rpcwebsocket.go, `inHandler`).
pub(crate) fn message(player: &Player, text: &str) -> Option<Chunks> {
    match text.starts_with('[') {
        true => Some(batch(player, text.as_bytes()).unwrap_or_default()),
        false => subscribed(text).or_else(|| single(player, text.as_bytes())),
    }
}

/// dcrd says so in plain text.
pub(crate) fn denied() -> Reply {
    let text = Chunks::fixed("401 Unauthorized.\n");
    let mut reply = Reply::new(401, "text/plain; charset=utf-8", text);
    reply.headers.push(("WWW-Authenticate", r#"Basic realm="dcrd RPC""#.to_owned()));
    reply
}

fn single(player: &Player, body: &[u8]) -> Option<Chunks> {
    let read = json::value(body).map_err(go_fault).and_then(read);
    match read {
        Ok(call) => run(player, &call),
        Err(fault) => refused("1.0", None, -32700, &format!("Failed to parse request: {fault}")),
    }
}

/// The answer to `notifyblocks`, which only a websocket knows.
fn subscribed(text: &str) -> Option<Chunks> {
    let call = json::value(text.as_bytes()).ok().and_then(|raw| read(raw).ok())?;
    let id = call.id.filter(|_| call.method == "notifyblocks")?;
    Some(opened(&call.version).text(r#"null,"error":null,"id":"#).own(go::id(id)?).text("}"))
}

fn batch(player: &Player, body: &[u8]) -> Option<Chunks> {
    let items = match json::value(body) {
        Ok(raw) => json::items(raw).unwrap_or_default(),
        Err(fault) => {
            let fault = go_fault(fault);
            return refused("2.0", None, -32700, &format!("Failed to parse request: {fault}"));
        }
    };
    if items.is_empty() {
        return refused("2.0", None, -32600, "Invalid request: empty batch");
    }
    let answer = |item| match read(item) {
        Ok(call) => run(player, &call),
        Err(fault) => refused("", None, -32600, &format!("Invalid request: {fault}")),
    };
    let bodies: Vec<_> = items.into_iter().filter_map(answer).collect();
    (!bodies.is_empty()).then(|| Chunks::joined(bodies, "[", "]"))
}

/// What Go's parser says about bad JSON (encoding/json, scanner.go).
fn go_fault(fault: Fault) -> String {
    match fault {
        Fault::End => "unexpected end of JSON input".to_owned(),
        Fault::Trailing(found) => format!("invalid character '{found}' after top-level value"),
        Fault::Syntax(found) => {
            format!("invalid character '{found}' looking for beginning of value")
        }
    }
}

/// Reads a call into Go's struct.
fn read(raw: &str) -> Result<Call<'_>, String> {
    let mut call = Call::default();
    if json::kind(raw) == Kind::Null {
        return Ok(call);
    }
    let Some(members) = json::members(raw) else {
        return Err(mismatch(raw, "value", "dcrjson.Request"));
    };
    for (name, raw) in members {
        let null = json::kind(raw) == Kind::Null;
        match name.to_ascii_lowercase().as_str() {
            "jsonrpc" if !null => {
                let text = json::text(raw);
                call.version =
                    text.ok_or_else(|| mismatch(raw, "struct field Request.jsonrpc", "string"))?;
            }
            "method" if !null => {
                let text = json::text(raw);
                call.method =
                    text.ok_or_else(|| mismatch(raw, "struct field Request.method", "string"))?;
            }
            "params" if null => call.params = None,
            "params" if json::kind(raw) == Kind::Array => call.params = Some(raw),
            "params" => {
                return Err(mismatch(raw, "struct field Request.params", "[]json.RawMessage"));
            }
            "id" => call.id = (!null).then_some(raw),
            _ => {}
        }
    }
    Ok(call)
}

fn mismatch(raw: &str, place: &str, wanted: &str) -> String {
    let kind = match json::kind(raw) {
        Kind::Number => "number",
        Kind::Text => "string",
        Kind::Bool => "bool",
        Kind::Array => "array",
        Kind::Object | Kind::Null => "object",
    };
    format!("json: cannot unmarshal {kind} into Go {place} of type {wanted}")
}

fn run(player: &Player, call: &Call<'_>) -> Option<Chunks> {
    if call.method.is_empty() {
        return refused(&call.version, call.id, -32600, "Invalid request: malformed");
    }
    let id = call.id?;
    let found = player.call("", &call.method, call.params, Some(id));
    match found {
        Found::Result(result) => {
            let body = opened(&call.version).shared(result).text(r#","error":null,"id":"#);
            Some(body.own(go::id(id)?).text("}"))
        }
        Found::Error { error, .. } => enveloped(&call.version, Some(id), error),
        Found::UnknownMethod => refused(&call.version, Some(id), -32601, "Method not found"),
        Found::NotRecorded | Found::Body(_) => {
            refused(&call.version, Some(id), -1, "not in this recording")
        }
    }
}

fn opened(version: &str) -> Chunks {
    Chunks::fixed(match version {
        "2.0" => r#"{"jsonrpc":"2.0","result":"#,
        _ => r#"{"jsonrpc":"1.0","result":"#,
    })
}

fn refused(version: &str, id: Option<&str>, code: i64, message: &str) -> Option<Chunks> {
    let message = go::text(message);
    enveloped(version, id, Bytes::from(format!(r#"{{"code":{code},"message":{message}}}"#)))
}

/// `None` for an id that dcrd cannot answer to (an array, an object, a boolean).
fn enveloped(version: &str, id: Option<&str>, error: Bytes) -> Option<Chunks> {
    let id = id.map_or(Some("null".to_owned()), go::id)?;
    Some(opened(version).text(r#"null,"error":"#).shared(error).text(r#","id":"#).own(id).text("}"))
}
