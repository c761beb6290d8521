//! The public conversations of the execution API pass byte for byte, or get our refusal.

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use crate::rig::{Plan, call, nodes, reason};
use crate::strays::{http, request};

/// What was asked, and the answer as it was sent.
struct Conversation {
    file: String,
    request: String,
    answer: String,
}

fn conversations() -> Vec<Conversation> {
    let packed = include_bytes!("../../../replay/recordings/eth/execution-apis.jsonl.gz");
    let mut text = String::new();
    GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
    let read = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let of = |name: &str| line[name].as_str().unwrap().to_owned();
        Conversation { file: of("file"), request: of("request"), answer: of("answer") }
    };
    text.lines().map(read).collect()
}

/// Method and parameters, by which an answer is found.
fn key(call: &Value) -> (String, String) {
    (call["method"].to_string(), call["params"].to_string())
}

/// What a node was recorded to say, by method and parameters.
type Says = HashMap<(String, String), String>;

/// A node that says what was recorded, and lacks everything else.
async fn node(says: Says) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let says = Arc::new(says);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(say(stream, Arc::clone(&says)));
        }
    });
    url
}

async fn say(mut stream: TcpStream, says: Arc<Says>) {
    let mut pending = Vec::new();
    while let Some(body) = request(&mut stream, &mut pending).await {
        let call: Value = serde_json::from_str(&body).unwrap_or_default();
        let id = &call["id"];
        let lacks = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}});
        // Those that were recorded have this id.
        let answer = says.get(&key(&call)).filter(|_| *id == 1).cloned();
        if stream.write_all(&http(&answer.unwrap_or_else(|| lacks.to_string()))).await.is_err() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_conversations_of_the_execution_api_pass_byte_for_byte() {
    let conversations = conversations();
    assert!(conversations.len() >= 128);
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let says = conversations.iter().map(|it| (key(&parsed(&it.request)), it.answer.clone()));
    let url = node(says.collect()).await;
    let rig = Plan::one("eth", nodes(&[&url])).start().await;
    let mut connection = rig.connect().await;
    let chain = chain::find("eth").unwrap();
    let (mut passed, mut refused) = (0, 0);
    for Conversation { file, request, answer } in conversations {
        let said = call(&mut connection, &rig, "eth", request.as_bytes()).await;
        let method = parsed(&request)["method"].as_str().unwrap().to_owned();
        if chain.methods().find(&method).is_none() {
            assert_eq!(
                (said.status, reason(&said).as_str()),
                (403, "METHOD_NOT_ALLOWED"),
                "{file}"
            );
            refused += 1;
            continue;
        }
        // What is guarded is refused before the node is asked.
        if said.status == 400 {
            assert!(
                ["RANGE_TOO_LARGE", "INVALID_PARAMS"].contains(&reason(&said).as_str()),
                "{file}"
            );
            refused += 1;
            continue;
        }
        assert_eq!((said.status, said.text().as_str()), (200, answer.as_str()), "{file}");
        passed += 1;
    }
    assert!(passed > 80 && refused > 0, "{passed} passed, {refused} refused");
}
