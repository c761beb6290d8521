//! The wire of Bitcoin Core and its forks (src/httprpc.cpp, src/rpc/request.cpp, src/rest.cpp).
//!
//! Core since 28.0 knows JSON-RPC 2.0 and leaves an absent id absent; its forks know the legacy
//! shape alone, with `"id":null`. Univalue takes the first of duplicate members. Invariant: a
//! number as `id` goes out as the text it came in.

use bytes::Bytes;

use crate::chunks::Chunks;
use crate::json::{self, Kind};
use crate::player::{Found, Player};
use crate::univalue;
use crate::wire::{Reply, Request};

const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const PARSE_ERROR: i64 = -32700;
/// Core's `RPC_MISC_ERROR`.
const MISC_ERROR: i64 = -1;

/// Which node of the family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Age {
    /// Core 28.0 or later.
    Modern,
    /// Everything else.
    Legacy,
}

/// What Core remembers of a call. In a batch an element that is no object inherits it from the one
/// before: Core reuses its request object.
#[derive(Debug, Clone)]
struct Caller {
    id: Option<String>,
    v2: bool,
}

impl Caller {
    fn unknown() -> Caller {
        Caller { id: Some("null".to_owned()), v2: false }
    }

    fn is_notification(&self) -> bool {
        self.v2 && self.id.is_none()
    }
}

#[derive(Debug)]
enum Outcome {
    Result(Bytes),
    Error(i64, Bytes),
}

impl Outcome {
    fn error(code: i64, message: &str) -> Outcome {
        Outcome::Error(code, Bytes::from(format!(r#"{{"code":{code},"message":"{message}"}}"#)))
    }

    fn status(&self) -> u16 {
        match self {
            Outcome::Result(_) => 200,
            Outcome::Error(INVALID_REQUEST, _) => 400,
            Outcome::Error(METHOD_NOT_FOUND, _) => 404,
            Outcome::Error(..) => 500,
        }
    }
}

/// Answers a request.
pub(crate) fn answer(player: &Player, age: Age, request: &Request) -> Reply {
    if request.path.starts_with("/rest/") {
        return rest(player, request);
    }
    if request.path != "/" && !request.path.starts_with("/wallet/") {
        return Reply::new(404, "", Chunks::default());
    }
    if request.verb != "POST" {
        let text = Chunks::fixed("JSONRPC server handles only POST requests");
        return Reply::new(405, "text/html; charset=ISO-8859-1", text);
    }
    let parsed = json::value(&request.body).map(|raw| (raw, json::kind(raw)));
    match parsed {
        Ok((raw, Kind::Object)) => single(player, age, raw),
        Ok((raw, Kind::Array)) => batch(player, age, raw),
        Ok(_) => failed(Outcome::error(PARSE_ERROR, "Top-level object parse error")),
        Err(_) => failed(Outcome::error(PARSE_ERROR, "Parse error")),
    }
}

/// Whom Core lets in: nobody with wrong credentials.
pub(crate) fn denied() -> Reply {
    let mut reply = Reply::new(401, "", Chunks::default());
    reply.headers.push(("WWW-Authenticate", r#"Basic realm="jsonrpc""#.to_owned()));
    reply
}

fn rest(player: &Player, request: &Request) -> Reply {
    if request.path == "/rest/chaininfo.json"
        && let Some(info) = player.told_by_rest("getblockchaininfo")
    {
        return Reply::new(200, "application/json", Chunks::default().shared(info).text("\n"));
    }
    match player.binary(&request.path, None) {
        Some(content) => {
            Reply::new(200, "application/octet-stream", Chunks::default().shared(content))
        }
        None => Reply::new(404, "text/plain", Chunks::fixed("not in this recording\r\n")),
    }
}

fn failed(outcome: Outcome) -> Reply {
    sent(outcome.status(), envelope(outcome, &Caller::unknown()))
}

fn sent(status: u16, body: Chunks) -> Reply {
    Reply::new(status, "application/json", body.text("\n"))
}

fn single(player: &Player, age: Age, raw: &str) -> Reply {
    let mut caller = Caller::unknown();
    let (outcome, ran) = call(player, age, raw, &mut caller);
    // Before it runs, a bad request of either version has the legacy status.
    if ran && caller.is_notification() {
        return Reply::new(204, "", Chunks::default());
    }
    let status = if ran && caller.v2 { 200 } else { outcome.status() };
    sent(status, envelope(outcome, &caller))
}

fn batch(player: &Player, age: Age, raw: &str) -> Reply {
    let Some(items) = json::items(raw) else {
        return failed(Outcome::error(PARSE_ERROR, "Parse error"));
    };
    let mut caller = Caller::unknown();
    let mut bodies = Vec::with_capacity(items.len());
    for item in &items {
        if age == Age::Legacy {
            caller = Caller::unknown();
        }
        let (outcome, _) = call(player, age, item, &mut caller);
        if !caller.is_notification() {
            bodies.push(envelope(outcome, &caller));
        }
    }
    if bodies.is_empty() && !items.is_empty() {
        return Reply::new(204, "", Chunks::default());
    }
    sent(200, Chunks::joined(bodies, "[", "]"))
}

/// Runs one call; `false` if it could not even be read.
fn call(player: &Player, age: Age, raw: &str, caller: &mut Caller) -> (Outcome, bool) {
    let invalid = |message| (Outcome::error(INVALID_REQUEST, message), false);
    let Some(members) = json::members(raw) else { return invalid("Invalid Request object") };
    let member =
        |name: &str| members.iter().find(|(found, _)| found == name).map(|(_, value)| *value);
    let id = member("id");
    *caller = match age {
        Age::Modern => Caller { id: id.map(univalue::written), v2: false },
        Age::Legacy => Caller { id: Some(univalue::written(id.unwrap_or("null"))), v2: false },
    };
    if age == Age::Modern {
        match version(member("jsonrpc")) {
            Ok(v2) => caller.v2 = v2,
            Err(message) => return invalid(message),
        }
    }
    let method = match member("method").filter(|raw| json::kind(raw) != Kind::Null) {
        None => return invalid("Missing method"),
        Some(raw) => match json::text(raw) {
            None => return invalid("Method must be a string"),
            Some(method) => method,
        },
    };
    let params = member("params");
    if !matches!(params.map_or(Kind::Null, json::kind), Kind::Null | Kind::Array | Kind::Object) {
        return invalid("Params must be an array or object");
    }
    let found = player.call("", &method, params, id);
    if found == Found::NotRecorded && takes_a_boolean(player, &method, params.unwrap_or_default()) {
        let message = "JSON value is not a boolean as expected";
        return (Outcome::error(MISC_ERROR, message), true);
    }
    (outcome(found), true)
}

/// Whether the node takes a boolean where this call has a number: `getblock` of Dogecoin Core
/// before 1.14.7 (src/rpc/blockchain.cpp), which says so instead of answering.
fn takes_a_boolean(player: &Player, method: &str, params: &str) -> bool {
    let Some((first, last)) = params.trim_end().rsplit_once(',') else { return false };
    let is_number =
        last.strip_suffix(']').is_some_and(|number| number.trim().parse::<u8>().is_ok());
    is_number && player.has(method, &format!("{first},false]"))
}

/// Is this 2.0?
fn version(tag: Option<&str>) -> Result<bool, &'static str> {
    match tag.filter(|raw| json::kind(raw) != Kind::Null) {
        None => Ok(false),
        Some(raw) => match json::text(raw).as_deref() {
            None => Err("jsonrpc field must be a string"),
            Some("1.0") => Ok(false),
            Some("2.0") => Ok(true),
            Some(_) => Err("JSON-RPC version not supported"),
        },
    }
}

fn outcome(found: Found) -> Outcome {
    match found {
        Found::Result(result) => Outcome::Result(result),
        Found::Error { code, error } => Outcome::Error(code, error),
        Found::UnknownMethod => Outcome::error(METHOD_NOT_FOUND, "Method not found"),
        Found::NotRecorded | Found::Body(_) => Outcome::error(MISC_ERROR, "not in this recording"),
    }
}

fn envelope(outcome: Outcome, caller: &Caller) -> Chunks {
    let body = match (outcome, caller.v2) {
        (Outcome::Result(result), false) => {
            Chunks::fixed(r#"{"result":"#).shared(result).text(r#","error":null"#)
        }
        (Outcome::Error(_, error), false) => {
            Chunks::fixed(r#"{"result":null,"error":"#).shared(error)
        }
        (Outcome::Result(result), true) => {
            Chunks::fixed(r#"{"jsonrpc":"2.0","result":"#).shared(result)
        }
        (Outcome::Error(_, error), true) => {
            Chunks::fixed(r#"{"jsonrpc":"2.0","error":"#).shared(error)
        }
    };
    match &caller.id {
        Some(id) => body.text(r#","id":"#).own(id.as_str()).text("}"),
        None => body.text("}"),
    }
}
