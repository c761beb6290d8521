//! Calls of monerod that were not recorded and whose answers follow from what was: ranges of headers, blocks
//! by their hashes, any transactions or outputs together, many blocks at once.
//!
//! A recording has each block and each transaction; how they are asked for together is endless.
//! Invariant: what is told of a block or a transaction is what the node said of it in this phase,
//! or before where that still holds.

mod outs;

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::exchange::{Asked, Said};
use crate::json;
use crate::options::Phase;
use crate::recording::Recording;
use crate::spans::{self, SpanBlock};

/// What can be derived in one phase.
#[derive(Debug, Default)]
pub(crate) struct Derived {
    /// The chain, lowest first.
    blocks: Vec<Block>,
    heights: HashMap<String, usize>,
    transactions: HashMap<String, Transaction>,
    outs: outs::Outs,
}

#[derive(Debug)]
struct Block {
    /// The whole result of `get_block`.
    result: String,
    header: String,
    blob: String,
    coinbase: String,
    transactions: Vec<String>,
}

#[derive(Debug)]
struct Transaction {
    /// As it stands in `txs`.
    entry: String,
    whole: String,
    output_indices: Vec<u64>,
}

#[derive(Deserialize)]
struct BlockResult<'a> {
    blob: &'a str,
    #[serde(borrow)]
    block_header: &'a RawValue,
    miner_tx_hash: &'a str,
    #[serde(default, borrow)]
    tx_hashes: Vec<&'a str>,
}

#[derive(Deserialize)]
struct Header<'a> {
    hash: &'a str,
    height: usize,
    orphan_status: bool,
}

#[derive(Deserialize)]
struct Transactions<'a> {
    #[serde(default, borrow)]
    txs: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Entry<'a> {
    tx_hash: &'a str,
    as_hex: &'a str,
    pruned_as_hex: &'a str,
    #[serde(default)]
    prunable_as_hex: &'a str,
    #[serde(default)]
    prunable_hash: &'a str,
    #[serde(default)]
    output_indices: Vec<u64>,
}

impl Entry<'_> {
    /// All bytes in hex, unless only a part was asked for.
    fn whole(&self) -> Option<String> {
        // Of version 1 there is none, and a coinbase of version 2 has the hash of nothing.
        const NONE: &str = "0000000000000000000000000000000000000000000000000000000000000000";
        const EMPTY: &str = "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470";
        let has_proofs = !matches!(self.prunable_hash, "" | NONE | EMPTY);
        match self {
            Entry { as_hex, .. } if !as_hex.is_empty() => Some((*as_hex).to_owned()),
            Entry { prunable_as_hex: "", .. } if has_proofs => None,
            Entry { prunable_as_hex: "", pruned_as_hex, .. } => Some((*pruned_as_hex).to_owned()),
            // What a node gives in two parts it does not give as it is asked for here.
            Entry { .. } => None,
        }
    }
}

impl Derived {
    /// What a recording tells in a phase, later ones of `phases` holding where earlier do not.
    pub(crate) fn of(recording: &Recording, phases: &[Phase]) -> Derived {
        let mut derived = Derived::default();
        let mut blocks: HashMap<usize, (String, Block)> = HashMap::new();
        let mut count = None;
        for phase in phases {
            for line in recording.lines().iter().filter(|line| line.phase == *phase) {
                let (Asked::Call { path, method, params }, Said::Result(result)) =
                    (line.asked, line.said)
                else {
                    continue;
                };
                let result = recording.text(result);
                match (recording.text(path), recording.text(method)) {
                    ("/json_rpc", "get_block_count") if count.is_none() => count = counted(result),
                    ("/json_rpc", "get_block") => {
                        if let Some((height, hash, block)) = block(result) {
                            blocks.entry(height).or_insert((hash, block));
                        }
                    }
                    ("/get_transactions", "") => derived.add_transactions(result),
                    // Outputs have other places once blocks were taken back.
                    ("/get_outs", "") if phases.first() == Some(phase) => {
                        derived.outs.add(recording.text(params), result);
                    }
                    _ => {}
                }
            }
        }
        for height in 0..count.unwrap_or_default() {
            let Some((hash, block)) = blocks.remove(&height) else { break };
            derived.heights.insert(hash, height);
            derived.blocks.push(block);
        }
        derived
    }

    fn add_transactions(&mut self, result: &str) {
        let listed = serde_json::from_str::<Transactions<'_>>(result);
        for raw in listed.map(|listed| listed.txs).unwrap_or_default() {
            let Ok(entry) = serde_json::from_str::<Entry<'_>>(raw.get()) else { continue };
            let Some(whole) = entry.whole() else { continue };
            // What was said in an earlier one of the phases holds.
            self.transactions.entry(entry.tx_hash.to_owned()).or_insert_with(|| Transaction {
                entry: raw.get().to_owned(),
                whole,
                output_indices: entry.output_indices,
            });
        }
    }

    /// The result of a call, or the error object; none where nothing follows.
    pub(crate) fn call(&self, method: &str, params: &str) -> Option<Result<String, String>> {
        match method {
            "get_block" => {
                #[derive(Deserialize)]
                struct Params {
                    hash: String,
                }
                let params: Params = serde_json::from_str(params).ok()?;
                let height = self.heights.get(&params.hash.to_lowercase())?;
                Some(Ok(self.blocks[*height].result.clone()))
            }
            "get_block_headers_range" => {
                #[derive(Deserialize)]
                struct Params {
                    start_height: usize,
                    end_height: usize,
                }
                let Params { start_height, end_height } = serde_json::from_str(params).ok()?;
                if start_height > end_height || end_height >= self.blocks.len() {
                    let error = r#"{"code":-2,"message":"Invalid start/end heights."}"#;
                    return Some(Err(error.to_owned()));
                }
                let headers = &self.blocks[start_height..=end_height];
                let headers: Vec<&str> = headers.iter().map(|block| &*block.header).collect();
                let headers = headers.join(",");
                Some(Ok(format!(
                    r#"{{"credits":0,"headers":[{headers}],"status":"OK","top_hash":"","untrusted":false}}"#
                )))
            }
            "/get_transactions" => self.get_transactions(params).map(Ok),
            "/get_outs" => self.outs.answer(params).map(Ok),
            _ => None,
        }
    }

    fn get_transactions(&self, params: &str) -> Option<String> {
        #[derive(Deserialize)]
        struct Params {
            txs_hashes: Vec<String>,
            #[serde(default)]
            prune: bool,
            #[serde(default)]
            split: bool,
        }
        let params: Params = serde_json::from_str(params).ok()?;
        // Only whole ones are held.
        if params.prune || params.split || params.txs_hashes.is_empty() {
            return None;
        }
        let (mut found, mut missed) = (Vec::new(), Vec::new());
        for hash in &params.txs_hashes {
            match self.transactions.get(&hash.to_lowercase()) {
                Some(transaction) => found.push(&*transaction.entry),
                None if hash.len() == 64 && hash.bytes().all(|it| it.is_ascii_hexdigit()) => {
                    missed.push(format!("\"{hash}\""));
                }
                None => return None,
            }
        }
        // Empty lists are left out.
        let list = |name: &str, items: String| match items.is_empty() {
            true => String::new(),
            false => format!(r#""{name}":[{items}],"#),
        };
        let (missed, found) = (list("missed_tx", missed.join(",")), list("txs", found.join(",")));
        Some(format!(
            r#"{{"credits":0,{missed}"status":"OK","top_hash":"",{found}"untrusted":false}}"#
        ))
    }

    /// The answer of `get_blocks.bin`; none to what cannot be read.
    pub(crate) fn blocks(&self, request: &[u8]) -> Option<Vec<u8>> {
        /// What a node gives at once (`COMMAND_RPC_GET_BLOCKS_FAST_MAX_BLOCK_COUNT`).
        const MOST: usize = 1000;
        let start = usize::try_from(spans::start_height(request)?).ok()?;
        let blocks = self.blocks.get(start..)?.iter().take(MOST);
        let blocks: Option<Vec<SpanBlock>> = blocks.map(|block| self.span_block(block)).collect();
        Some(spans::answer(&blocks?, start as u64, self.blocks.len() as u64))
    }

    fn span_block(&self, block: &Block) -> Option<SpanBlock> {
        let mut span = SpanBlock { block: bytes(&block.blob)?, ..SpanBlock::default() };
        let coinbase = self.transactions.get(&block.coinbase)?;
        span.output_indices.push(coinbase.output_indices.clone());
        for hash in &block.transactions {
            let transaction = self.transactions.get(hash)?;
            span.transactions.push(bytes(&transaction.whole)?);
            span.output_indices.push(transaction.output_indices.clone());
        }
        Some(span)
    }
}

fn counted(result: &str) -> Option<usize> {
    let members = json::members(result)?;
    members.iter().find(|(name, _)| name == "count")?.1.parse().ok()
}

/// Height, hash and the rest of a block of the main chain.
fn block(result: &str) -> Option<(usize, String, Block)> {
    let read: BlockResult<'_> = serde_json::from_str(result).ok()?;
    let header: Header<'_> = serde_json::from_str(read.block_header.get()).ok()?;
    let block = Block {
        result: result.to_owned(),
        header: read.block_header.get().to_owned(),
        blob: read.blob.to_owned(),
        coinbase: read.miner_tx_hash.to_owned(),
        transactions: read.tx_hashes.iter().map(|hash| (*hash).to_owned()).collect(),
    };
    (!header.orphan_status).then(|| (header.height, header.hash.to_owned(), block))
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let (pairs, []) = hex.as_bytes().as_chunks::<2>() else { return None };
    pairs.iter().map(|[high, low]| Some((digit(*high)? << 4 | digit(*low)?) as u8)).collect()
}
