//! A node that serves a chain of payments, made as it is asked.
//!
//! Invariant: a block is the same whenever it is asked for, by its height or its hash.

use std::fmt::Write;

use bytes::Bytes;
use chain::account::keccak256;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;

/// Whom every transaction pays.
pub const WHALE: &str = "0x7777777777777777777777777777777777777777";
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/// Every so many transactions one has a log that tells of a token.
pub const LOGS_EVERY: u64 = 3;
/// Every so many transactions one has a call that moves something to somebody else.
pub const CALLS_EVERY: u64 = 5;

/// How long the chain is, and how full its blocks are.
#[derive(Clone, Copy)]
pub struct Chain {
    pub blocks: u64,
    pub per_block: u64,
}

fn digest(parts: [u64; 3]) -> [u8; 32] {
    keccak256(&parts.map(u64::to_be_bytes).concat())
}

impl Chain {
    /// The hash of a block, which begins with its height.
    pub fn block_hash(height: u64) -> String {
        let mut hash = digest([1, height, 0]);
        hash[..8].copy_from_slice(&height.swap_bytes().to_be_bytes());
        const_hex::encode_prefixed(hash)
    }

    fn height_of(hash: &str) -> Option<u64> {
        u64::from_str_radix(hash.strip_prefix("0x")?.get(..16)?, 16).ok().map(u64::swap_bytes)
    }

    /// The hash of a transaction of a block.
    pub fn tx_hash(height: u64, index: u64) -> String {
        const_hex::encode_prefixed(digest([2, height, index]))
    }

    fn sender(height: u64, index: u64) -> String {
        let sender = digest([3, (height * 1_000 + index) % 200_003, 0]);
        const_hex::encode_prefixed(&sender[12..])
    }

    fn count(self, height: u64) -> u64 {
        if height == 0 { 0 } else { self.per_block }
    }

    fn block(self, height: u64, whole: bool) -> String {
        let hash = Chain::block_hash(height);
        let parent = match height.checked_sub(1) {
            Some(before) => Chain::block_hash(before),
            None => format!("0x{}", "0".repeat(64)),
        };
        let count = self.count(height);
        let mut out = format!(
            r#"{{"hash":"{hash}","parentHash":"{parent}","number":"{height:#x}","stateRoot":"{hash}",
            "miner":"{WHALE}","timestamp":"{:#x}","difficulty":"0x0","gasLimit":"0x3938700",
            "gasUsed":"{:#x}","baseFeePerGas":"0x7","size":"{:#x}","extraData":"0x","withdrawals":[],
            "uncles":[],"transactions":["#,
            1_700_000_000 + 12 * height,
            21_000 * count,
            600 + 120 * count,
        );
        for index in 0..if whole { count } else { 0 } {
            let comma = if index > 0 { "," } else { "" };
            let _ = write!(
                out,
                r#"{comma}{{"hash":"{}","from":"{}","to":"{WHALE}","type":"0x2","nonce":"{height:#x}",
                "value":"{:#x}","gas":"0x5208","gasPrice":"0x14","maxFeePerGas":"0x64",
                "maxPriorityFeePerGas":"0xd","input":"0x","blockHash":"{hash}",
                "transactionIndex":"{index:#x}"}}"#,
                Chain::tx_hash(height, index),
                Chain::sender(height, index),
                1 + index * height,
            );
        }
        out + "]}"
    }

    fn receipts(self, height: u64) -> String {
        let (block, bloom) = (Chain::block_hash(height), "0".repeat(511));
        let mut out = String::from("[");
        for index in 0..self.count(height) {
            let comma = if index > 0 { "," } else { "" };
            let log = match index % LOGS_EVERY {
                0 => {
                    let from = format!("{:0>64}", &Chain::sender(height, index)[2..]);
                    format!(
                        r#"{{"address":"{}","topics":["{TRANSFER}","0x{from}","0x{:0>64}"],
                        "data":"0x{:064x}"}}"#,
                        Chain::sender(index, 7),
                        &WHALE[2..],
                        index + 1,
                    )
                }
                _ => String::new(),
            };
            let _ = write!(
                out,
                r#"{comma}{{"transactionHash":"{}","blockHash":"{block}",
                "transactionIndex":"{index:#x}","status":"0x1","gasUsed":"0x5208",
                "effectiveGasPrice":"0x14","logsBloom":"0x{bloom}{}","logs":[{log}]}}"#,
                Chain::tx_hash(height, index),
                u8::from(!log.is_empty()),
            );
        }
        out + "]"
    }

    fn traces(self, height: u64) -> String {
        let mut out = String::from("[");
        for index in 0..self.count(height) {
            let comma = if index > 0 { "," } else { "" };
            let calls = match index % CALLS_EVERY {
                0 => format!(
                    r#","calls":[{{"type":"CALL","from":"{WHALE}","to":"{}","value":"0x1"}}]"#,
                    Chain::sender(index, height),
                ),
                _ => String::new(),
            };
            let _ = write!(
                out,
                r#"{comma}{{"txHash":"{}","result":{{"type":"CALL","from":"{}","to":"{WHALE}",
                "value":"0x1","gas":"0x0","gasUsed":"0x5208","input":"0x"{calls}}}}}"#,
                Chain::tx_hash(height, index),
                Chain::sender(height, index),
            );
        }
        out + "]"
    }

    /// Bytes of everything that is said of a block.
    pub fn weight(self, height: u64) -> usize {
        self.block(height, true).len() + self.receipts(height).len() + self.traces(height).len()
    }

    fn answer(self, call: &Value) -> String {
        let first = call["params"][0].as_str().unwrap_or_default();
        let height = match first {
            "latest" | "safe" => Some(self.blocks),
            "finalized" => Some(self.blocks.saturating_sub(64)),
            hash if hash.len() == 66 => Chain::height_of(hash),
            height => height.strip_prefix("0x").and_then(|it| u64::from_str_radix(it, 16).ok()),
        };
        let height = height.filter(|height| *height <= self.blocks);
        let method = call["method"].as_str().unwrap_or_default();
        let result = match (method, height) {
            ("eth_chainId", _) => Some(r#""0x539""#.to_owned()),
            ("web3_clientVersion", _) => Some(r#""Bench/1""#.to_owned()),
            ("eth_syncing", _) => Some("false".to_owned()),
            ("eth_blockNumber", _) => Some(format!(r#""{:#x}""#, self.blocks)),
            ("eth_getBlockByNumber", Some(height)) => {
                Some(self.block(height, call["params"][1] == true))
            }
            ("eth_getBlockByNumber", None) => Some("null".to_owned()),
            ("eth_getBlockReceipts", Some(height)) => Some(self.receipts(height)),
            ("debug_traceBlockByHash", Some(height)) => Some(self.traces(height)),
            _ => None,
        };
        let id = &call["id"];
        match result {
            Some(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
            None => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no {method}"}}}}"#
            ),
        }
    }
}

/// Serves a chain, and gives where.
pub async fn start(chain: Chain) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = service_fn(move |request: Request<Incoming>| async move {
                let body = request.into_body().collect().await?.to_bytes();
                let text = match serde_json::from_slice::<Value>(&body) {
                    Ok(Value::Array(calls)) => {
                        let answers: Vec<String> =
                            calls.iter().map(|call| chain.answer(call)).collect();
                        format!("[{}]", answers.join(","))
                    }
                    Ok(call) => chain.answer(&call),
                    Err(_) => String::new(),
                };
                Ok::<_, hyper::Error>(Response::new(Full::new(Bytes::from(text))))
            });
            let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::spawn(serving);
        }
    });
    url
}
