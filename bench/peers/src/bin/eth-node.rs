//! A node of Ethereum that every gateway takes for one: `eth-node ADDRESS`.
//!
//! One thread; height, chain id and balances are constants. `eth_call` answers as many bytes as the
//! number in its `data` says. `GET /count` tells how many calls came, so that a gateway which merges or
//! remembers shows. Nothing of it is a measure of anything: it runs on the core of the load.

use std::cell::Cell;
use std::convert::Infallible;
use std::rc::Rc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::{LocalSet, spawn_local};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Most bytes of one answer.
const MOST_BYTES: usize = 64 << 20;

/// The result of one call.
fn result(call: &Value) -> Value {
    match call["method"].as_str().unwrap_or_default() {
        "eth_chainId" => json!("0x1"),
        "net_version" => json!("1"),
        "eth_blockNumber" => json!("0x1312d00"),
        "eth_syncing" => json!(false),
        "net_peerCount" => json!("0x10"),
        "web3_clientVersion" => json!("Geth/v1.17.0/bench"),
        "eth_getBalance" => {
            json!("0x00000000000000000000000000000000000000000000d3c21bcecceda1000000")
        }
        "eth_call" => {
            let data = call["params"][0]["data"].as_str().unwrap_or_default();
            let bytes =
                usize::from_str_radix(data.trim_start_matches("0x"), 16).unwrap_or_default();
            json!(format!("0x{}", "0".repeat(bytes.min(MOST_BYTES))))
        }
        // Of which network it is, it does not say.
        "eth_getBlockByNumber" if call["params"][0] == "0x0" => Value::Null,
        "eth_getBlockByNumber" | "eth_getBlockByHash" => json!({
            "number": "0x1312d00",
            "hash": format!("0x{}", "1".repeat(64)),
            "parentHash": format!("0x{}", "2".repeat(64)),
            "timestamp": "0x66000000",
            "transactions": [],
        }),
        _ => Value::Null,
    }
}

fn answer(body: &[u8], count: &Cell<u64>) -> Value {
    let one = |call: &Value| {
        count.set(count.get() + 1);
        json!({"jsonrpc": "2.0", "id": call["id"], "result": result(call)})
    };
    match serde_json::from_slice(body) {
        Ok(Value::Array(calls)) => calls.iter().map(one).collect(),
        Ok(call) => one(&call),
        Err(_) => {
            json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "no JSON"}})
        }
    }
}

async fn serve(
    request: Request<Incoming>,
    count: Rc<Cell<u64>>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let text = if request.method() == Method::GET {
        count.get().to_string()
    } else {
        answer(&request.into_body().collect().await?.to_bytes(), &count).to_string()
    };
    let mut response = Response::new(Full::new(text.into()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let address = std::env::args().nth(1).ok_or("usage: eth-node ADDRESS")?;
    let (listener, count) = (TcpListener::bind(address).await?, Rc::<Cell<u64>>::default());
    let serving = async {
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let count = Rc::clone(&count);
            let service = service_fn(move |request| serve(request, Rc::clone(&count)));
            spawn_local(
                hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service),
            );
        }
    };
    let ended: Result<Infallible, Failure> = LocalSet::new().run_until(serving).await;
    ended.map(|never| match never {})
}
