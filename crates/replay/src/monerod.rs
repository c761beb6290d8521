//! The wire of monerod (src/rpc/core_rpc_server.h; epee's http_server_handlers_map2.h).
//!
//! `/json_rpc` takes one object and no batch; other calls are paths of their own, with the params
//! as the body. Answers are printed, not compact. Invariant: HTTP 200 for everything that
//! `/json_rpc` can read; an unknown path is a bare 404.

use bytes::Bytes;

use crate::auth::REALM;
use crate::chunks::Chunks;
use crate::epee;
use crate::json::{self, Fault, Kind};
use crate::player::{Found, Player};
use crate::wire::{Reply, Request};

const RPC: &str = "/json_rpc";

/// Second names (core_rpc_server.h, `MAP_JON_RPC` and `MAP_URI_AUTO_JON2`), with what they mean.
const ALIASES: [(&str, &str); 13] = [
    ("getblock", "get_block"),
    ("getblockcount", "get_block_count"),
    ("getblockheaderbyhash", "get_block_header_by_hash"),
    ("getblockheaderbyheight", "get_block_header_by_height"),
    ("getblockheadersrange", "get_block_headers_range"),
    ("getlastblockheader", "get_last_block_header"),
    ("on_getblockhash", "on_get_block_hash"),
    ("/getheight", "/get_height"),
    ("/getinfo", "/get_info"),
    ("/gettransactions", "/get_transactions"),
    ("/sendrawtransaction", "/send_raw_transaction"),
    ("/getblocks.bin", "/get_blocks.bin"),
    ("/gethashes.bin", "/get_hashes.bin"),
];

/// Paths that a node has, recorded or not.
const PATHS: [&str; 16] = [
    "/get_height",
    "/get_info",
    "/get_transactions",
    "/get_alt_blocks_hashes",
    "/is_key_image_spent",
    "/send_raw_transaction",
    "/get_transaction_pool",
    "/get_transaction_pool_hashes",
    "/get_transaction_pool_stats",
    "/get_outs",
    "/get_limit",
    "/get_blocks.bin",
    "/get_blocks_by_height.bin",
    "/get_hashes.bin",
    "/get_o_indexes.bin",
    "/get_outs.bin",
];

/// Calls whose answers follow from others.
const DERIVED: [&str; 4] =
    ["get_block", "get_block_headers_range", "/get_transactions", "/get_outs"];

/// Answers a request, of any verb.
pub(crate) fn answer(player: &Player, request: &Request) -> Reply {
    let path = meant(&request.path);
    if path == RPC {
        return rpc(player, &request.body);
    }
    if !PATHS.contains(&path) {
        return status(404, "Not found");
    }
    if path.ends_with(".bin") {
        let derived = || match path {
            "/get_blocks.bin" => player.derived().blocks(&request.body).map(Bytes::from),
            _ => None,
        };
        return match player.binary(path, Some(&request.body)).or_else(derived) {
            Some(content) => sent("application/octet-stream", Chunks::default().shared(content)),
            None => status(400, "Bad request"),
        };
    }
    path_call(player, path, &request.body)
}

/// Whom monerod lets in: it offers both kinds of Digest, as it does.
pub(crate) fn denied(nonce: &str, stale: bool) -> Reply {
    let page = "<html><head><title>Unauthorized Access</title></head>\
                <body><h1>401 Unauthorized</h1></body></html>";
    let mut reply = Reply::new(401, "text/html", Chunks::fixed(page));
    for algorithm in ["MD5", "MD5-sess"] {
        let offer = format!(
            r#"Digest qop="auth",algorithm={algorithm},realm="{REALM}",nonce="{nonce}",stale={stale}"#
        );
        reply.headers.push(("WWW-authenticate", offer));
    }
    reply
}

fn meant(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, meant)| meant)
}

fn status(status: u16, reason: &'static str) -> Reply {
    let mut reply = Reply::new(status, "text/plain", Chunks::default());
    reply.reason = Some(reason);
    reply.headers.insert(0, ("Server", "Epee-based".to_owned()));
    reply
}

fn sent(content_type: &'static str, body: Chunks) -> Reply {
    let mut reply = Reply::new(200, content_type, body);
    reply.reason = Some("Ok");
    reply.headers.insert(0, ("Server", "Epee-based".to_owned()));
    reply
}

fn printed(body: Vec<u8>) -> Reply {
    sent("application/json", Chunks::default().shared(Bytes::from(body)))
}

fn path_call(player: &Player, path: &str, body: &[u8]) -> Reply {
    let params = match json::value(body) {
        Ok(raw) if json::kind(raw) == Kind::Object => Some(raw),
        Err(Fault::End) if body.trim_ascii().is_empty() => None,
        _ => return status(400, "Bad request"),
    };
    let mut out = Vec::new();
    let written = match found(player, path, "", params, None) {
        Found::Result(result) | Found::Error { error: result, .. } => {
            std::str::from_utf8(&result).ok().and_then(|raw| epee::append(raw, 0, &mut out))
        }
        Found::Body(body) => return sent("application/json", Chunks::default().shared(body)),
        Found::UnknownMethod | Found::NotRecorded => {
            let raw = r#"{"status":"not in this recording","untrusted":false}"#;
            epee::append(raw, 0, &mut out)
        }
    };
    if written.is_some() { printed(out) } else { status(500, "Internal Server Error") }
}

fn rpc(player: &Player, body: &[u8]) -> Reply {
    let raw = match json::first(body) {
        Ok((raw, _)) if json::kind(raw) == Kind::Object => raw,
        // epee takes what is there of an object.
        Err(Fault::End) if matches!(body.trim_ascii(), b"" | b"{") => return invalid(),
        _ => return unreadable(),
    };
    let members = json::members(raw).unwrap_or_default();
    let member =
        |name: &str| members.iter().rev().find(|(found, _)| found == name).map(|(_, value)| *value);
    let id = member("id");
    let Some(printed_id) = epee::id(id) else { return unreadable() };
    let method = match member("method") {
        None => return invalid(),
        Some(raw) => match json::text(raw) {
            None => return status(500, "Internal Server Error"),
            Some(method) => method,
        },
    };
    let found = found(player, RPC, meant(&method), member("params"), id);
    called(found, &printed_id)
}

/// What was recorded for a call, or follows from what was.
fn found(
    player: &Player,
    path: &str,
    method: &str,
    params: Option<&str>,
    id: Option<&str>,
) -> Found {
    let name = if method.is_empty() { path } else { method };
    match player.call(path, method, params, id) {
        Found::NotRecorded | Found::UnknownMethod if DERIVED.contains(&name) => {
            match player.derived().call(name, params.unwrap_or_default()) {
                Some(Ok(result)) => Found::Result(result.into()),
                Some(Err(error)) => Found::Error { code: -2, error: error.into() },
                None => Found::NotRecorded,
            }
        }
        found => found,
    }
}

fn called(found: Found, id: &[u8]) -> Reply {
    match found {
        Found::Result(result) => {
            let mut out = [b"{\r\n  \"id\": ", id].concat();
            out.extend_from_slice(b",\r\n  \"jsonrpc\": \"2.0\",\r\n  \"result\": ");
            let written =
                std::str::from_utf8(&result).ok().and_then(|raw| epee::append(raw, 1, &mut out));
            out.extend_from_slice(b"\r\n}");
            if written.is_some() { printed(out) } else { status(500, "Internal Server Error") }
        }
        Found::Body(body) => {
            // Recorded with id "0", which stands first.
            const RECORDED: &[u8] = b"{\r\n  \"id\": \"0\"";
            match body.starts_with(RECORDED) {
                true => {
                    let head = Bytes::from([b"{\r\n  \"id\": ", id].concat());
                    let rest = body.slice(RECORDED.len()..);
                    sent("application/json", Chunks::default().shared(head).shared(rest))
                }
                false => sent("application/json", Chunks::default().shared(body)),
            }
        }
        Found::Error { error, .. } => refused(&String::from_utf8_lossy(&error), id),
        Found::UnknownMethod => refused(r#"{"code":-32601,"message":"Method not found"}"#, id),
        Found::NotRecorded => refused(r#"{"code":-1,"message":"not in this recording"}"#, id),
    }
}

fn invalid() -> Reply {
    refused(r#"{"code":-32600,"message":"Invalid Request"}"#, b"0")
}

fn unreadable() -> Reply {
    refused(r#"{"code":-32700,"message":"Parse error"}"#, b"0")
}

fn refused(error: &str, id: &[u8]) -> Reply {
    let mut out = b"{\r\n  \"error\": ".to_vec();
    if epee::append(error, 1, &mut out).is_none() {
        return status(500, "Internal Server Error");
    }
    out.extend_from_slice(b",\r\n  \"id\": ");
    out.extend_from_slice(id);
    out.extend_from_slice(b",\r\n  \"jsonrpc\": \"2.0\"\r\n}");
    printed(out)
}
