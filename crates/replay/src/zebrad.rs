//! The wire of zebrad: jsonrpsee, behind a shim that lets single calls of older versions through
//! (zebra-rpc/src/server/http_request_compatibility.rs).
//!
//! Invariant: HTTP 200 for whatever is JSON-RPC; the shim never touches an array.

use bytes::Bytes;

use crate::chunks::Chunks;
use crate::json::{self, Kind};
use crate::player::{Found, Player};
use crate::wire::{Reply, Request};

const INVALID_REQUEST: &str = r#"{"code":-32600,"message":"Invalid request"}"#;
const PARSE_ERROR: &str = r#"{"code":-32700,"message":"Parse error"}"#;

/// What the shim takes a call for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    /// No tag: answered without one, `result` and `error` both there.
    Bitcoind,
    /// `"1.0"`: the same, with the tag.
    Lightwalletd,
    /// Strict 2.0.
    Two,
}

/// Answers a request.
pub(crate) fn answer(player: &Player, request: &Request) -> Reply {
    if request.verb != "POST" {
        let text = Chunks::fixed("Used HTTP Method is not allowed. POST is required\n");
        return Reply::new(405, "text/plain", text);
    }
    let body = &request.body;
    match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => sent(200, single(player, body)),
        Some(b'[') => sent(200, batch(player, body)),
        _ => sent(400, error(Version::Two, "null", PARSE_ERROR)),
    }
}

/// zebrad closes the connection on wrong credentials, without a word.
pub(crate) fn denied() -> Reply {
    Reply { hang_up: true, ..Reply::default() }
}

fn sent(status: u16, body: Chunks) -> Reply {
    Reply::new(status, "application/json; charset=utf-8", body)
}

fn single(player: &Player, body: &[u8]) -> Chunks {
    let Ok(raw) = json::value(body) else { return error(Version::Two, "null", PARSE_ERROR) };
    let members = json::members(raw).unwrap_or_default();
    let version = shim(&members);
    match call(player, &members, version) {
        Some(Ok(body)) => body,
        Some(Err(Some(id))) => error(version.unwrap_or(Version::Two), id, INVALID_REQUEST),
        Some(Err(None)) => error(version.unwrap_or(Version::Two), "null", PARSE_ERROR),
        None => Chunks::default(),
    }
}

fn batch(player: &Player, body: &[u8]) -> Chunks {
    let Some(items) = json::value(body).ok().and_then(json::items) else {
        return error(Version::Two, "null", PARSE_ERROR);
    };
    if items.is_empty() {
        return error(Version::Two, "null", INVALID_REQUEST);
    }
    let mut bodies = Vec::with_capacity(items.len());
    for item in items {
        let members = json::members(item).unwrap_or_default();
        match call(player, &members, strict(&members)) {
            Some(Ok(body)) => bodies.push(body),
            Some(Err(id)) => {
                bodies.push(error(Version::Two, id.unwrap_or("null"), INVALID_REQUEST));
            }
            None => {}
        }
    }
    if bodies.is_empty() { Chunks::default() } else { Chunks::joined(bodies, "[", "]") }
}

type Members<'a> = [(String, &'a str)];

/// The one value of this name; `None` if there are several, as serde has it.
fn one<'a>(members: &Members<'a>, name: &str) -> Option<Option<&'a str>> {
    let mut found = members.iter().filter(|(member, _)| member == name).map(|(_, raw)| *raw);
    let first = found.next();
    found.next().is_none().then_some(first)
}

/// The same, with `null` for absent.
fn given<'a>(members: &Members<'a>, name: &str) -> Option<&'a str> {
    one(members, name).flatten().filter(|raw| json::kind(raw) != Kind::Null)
}

fn strict(members: &Members<'_>) -> Option<Version> {
    let tag = one(members, "jsonrpc").flatten().and_then(json::text);
    (tag.as_deref() == Some("2.0")).then_some(Version::Two)
}

/// The version that the shim converts from; `None` leaves the request as it is, to be refused.
fn shim(members: &Members<'_>) -> Option<Version> {
    let legacy = given(members, "params").is_some() && given(members, "id").is_some();
    match given(members, "jsonrpc").map(json::text) {
        None if legacy => Some(Version::Bitcoind),
        Some(Some(tag)) if tag == "1.0" && legacy => Some(Version::Lightwalletd),
        Some(Some(tag)) if tag == "2.0" => Some(Version::Two),
        _ => None,
    }
}

/// The answer of one call; `None` for a notification, the id (if it can be read) of an unreadable
/// one.
fn call<'a>(
    player: &Player,
    members: &Members<'a>,
    version: Option<Version>,
) -> Option<Result<Chunks, Option<&'a str>>> {
    let id = one(members, "id").flatten();
    let readable = id.filter(|raw| match json::kind(raw) {
        Kind::Null | Kind::Text => true,
        Kind::Number => raw.parse::<u64>().is_ok(),
        _ => false,
    });
    let method = one(members, "method").flatten().and_then(json::text);
    let (Some(version), Some(method)) = (version, method) else { return Some(Err(readable)) };
    if one(members, "params").is_none() || (id.is_some() && readable.is_none()) {
        return Some(Err(readable));
    }
    let id = id?;
    let params = one(members, "params").flatten();
    Some(Ok(match player.call("", &method, params, Some(id)) {
        Found::Result(result) => answered(version, id, result),
        Found::Error { error: object, .. } => refused(version, id, object),
        Found::UnknownMethod => {
            error(version, id, r#"{"code":-32601,"message":"Method not found"}"#)
        }
        Found::NotRecorded | Found::Body(_) => {
            error(version, id, r#"{"code":-1,"message":"not in this recording"}"#)
        }
    }))
}

fn opened(version: Version, id: &str) -> Chunks {
    let tag = match version {
        Version::Bitcoind => r#"{"id":"#,
        Version::Lightwalletd => r#"{"jsonrpc":"1.0","id":"#,
        Version::Two => r#"{"jsonrpc":"2.0","id":"#,
    };
    Chunks::fixed(tag).own(id)
}

fn answered(version: Version, id: &str, result: Bytes) -> Chunks {
    let body = opened(version, id).text(r#","result":"#).shared(result);
    body.text(if version == Version::Two { "}" } else { r#","error":null}"# })
}

fn refused(version: Version, id: &str, object: Bytes) -> Chunks {
    let before =
        if version == Version::Two { r#","error":"# } else { r#","result":null,"error":"# };
    opened(version, id).text(before).shared(object).text("}")
}

fn error(version: Version, id: &str, object: &'static str) -> Chunks {
    refused(version, id, Bytes::from_static(object.as_bytes()))
}
