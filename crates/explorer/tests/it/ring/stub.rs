//! A node like monerod with a chain that a test makes, over plain HTTP.
//!
//! Proofs and work are whatever the test writes: our index believes its node that they hold.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use chain::ring::{Block, Hash, LAST_VERSION, Transaction};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// A block with its transactions.
struct Made {
    hash: String,
    blob: Vec<u8>,
    /// Hash and bytes of the others than the coinbase.
    transactions: Vec<(String, Vec<u8>)>,
    /// The places of the outputs of each, the coinbase's first, where the node says them.
    places: Vec<Vec<u64>>,
}

impl Made {
    fn block(&self) -> Block<'_> {
        Block::decode(&self.blob).unwrap()
    }

    /// Hash and bytes of the coinbase.
    fn coinbase(&self) -> (String, Vec<u8>) {
        let coinbase = self.block().coinbase;
        (coinbase.hash().unwrap().to_string(), coinbase.raw().to_vec())
    }
}

/// What the node has.
#[derive(Default)]
struct Chain {
    blocks: Vec<Made>,
    /// Hash and bytes of what waits.
    waiting: Vec<(String, Vec<u8>)>,
}

/// The running node.
pub struct StubRing {
    chain: Arc<Mutex<Chain>>,
    accepting: AbortHandle,
    url: String,
}

/// A number as this format writes it.
pub fn varint(mut number: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
    out
}

impl StubRing {
    /// Starts with the genesis block alone.
    pub async fn start() -> StubRing {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let chain: Arc<Mutex<Chain>> = Arc::default();
        let serving = Arc::clone(&chain);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&serving)));
            }
        });
        let node = StubRing { chain, accepting: accepting.abort_handle(), url };
        node.add(genesis(), Vec::new(), &[]);
        node
    }

    pub fn url(&self) -> String {
        self.url.clone()
    }

    fn add(&self, blob: Vec<u8>, transactions: Vec<(String, Vec<u8>)>, places: &[Vec<u64>]) {
        let hash = Block::decode(&blob).unwrap().hash().unwrap().to_string();
        let places = places.to_vec();
        self.chain.lock().unwrap().blocks.push(Made { hash, blob, transactions, places });
    }

    /// Height of the next block.
    pub fn next(&self) -> u64 {
        self.chain.lock().unwrap().blocks.len() as u64
    }

    /// Takes the last block back.
    pub fn pop(&self) {
        self.chain.lock().unwrap().blocks.pop();
    }

    /// Lets a transaction wait, and gives its hash.
    pub fn wait(&self, raw: &[u8]) -> String {
        let hash = hash_of(raw, Hash([0x77; 32])).to_string();
        self.chain.lock().unwrap().waiting.push((hash.clone(), raw.to_vec()));
        hash
    }

    /// Adds a block of a coinbase and transactions, and gives their hashes, the coinbase's first.
    /// A transaction whose hash cannot be computed gets one that is made up.
    pub fn mine(&self, coinbase: &[u8], transactions: &[Vec<u8>]) -> Vec<String> {
        self.mine_as(LAST_VERSION, coinbase, transactions, &[])
    }

    /// The same by that version of the protocol. `places` are those of the outputs of each
    /// transaction, the coinbase first, where the node is to say them.
    pub fn mine_as(
        &self,
        version: u8,
        coinbase: &[u8],
        transactions: &[Vec<u8>],
        places: &[Vec<u64>],
    ) -> Vec<String> {
        let height = self.next();
        let previous = self.chain.lock().unwrap().blocks.last().unwrap().hash.clone();
        let previous: Hash = previous.parse().unwrap();
        let named = transactions
            .iter()
            .enumerate()
            .map(|(place, raw)| (hash_of(raw, Hash([place as u8 + 1; 32])), raw.clone()));
        let named: Vec<(Hash, Vec<u8>)> = named.collect();
        let mut blob = [vec![version, version], varint(1_700_000_000 + height)].concat();
        blob.extend(previous.0);
        blob.extend([0; 4]);
        blob.extend(coinbase);
        blob.extend(varint(named.len() as u64));
        named.iter().for_each(|(hash, _)| blob.extend(hash.0));
        let coinbase = Transaction::decode(coinbase).unwrap().hash().unwrap();
        let mut hashes = vec![coinbase.to_string()];
        hashes.extend(named.iter().map(|(hash, _)| hash.to_string()));
        let named = named.into_iter().map(|(hash, raw)| (hash.to_string(), raw)).collect();
        self.add(blob, named, places);
        hashes
    }
}

/// The hash of a transaction, or one that is made up where that cannot be computed.
fn hash_of(raw: &[u8], made_up: Hash) -> Hash {
    Transaction::decode(raw).ok().and_then(|it| it.hash()).unwrap_or(made_up)
}

impl Drop for StubRing {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// The genesis block, as the recorded node gave it.
fn genesis() -> Vec<u8> {
    for line in replay::recorded("xmr").unwrap() {
        let params: Value = serde_json::from_str(line.params()).unwrap_or_default();
        if line.method() == "get_block" && params == json!({"height": 0}) {
            let block: Value = serde_json::from_slice(&line.result().unwrap()).unwrap();
            return digits(block["blob"].as_str().unwrap());
        }
    }
    panic!("the genesis block was not recorded")
}

fn digits(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn serve(mut stream: TcpStream, chain: Arc<Mutex<Chain>>) {
    let mut buffer = Vec::new();
    loop {
        let head = loop {
            if let Some(at) = buffer.windows(4).position(|part| part == b"\r\n\r\n") {
                break at + 4;
            }
            if !matches!(stream.read_buf(&mut buffer).await, Ok(1..)) {
                return;
            }
        };
        let text = String::from_utf8_lossy(&buffer[..head]).to_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
        let end = head + length.map_or(0, |length| length.trim().parse::<usize>().unwrap());
        while buffer.len() < end {
            if !matches!(stream.read_buf(&mut buffer).await, Ok(1..)) {
                return;
            }
        }
        let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
        let asked = serde_json::from_slice(&buffer[head..end]).unwrap_or_default();
        buffer.drain(..end);
        let answer = answer(&chain.lock().unwrap(), &path, &asked);
        let (status, body) = match answer {
            Some(answer) => ("200 Ok", answer.to_string()),
            None => ("404 Not found", String::new()),
        };
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
        if stream.write_all(format!("{head}{body}").as_bytes()).await.is_err() {
            return;
        }
    }
}

fn answer(chain: &Chain, path: &str, asked: &Value) -> Option<Value> {
    match path {
        "/json_rpc" => {
            let method = asked["method"].as_str().unwrap_or_default();
            Some(match call(chain, method, &asked["params"]) {
                Ok(result) => json!({"id": asked["id"], "jsonrpc": "2.0", "result": result}),
                Err(code) => json!({
                    "id": asked["id"], "jsonrpc": "2.0",
                    "error": {"code": code, "message": "no"},
                }),
            })
        }
        "/get_transaction_pool_hashes" => {
            let hashes: Vec<&String> = chain.waiting.iter().map(|(hash, _)| hash).collect();
            Some(json!({"status": "OK", "tx_hashes": hashes}))
        }
        "/get_transactions" => {
            let mut known: HashMap<String, Value> = HashMap::new();
            for block in &chain.blocks {
                let all = std::iter::once(block.coinbase()).chain(block.transactions.clone());
                for (place, (hash, raw)) in all.enumerate() {
                    let mut entry = json!({"tx_hash": hash, "as_hex": hex(&raw), "in_pool": false});
                    if let Some(places) = block.places.get(place) {
                        entry["output_indices"] = json!(places);
                    }
                    known.insert(hash, entry);
                }
            }
            for (hash, raw) in &chain.waiting {
                let entry = json!({
                    "tx_hash": hash, "as_hex": hex(raw), "in_pool": true, "relayed": true,
                });
                known.insert(hash.clone(), entry);
            }
            let asked = asked["txs_hashes"].as_array().into_iter().flatten();
            let found = asked.filter_map(|hash| known.get(hash.as_str()?).cloned());
            Some(json!({"status": "OK", "txs": found.collect::<Vec<_>>()}))
        }
        _ => None,
    }
}

fn call(chain: &Chain, method: &str, params: &Value) -> Result<Value, i32> {
    let blocks = &chain.blocks;
    let header = |height: usize| {
        let block = &blocks[height];
        let size = block.blob.len() + block.transactions.iter().map(|tx| tx.1.len()).sum::<usize>();
        let read = block.block();
        json!({
            "hash": block.hash, "height": height, "block_weight": size, "block_size": size,
            "orphan_status": false, "prev_hash": read.header.previous.to_string(),
            "timestamp": read.header.timestamp, "nonce": read.header.nonce,
            "major_version": read.header.major, "minor_version": read.header.minor,
            "reward": read.coinbase.visible_out() as u64,
        })
    };
    let at = |height: &Value| {
        height.as_u64().map(|height| height as usize).filter(|height| *height < blocks.len())
    };
    match method {
        "get_info" => Ok(json!({
            "height": blocks.len(), "top_block_hash": blocks.last().map(|block| &block.hash),
            "wide_difficulty": "0x1", "target": 120, "block_weight_limit": 600_000,
            "block_weight_median": 300_000, "synchronized": true, "target_height": 0,
            "nettype": "fakechain", "status": "OK", "version": "stub", "restricted": true,
            "tx_count": blocks.iter().map(|block| block.transactions.len()).sum::<usize>(),
            "tx_pool_size": chain.waiting.len(),
        })),
        "get_fee_estimate" => Ok(json!({"fee": 20_000, "status": "OK"})),
        "on_get_block_hash" => at(&params[0]).map(|it| json!(blocks[it].hash)).ok_or(-2),
        "get_block_headers_range" => {
            let (first, last) = (at(&params["start_height"]), at(&params["end_height"]));
            let (first, last) = first.zip(last).ok_or(-2)?;
            let headers: Vec<Value> = (first..=last).map(header).collect();
            Ok(json!({"headers": headers, "status": "OK"}))
        }
        "get_block_header_by_height" => {
            let height = at(&params["height"]).ok_or(-2)?;
            Ok(json!({"block_header": header(height), "status": "OK"}))
        }
        "get_block" => {
            let by_hash = blocks.iter().position(|block| params["hash"] == block.hash);
            let height = by_hash.or(at(&params["height"])).ok_or(-5)?;
            let block = &blocks[height];
            let hashes: Vec<&String> = block.transactions.iter().map(|(hash, _)| hash).collect();
            Ok(json!({
                "blob": hex(&block.blob), "block_header": header(height), "tx_hashes": hashes,
                "miner_tx_hash": block.coinbase().0, "status": "OK",
            }))
        }
        _ => Err(-32601),
    }
}
