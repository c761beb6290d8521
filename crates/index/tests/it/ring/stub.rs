//! A node that serves a chain that was made: what the sync of an index asks of monerod.

#[path = "../../../../replay/src/spans.rs"]
mod spans;

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use bytes::Bytes;
use chain::ring::{Block, Hash, Transaction};
use index::ring::RawBlock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::forge::Forge;

/// A running node; it runs until the process ends.
pub struct Stub {
    url: String,
    chain: Arc<RwLock<Chain>>,
    given: Arc<Given>,
}

/// How many blocks were given, and how many may be.
struct Given {
    blocks: AtomicU64,
    most: AtomicU64,
    /// Somebody waits for more than may be given.
    is_held: AtomicBool,
}

/// What it serves.
struct Chain {
    forge: Forge,
    heights: HashMap<String, usize>,
    /// The height of each transaction, coinbases included.
    homes: HashMap<String, usize>,
    /// The places of each block's outputs, by transaction.
    places: Vec<Vec<Vec<u64>>>,
}

impl Stub {
    /// Serves a chain, that many blocks at once; none: it has no endpoint for many.
    pub async fn start(forge: Forge, span: Option<usize>) -> io::Result<Stub> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let chain = Arc::new(RwLock::new(Chain::new(forge)));
        let (blocks, most) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
        let given = Arc::new(Given { blocks, most, is_held: AtomicBool::new(false) });
        let stub = Stub { url, chain, given };
        let (chain, given) = (Arc::clone(&stub.chain), Arc::clone(&stub.given));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(talk(client, Arc::clone(&chain), Arc::clone(&given), span));
            }
        });
        Ok(stub)
    }

    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Has another chain from now on.
    pub fn show(&self, forge: Forge) {
        *self.chain.write().unwrap() = Chain::new(forge);
    }

    /// Gives so many blocks more, in whole answers, and lets whoever asks for others wait.
    pub fn hold_after(&self, blocks: u64) {
        self.given.is_held.store(false, Ordering::SeqCst);
        let most = self.given.blocks.load(Ordering::SeqCst) + blocks;
        self.given.most.store(most, Ordering::SeqCst);
    }

    /// Gives whatever is asked for.
    pub fn release(&self) {
        self.given.most.store(u64::MAX, Ordering::SeqCst);
    }

    /// Whether somebody waits for more blocks than may be given.
    pub fn is_held(&self) -> bool {
        self.given.is_held.load(Ordering::SeqCst)
    }
}

async fn talk(
    mut client: TcpStream,
    chain: Arc<RwLock<Chain>>,
    given: Arc<Given>,
    span: Option<usize>,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut buffer = Vec::new();
    loop {
        let end = loop {
            if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            if client.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        };
        let head = String::from_utf8_lossy(&buffer[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        while buffer.len() < end + length {
            if client.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        }
        let asked: Vec<u8> = buffer[end..end + length].to_vec();
        buffer.drain(..end + length);
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let asks_blocks =
            path == "/get_blocks.bin" || asked.windows(11).any(|part| part == b"\"get_block\"");
        while asks_blocks
            && given.blocks.load(Ordering::SeqCst) >= given.most.load(Ordering::SeqCst)
        {
            given.is_held.store(true, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let said = chain.read().unwrap().answer(&path, &asked, &given.blocks, span);
        let (status, body) = said.map_or((404, Vec::new()), |body| (200, body));
        let head = format!("HTTP/1.1 {status} Said\r\nContent-Length: {}\r\n\r\n", body.len());
        client.write_all(head.as_bytes()).await?;
        client.write_all(&body).await?;
    }
}

/// The places of all outputs, by block and transaction, as monerod counts them.
fn places(forge: &Forge) -> Vec<Vec<Vec<u64>>> {
    let mut counts: HashMap<u64, u64> = HashMap::new();
    let mut count = |amounts: Vec<u64>| {
        let place = |amount: u64| {
            let next = counts.entry(amount).or_default();
            *next += 1;
            *next - 1
        };
        amounts.into_iter().map(place).collect::<Vec<u64>>()
    };
    let mut all = Vec::new();
    for raw in &forge.blocks {
        if let Some(told) = &raw.told {
            let outputs = told.outputs.as_ref().unwrap();
            all.push(outputs.iter().map(|outputs| count(vec![0; *outputs as usize])).collect());
            continue;
        }
        let block = Block::decode(&raw.block).unwrap();
        let others = raw.transactions.iter().map(|raw| Transaction::decode(raw).unwrap());
        let transactions = std::iter::once(block.coinbase).chain(others);
        let amounts = transactions.map(|it| {
            let is_hidden = it.is_coinbase() && it.version == 2;
            it.outputs.iter().map(|one| if is_hidden { 0 } else { one.amount }).collect()
        });
        all.push(amounts.map(&mut count).collect());
    }
    all
}

impl Chain {
    fn new(forge: Forge) -> Chain {
        let heights = forge.hashes.iter().map(Hash::to_string).zip(0..).collect();
        let places = places(&forge);
        let homes = (0..forge.blocks.len())
            .flat_map(|height| {
                named(&forge.blocks[height]).into_iter().map(move |hash| (hash, height))
            })
            .collect();
        Chain { forge, heights, homes, places }
    }

    fn answer(
        &self,
        path: &str,
        asked: &[u8],
        given: &AtomicU64,
        span: Option<usize>,
    ) -> Option<Vec<u8>> {
        match path {
            "/get_blocks.bin" => {
                let (count, answer) = self.span(asked, span?)?;
                given.fetch_add(count, Ordering::SeqCst);
                Some(answer)
            }
            "/get_transaction_pool_hashes" => Some(br#"{"status":"OK"}"#.to_vec()),
            "/get_transactions" => self.transactions(asked),
            "/json_rpc" => {
                let call: serde_json::Value = serde_json::from_slice(asked).ok()?;
                let method = call["method"].as_str()?;
                given.fetch_add(u64::from(method == "get_block"), Ordering::SeqCst);
                let result = self.call(method, &call["params"])?;
                let answer =
                    format!(r#"{{"id":{},"jsonrpc":"2.0","result":{result}}}"#, call["id"]);
                Some(answer.into_bytes())
            }
            _ => None,
        }
    }

    fn call(&self, method: &str, params: &serde_json::Value) -> Option<String> {
        let (count, hashes) = (self.forge.hashes.len(), &self.forge.hashes);
        match method {
            "get_info" => Some(format!(
                r#"{{"height":{count},"top_block_hash":"{}","wide_difficulty":"0x1","target":120,
                "synchronized":true,"restricted":true,"status":"OK","nettype":"fakechain",
                "tx_count":{}}}"#,
                hashes[count - 1],
                self.homes.len() - count
            )),
            "get_fee_estimate" => Some(r#"{"fee":20000,"status":"OK"}"#.to_owned()),
            "on_get_block_hash" => {
                let height = usize::try_from(params[0].as_u64()?).ok()?;
                Some(format!("\"{}\"", hashes.get(height)?))
            }
            "get_block_headers_range" => {
                let at = |name: &str| params[name].as_u64().map(|height| height as usize);
                let (first, last) = (at("start_height")?, at("end_height")?);
                let header =
                    |height: usize| format!(r#"{{"hash":"{}","height":{height}}}"#, hashes[height]);
                let headers: Vec<String> = (first..=last.min(count - 1)).map(header).collect();
                Some(format!(r#"{{"headers":[{}]}}"#, headers.join(",")))
            }
            "get_block" => {
                let by_hash = params["hash"].as_str().and_then(|it| self.heights.get(it).copied());
                let by_height = params["height"].as_u64().map(|height| height as usize);
                self.block(by_hash.or(by_height)?)
            }
            _ => None,
        }
    }

    fn block(&self, height: usize) -> Option<String> {
        let raw = self.forge.blocks.get(height)?;
        let hashes = named(raw);
        let listed: Vec<String> = hashes[1..].iter().map(|it| format!("\"{it}\"")).collect();
        let (header, reward) = match &raw.told {
            Some(told) => (told.header, told.reward),
            None => {
                let block = Block::decode(&raw.block).ok()?;
                (block.header, block.coinbase.visible_out() as u64)
            }
        };
        let weight = raw.weight.map(|weight| format!(r#","block_weight":{weight}"#));
        let header = format!(
            r#","prev_hash":"{}","timestamp":{},"nonce":{},"major_version":{},"minor_version":{},
            "reward":{reward}{}"#,
            header.previous,
            header.timestamp,
            header.nonce,
            header.major,
            header.minor,
            weight.unwrap_or_default()
        );
        Some(format!(
            r#"{{"blob":"{}","block_header":{{"hash":"{}","height":{height}{header}}},
            "miner_tx_hash":"{}","tx_hashes":[{}]}}"#,
            const_hex::encode(&raw.block),
            self.forge.hashes[height],
            hashes[0],
            listed.join(",")
        ))
    }

    fn transactions(&self, asked: &[u8]) -> Option<Vec<u8>> {
        let asked: serde_json::Value = serde_json::from_slice(asked).ok()?;
        let mut entries = Vec::new();
        for hash in asked["txs_hashes"].as_array()?.iter().filter_map(|it| it.as_str()) {
            let height = *self.homes.get(hash)?;
            let raw = &self.forge.blocks[height];
            let place = named(raw).iter().position(|it| it == hash)?;
            let bytes = match place.checked_sub(1) {
                Some(place) => raw.transactions[place].clone(),
                None => coinbase(raw),
            };
            entries.push(format!(
                r#"{{"tx_hash":"{hash}","as_hex":"{}","output_indices":{:?}}}"#,
                const_hex::encode(&bytes),
                self.places[height][place]
            ));
        }
        Some(format!(r#"{{"status":"OK","txs":[{}]}}"#, entries.join(",")).into_bytes())
    }

    /// Some blocks, and how many.
    fn span(&self, asked: &[u8], most: usize) -> Option<(u64, Vec<u8>)> {
        let start = usize::try_from(spans::start_height(asked)?).ok()?;
        let blocks = self.forge.blocks.get(start..)?.iter().take(most).zip(&self.places[start..]);
        let block = |(raw, places): (&RawBlock, &Vec<Vec<u64>>)| spans::SpanBlock {
            block: raw.block.to_vec(),
            transactions: raw.transactions.iter().map(|bytes| bytes.to_vec()).collect(),
            output_indices: places.clone(),
        };
        let blocks: Vec<spans::SpanBlock> = blocks.map(block).collect();
        let count = self.forge.blocks.len() as u64;
        Some((blocks.len() as u64, spans::answer(&blocks, start as u64, count)))
    }
}

/// The hashes of a block's transactions, the coinbase first.
fn named(raw: &RawBlock) -> Vec<String> {
    match &raw.told {
        Some(told) => {
            std::iter::once(&told.coinbase.0).chain(&told.hashes).map(Hash::to_string).collect()
        }
        None => {
            let block = Block::decode(&raw.block).unwrap();
            let coinbase = block.coinbase.hash().unwrap();
            std::iter::once(&coinbase).chain(&block.transactions).map(Hash::to_string).collect()
        }
    }
}

fn coinbase(raw: &RawBlock) -> Bytes {
    match &raw.told {
        Some(told) => told.coinbase.1.clone(),
        None => Block::decode(&raw.block).unwrap().coinbase.raw().to_vec().into(),
    }
}
