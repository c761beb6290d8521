//! Every recorded answer of the nine chains comes through byte for byte, or gets our refusal.

use replay::{RecordedKind, Replay, ReplayOptions};
use serde_json::Value;

use crate::rig::{Plan, Rig, call, nodes, reason};

const NAMES: [&str; 4] = ["jsonrpc", "id", "method", "params"];

/// Would the specification let this body pass to the node as it is? Judged on its own, by a parser
/// that builds values.
fn passes(chain: &chain::Chain, body: &str) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(body) else { return false };
    let Some(members) = value.as_object() else { return false };
    let twice = NAMES.iter().any(|name| body.matches(&format!("\"{name}\":")).count() > 1);
    let id = members.get("id").is_none_or(|id| !id.is_object() && !id.is_array());
    let params = members.get("params").is_none_or(|p| p.is_object() || p.is_array() || p.is_null());
    let version = members.get("jsonrpc").is_none_or(Value::is_string);
    let method = members.get("method").and_then(Value::as_str);
    !twice
        && id
        && params
        && version
        && method.is_some_and(|method| chain.methods().find(method).is_some())
}

/// Is every item of our array the node's own or a refusal of ours?
fn is_joined(ours: &[u8], nodes: &[u8]) -> bool {
    let (Ok(Value::Array(ours)), Ok(Value::Array(nodes))) =
        (serde_json::from_slice(ours), serde_json::from_slice(nodes))
    else {
        return false;
    };
    ours.iter().all(|item| item["error"]["data"]["reason"].is_string() || nodes.contains(item))
}

/// Does the rebuilt envelope get an answer where the client's own bytes would have got an error?
/// dcrd stumbles over a space before a batch, zebrad over the version in one.
fn is_mended(chain: &chain::Chain, body: &str) -> bool {
    match chain.dialect {
        chain::Dialect::Dcrd => body.starts_with(' '),
        chain::Dialect::Zebrad => body.starts_with('['),
        _ => false,
    }
}

async fn hold_against(slug: &'static str) {
    let replay = Replay::start(slug, ReplayOptions::default()).await.unwrap();
    let rig = Plan::one(slug, nodes(&[&replay.url()])).start().await;
    let chain = chain::find(slug).unwrap();
    let mut connection = rig.connect().await;
    let (mut passed, mut refused) = (0, 0);
    for line in replay::recorded(slug).unwrap() {
        if line.restricted() {
            continue;
        }
        replay.set_phase(line.phase());
        match line.kind() {
            RecordedKind::Call => {
                let answer = call(&mut connection, &rig, slug, &line.request("7")).await;
                if chain.methods().find(line.method()).is_none() {
                    assert_eq!(
                        (answer.status, reason(&answer).as_str()),
                        (403, "METHOD_NOT_ALLOWED")
                    );
                    refused += 1;
                    continue;
                }
                assert_eq!(
                    answer.status,
                    200,
                    "{} {}: {}",
                    line.method(),
                    line.params(),
                    answer.text()
                );
                assert_eq!(
                    answer.text(),
                    String::from_utf8_lossy(&line.body("7")),
                    "{}",
                    line.method()
                );
                assert_eq!(answer.header("content-type"), Some("application/json"));
                passed += 1;
            }
            RecordedKind::Posted => {
                let body = line.request("0");
                let answer = call(&mut connection, &rig, slug, &body).await;
                let text = String::from_utf8_lossy(&body).into_owned();
                let expected = line.recorded_body().unwrap();
                if passes(chain, &text) {
                    assert_eq!((answer.status, &answer.body[..]), (200, &expected[..]), "{text}");
                    passed += 1;
                } else if answer.status == 200 && answer.body != expected {
                    let mended = is_mended(chain, &text);
                    assert!(
                        mended || is_joined(&answer.body, &expected),
                        "{text}: {}",
                        answer.text()
                    );
                    refused += 1;
                } else if answer.status != 200 {
                    let reason = reason(&answer);
                    let known = ["INVALID_REQUEST", "METHOD_NOT_ALLOWED", "BATCH_TOO_LARGE"];
                    assert!(known.contains(&reason.as_str()), "{text}: {reason}");
                    refused += 1;
                }
            }
            RecordedKind::Path => passed += by_path(&rig, &mut connection, &line).await,
            _ => (),
        }
    }
    println!("{slug}: {passed} passed byte for byte, {refused} refused");
    assert!(passed > 40 && refused > 0, "{slug}: {passed} {refused}");
}

/// A plain path of monerod, offered as a method of the same name.
async fn by_path(
    rig: &Rig,
    connection: &mut testkit::Connection,
    line: &replay::Recorded,
) -> usize {
    let method = line.path().trim_start_matches('/');
    let params = String::from_utf8(line.request("0").to_vec()).unwrap();
    let params = if params.is_empty() { "{}".to_owned() } else { params };
    let body = format!(r#"{{"id":"x","method":"{method}","params":{params}}}"#);
    let answer = call(connection, rig, "xmr", body.as_bytes()).await;
    match chain::find("xmr").unwrap().methods().find(method) {
        None => {
            assert_eq!(reason(&answer), "METHOD_NOT_ALLOWED");
            return 0;
        }
        // The same name is a JSON-RPC method too, and that is what is offered.
        Some(method) if !method.path => return 0,
        Some(_) => (),
    }
    let inner = String::from_utf8_lossy(&line.body("0")).into_owned();
    assert_eq!(answer.text(), format!(r#"{{"jsonrpc":"2.0","id":"x","result":{inner}}}"#));
    assert_eq!(answer.status, 200);
    1
}

macro_rules! recorded {
    ($($slug:ident)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $slug() {
            hold_against(stringify!($slug)).await;
        }
    )*};
}

recorded!(btc ltc doge bch xec zec dcr eth xmr);

#[tokio::test(flavor = "multi_thread")]
async fn anvil_passes_too() {
    let options = ReplayOptions { take: replay::Take::Anvil, ..ReplayOptions::default() };
    let replay = Replay::start("eth", options).await.unwrap();
    let rig = Plan::one("eth", nodes(&[&replay.url()])).start().await;
    let mut connection = rig.connect().await;
    let mut passed = 0;
    for line in replay::recorded_take("eth", replay::Take::Anvil).unwrap() {
        if line.kind() != RecordedKind::Call
            || chain::find("eth").unwrap().methods().find(line.method()).is_none()
        {
            continue;
        }
        let answer = call(&mut connection, &rig, "eth", &line.request("7")).await;
        assert_eq!(answer.text(), String::from_utf8_lossy(&line.body("7")), "{}", line.method());
        passed += 1;
    }
    assert!(passed > 300, "{passed}");
}
