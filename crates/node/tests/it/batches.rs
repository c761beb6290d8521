//! Batches of our own: as one array, or one by one where a node takes none.

use node::{CallError, Cause, NodeConfig, Tried, Weight};
use serde_json::Value;

use crate::scripted::*;

fn answer(call: &Value) -> String {
    let id = &call["id"];
    match call["method"].as_str().unwrap() {
        "bad" => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-5,"message":"no"}}}}"#),
        method => {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"{method}{}"}}"#, call["params"][0])
        }
    }
}

async fn node_of(slug: &str, network: &str) -> (Scripted, std::sync::Arc<node::Node>) {
    let server = Scripted::answering(|heard| {
        let calls: Value = serde_json::from_slice(&heard.body).unwrap();
        ok(&match calls {
            Value::Array(calls) => {
                format!("[{}]", calls.iter().map(answer).collect::<Vec<_>>().join(","))
            }
            call => answer(&call),
        })
    })
    .await;
    let pool = pool(slug, network, vec![NodeConfig::new(server.url())]);
    let node = pool.pick(&Tried::new()).unwrap();
    (server, node)
}

#[tokio::test]
async fn each_dialect_gets_a_batch_as_it_takes_it() {
    for (slug, network, requests) in [
        ("btc", "regtest", 1),
        ("doge", "regtest", 1),
        ("dcr", "simnet", 1),
        ("eth", "dev", 1),
        ("zec", "regtest", 30),
        ("xmr", "regtest", 30),
    ] {
        let (server, node) = node_of(slug, network).await;
        let calls: Vec<(&str, String)> = (0..30)
            .map(|place| (if place == 7 { "bad" } else { "good" }, format!("[{place}]")))
            .collect();
        let answers = node.call_batch(&calls, Weight::Internal).await.unwrap();
        assert_eq!(server.heard().len(), requests, "{slug}");
        assert_eq!(answers.len(), 30);
        for (place, answer) in answers.into_iter().enumerate() {
            match answer {
                Ok(result) => assert_eq!(result.get(), format!("\"good{place}\""), "{slug}"),
                Err(error) => assert_eq!((place, error.code), (7, -5), "{slug}"),
            }
        }
        assert!(node.call_batch::<&str, &str>(&[], Weight::Internal).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn split_batch_fails_as_a_whole_where_a_call_gets_no_answer() {
    let server = Scripted::answering(|heard| match heard.method().as_str() {
        "bad" => ok("<html>"),
        _ => result("1"),
    })
    .await;
    let pool = pool("xmr", "regtest", vec![NodeConfig::new(server.url())]);
    let node = pool.pick(&Tried::new()).unwrap();
    let error = node.call_batch(&[("a", "{}"), ("bad", "{}")], Weight::Internal).await;
    assert!(matches!(error, Err(CallError::Shape { .. })));
}

#[tokio::test]
async fn answer_to_another_call_is_never_taken() {
    let server = Scripted::answering(|heard| {
        let calls: Value = serde_json::from_slice(&heard.body).unwrap();
        let late = |call: &Value| {
            let id = call["id"].as_u64().unwrap() - 1;
            format!(r#"{{"result":1,"error":null,"id":{id}}}"#)
        };
        ok(&match calls {
            Value::Array(calls) => {
                format!("[{}]", calls.iter().map(late).collect::<Vec<_>>().join(","))
            }
            call => late(&call),
        })
    })
    .await;
    let (_pool, node) = lone(&server);
    let stray = |error: CallError| {
        assert!(matches!(error, CallError::Node(error) if error.cause == Cause::Stray));
    };
    stray(node.call("getblockcount", "[]", Weight::Internal).await.unwrap_err());
    let batch = [("getblockcount", "[]"), ("getblockcount", "[]")];
    stray(node.call_batch(&batch, Weight::Internal).await.unwrap_err());
    assert_eq!(node.state().idle_connections, 0);
    assert_eq!(server.connections(), 2, "a connection out of step is closed");
}
