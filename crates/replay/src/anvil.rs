//! The wire of anvil (crates/anvil/server/src, crates/anvil/rpc/src of foundry 1.7).
//!
//! Strictly JSON-RPC 2.0 and strict about members; one bad element spoils a whole batch. Invariant:
//! HTTP 200, or 204 where nothing is answered.

use crate::chunks::Chunks;
use crate::geth;
use crate::json::{self, Kind};
use crate::player::{Found, Player};
use crate::wire::{Reply, Request};

const INVALID: &str = r#"{"code":-32600,"message":"Invalid request"}"#;

/// A call as anvil reads it.
enum Call<'a> {
    Method {
        id: &'a str,
        method: String,
        params: Option<&'a str>,
    },
    Notification {
        method: String,
        params: Option<&'a str>,
    },
    /// Something with an id (or without one), but no call.
    Invalid {
        id: &'a str,
    },
}

/// Answers a request.
pub(crate) fn answer(player: &Player, request: &Request) -> Reply {
    if request.verb != "POST" {
        let text = Chunks::fixed("Connection header did not include 'upgrade'");
        return Reply::new(400, "text/plain; charset=utf-8", text);
    }
    let read = match json::value(&request.body) {
        Ok(raw) if geth::is_json(request) => raw,
        _ => return sent(Some(refused("null", INVALID))),
    };
    if json::kind(read) != Kind::Array {
        let body = self::read(read).map(|call| run(player, &call));
        return sent(body.unwrap_or_else(|| Some(refused("null", INVALID))));
    }
    let calls: Option<Vec<_>> =
        json::items(read).unwrap_or_default().into_iter().map(self::read).collect();
    match calls {
        Some(calls) if !calls.is_empty() => {
            let bodies: Vec<_> = calls.iter().filter_map(|call| run(player, call)).collect();
            sent((!bodies.is_empty()).then(|| Chunks::joined(bodies, "[", "]")))
        }
        _ => sent(Some(refused("null", INVALID))),
    }
}

fn sent(body: Option<Chunks>) -> Reply {
    match body {
        Some(body) => Reply::new(200, "application/json", body),
        None => Reply::new(204, "", Chunks::default()),
    }
}

/// `None` for what is not even an invalid call.
fn read(raw: &str) -> Option<Call<'_>> {
    let members = json::members(raw)?;
    let values = |name: &str| {
        let found = members.iter().filter(|(member, _)| member == name).map(|(_, raw)| *raw);
        found.collect::<Vec<_>>()
    };
    let (ids, methods, tags) = (values("id"), values("method"), values("jsonrpc"));
    let id = match ids[..] {
        [] => None,
        [id] if is_id(id) => Some(id),
        _ => return None,
    };
    let strange = members
        .iter()
        .any(|(name, _)| !["id", "jsonrpc", "method", "params"].contains(&name.as_str()));
    let params = values("params");
    let tagged = tags.len() == 1 && json::text(tags[0]).as_deref() == Some("2.0");
    let method = methods.first().filter(|_| methods.len() == 1).and_then(|raw| json::text(raw));
    let params_fit = params.len() < 2
        && params
            .iter()
            .all(|raw| !matches!(json::kind(raw), Kind::Bool | Kind::Number | Kind::Text));
    let params = params.first().copied();
    Some(match (id, method) {
        (Some(id), Some(method)) if tagged && params_fit && !strange => {
            Call::Method { id, method, params }
        }
        (None, Some(method)) if tagged && params_fit && !strange => {
            Call::Notification { method, params }
        }
        (id, _) => Call::Invalid { id: id.unwrap_or("null") },
    })
}

fn is_id(raw: &str) -> bool {
    match json::kind(raw) {
        Kind::Null | Kind::Text => true,
        Kind::Number => raw.parse::<i64>().is_ok(),
        _ => false,
    }
}

fn run(player: &Player, call: &Call<'_>) -> Option<Chunks> {
    let (id, method, params) = match call {
        Call::Method { id, method, params } => (*id, method, *params),
        Call::Notification { method, params } => {
            player.call("", method, *params, None);
            return None;
        }
        Call::Invalid { id } => return Some(refused(id, INVALID)),
    };
    let found = player.call("", method, params, Some(id));
    let object = params.is_some_and(|raw| json::kind(raw) == Kind::Object);
    Some(match found {
        Found::UnknownMethod => refused(id, r#"{"code":-32601,"message":"Method not found"}"#),
        _ if object => {
            refused(id, r#"{"code":-32602,"message":"invalid type: map, expected a sequence"}"#)
        }
        Found::Result(result) => Chunks::fixed(r#"{"jsonrpc":"2.0","id":"#)
            .own(id)
            .text(r#","result":"#)
            .shared(result)
            .text("}"),
        Found::Error { error, .. } => opened(id).shared(error).text("}"),
        Found::NotRecorded | Found::Body(_) => {
            refused(id, r#"{"code":-32603,"message":"not in this recording"}"#)
        }
    })
}

fn opened(id: &str) -> Chunks {
    Chunks::fixed(r#"{"jsonrpc":"2.0","id":"#).own(id).text(r#","error":"#)
}

fn refused(id: &str, error: &'static str) -> Chunks {
    opened(id).text(error).text("}")
}
