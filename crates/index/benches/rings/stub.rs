//! A node that serves a chain that was made: what the sync of an index asks of monerod.

#[path = "../../../replay/src/spans.rs"]
mod spans;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use chain::ring::{Block, Hash, Transaction};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::forge::Forge;

/// Blocks that are given at once.
const SPAN: usize = 1000;

struct Chain {
    forge: Forge,
    hashes: Vec<Hash>,
    heights: HashMap<String, usize>,
    /// The place of each block's first output among all that are hidden.
    firsts: Vec<u64>,
    spans: bool,
}

/// Serves a chain until the process ends; gives its URL.
pub async fn serve(forge: Forge, spans: bool) -> io::Result<String> {
    let read = |block: &index::ring::RawBlock| Block::decode(&block.block).ok()?.hash();
    let hashes: Option<Vec<Hash>> = forge.blocks.iter().map(read).collect();
    let hashes = hashes.ok_or_else(|| io::Error::other("a block cannot be read"))?;
    let heights = hashes.iter().map(Hash::to_string).zip(0..).collect();
    // One of a coinbase and two of each other transaction; that of the first block is not hidden.
    let mut next = 0;
    let firsts = forge.blocks.iter().enumerate().map(|(height, block)| {
        let own = if height == 0 { 0 } else { 1 + 2 * block.transactions.len() as u64 };
        next += own;
        next - own
    });
    let firsts = firsts.collect();
    let chain = Arc::new(Chain { forge, hashes, heights, firsts, spans });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(talk(client, Arc::clone(&chain)));
        }
    });
    Ok(url)
}

async fn talk(mut client: TcpStream, chain: Arc<Chain>) -> io::Result<()> {
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
        let said = chain.answer(&path, &asked);
        let (status, body) = said.map_or((404, Vec::new()), |body| (200, body));
        let head = format!("HTTP/1.1 {status} Said\r\nContent-Length: {}\r\n\r\n", body.len());
        client.write_all(head.as_bytes()).await?;
        client.write_all(&body).await?;
    }
}

impl Chain {
    fn answer(&self, path: &str, asked: &[u8]) -> Option<Vec<u8>> {
        match path {
            "/get_blocks.bin" if self.spans => self.span(asked),
            "/get_transaction_pool_hashes" => Some(br#"{"status":"OK"}"#.to_vec()),
            "/get_transactions" => self.transactions(asked),
            "/json_rpc" => {
                let call: serde_json::Value = serde_json::from_slice(asked).ok()?;
                let result = self.call(call["method"].as_str()?, &call["params"])?;
                let answer =
                    format!(r#"{{"id":{},"jsonrpc":"2.0","result":{result}}}"#, call["id"]);
                Some(answer.into_bytes())
            }
            _ => None,
        }
    }

    fn call(&self, method: &str, params: &serde_json::Value) -> Option<String> {
        let count = self.hashes.len();
        match method {
            "get_info" => Some(format!(
                r#"{{"height":{count},"top_block_hash":"{}","wide_difficulty":"0x1","target":120,
                "synchronized":true,"restricted":true,"status":"OK","nettype":"fakechain"}}"#,
                self.hashes[count - 1]
            )),
            "get_fee_estimate" => Some(r#"{"fee":20000,"status":"OK"}"#.to_owned()),
            "on_get_block_hash" => {
                let height = usize::try_from(params[0].as_u64()?).ok()?;
                Some(format!("\"{}\"", self.hashes.get(height)?))
            }
            "get_block_headers_range" => {
                let at = |name: &str| params[name].as_u64().map(|height| height as usize);
                let (first, last) = (at("start_height")?, at("end_height")?);
                let header = |height: usize| {
                    format!(r#"{{"hash":"{}","height":{height}}}"#, self.hashes[height])
                };
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
        let block = Block::decode(&raw.block).ok()?;
        let hashes: Vec<String> = block.transactions.iter().map(|it| format!("\"{it}\"")).collect();
        Some(format!(
            r#"{{"blob":"{}","block_header":{{"hash":"{}","height":{height}}},"tx_hashes":[{}]}}"#,
            const_hex::encode(&raw.block),
            self.hashes[height],
            hashes.join(",")
        ))
    }

    fn transactions(&self, asked: &[u8]) -> Option<Vec<u8>> {
        let asked: serde_json::Value = serde_json::from_slice(asked).ok()?;
        let wanted: Vec<&str> =
            asked["txs_hashes"].as_array()?.iter().filter_map(|it| it.as_str()).collect();
        // A hundred at most, of one block.
        let first: Hash = wanted.first()?.parse().ok()?;
        let has = |raw: &&index::ring::RawBlock| {
            Block::decode(&raw.block).is_ok_and(|block| block.transactions.contains(&first))
        };
        let raw = self.forge.blocks.iter().find(has)?;
        let entry = |bytes: &bytes::Bytes| {
            let hash = Transaction::decode(bytes).ok()?.hash()?;
            Some(format!(r#"{{"tx_hash":"{hash}","as_hex":"{}"}}"#, const_hex::encode(bytes)))
        };
        let entries: Option<Vec<String>> = raw.transactions.iter().map(entry).collect();
        Some(format!(r#"{{"status":"OK","txs":[{}]}}"#, entries?.join(",")).into_bytes())
    }

    fn span(&self, asked: &[u8]) -> Option<Vec<u8>> {
        let start = usize::try_from(spans::start_height(asked)?).ok()?;
        let blocks = self.forge.blocks.get(start..)?.iter().take(SPAN).zip(&self.firsts[start..]);
        let block = |(raw, first): (&index::ring::RawBlock, &u64)| {
            let spends = (0..raw.transactions.len() as u64).map(|place| first + 1 + 2 * place);
            let spends = spends.map(|place| vec![place, place + 1]);
            spans::SpanBlock {
                block: raw.block.to_vec(),
                transactions: raw.transactions.iter().map(|bytes| bytes.to_vec()).collect(),
                output_indices: std::iter::once(vec![*first]).chain(spends).collect(),
            }
        };
        let blocks: Vec<spans::SpanBlock> = blocks.map(block).collect();
        Some(spans::answer(&blocks, start as u64, self.hashes.len() as u64))
    }
}
