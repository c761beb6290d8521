//! A node whose height is its only state: each send makes a block.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A node whose height is its only state: each send makes a block.
pub struct Counting {
    pub url: String,
    pub height: Arc<AtomicU64>,
    calls: Arc<AtomicU64>,
}

impl Counting {
    pub async fn start() -> Counting {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (height, calls) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let state = (height.clone(), calls.clone());
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (height, calls) = state.clone();
                tokio::spawn(async move { serve(stream, &height, &calls).await });
            }
        });
        Counting { url, height, calls }
    }

    /// Calls so far, probes left out.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }
}

async fn serve(mut stream: TcpStream, height: &AtomicU64, calls: &AtomicU64) -> Option<()> {
    let mut text = String::new();
    loop {
        let mut buffer = [0; 8192];
        let read = stream.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
        text += std::str::from_utf8(&buffer[..read]).unwrap();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_lowercase();
        let length = head.split_once("content-length: ")?.1.lines().next()?.parse().ok()?;
        if body.len() < length {
            continue;
        }
        let said = match serde_json::from_str(body).unwrap() {
            Value::Array(all) => {
                json!(all.iter().map(|call| answer(call, height, calls)).collect::<Vec<_>>())
            }
            one => answer(&one, height, calls),
        };
        let said = said.to_string();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", said.len());
        stream.write_all((head + &said).as_bytes()).await.ok()?;
        text.clear();
    }
}

fn answer(call: &Value, height: &AtomicU64, calls: &AtomicU64) -> Value {
    let now = || height.load(Ordering::SeqCst);
    let method = call["method"].as_str().unwrap();
    calls.fetch_add(u64::from(method != "getblockchaininfo"), Ordering::SeqCst);
    let (mut error, mut result) = (Value::Null, Value::Null);
    match method {
        "getblockchaininfo" => {
            result = json!({"chain": "regtest", "blocks": now(), "headers": now(), "initialblockdownload": false});
        }
        "getblockcount" => result = json!(now()),
        "sendrawtransaction" => {
            result = json!(height.fetch_add(1, Ordering::SeqCst).to_string());
        }
        "getblockhash" => error = json!({"code": -8, "message": "Block height out of range"}),
        _ => (),
    }
    json!({"result": result, "error": error, "id": call["id"]})
}
