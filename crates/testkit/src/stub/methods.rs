//! What a stub node answers to each call, in the shapes of Bitcoin Core and its relatives.
//!
//! Envelopes are left to `wire`. Invariant: an amount is written with all its decimal places, as
//! nodes write it.
//!
//! Source: Bitcoin Core 31.99, src/rpc/blockchain.cpp, src/rpc/mempool.cpp,
//! src/rpc/rawtransaction.cpp, src/rest.cpp.

use std::sync::Arc;

use bytes::Bytes;
use chain::utxo::{Block, Header, Transaction};
use chain::{Hash32, NetworkKind};
use serde_json::{Value, json};

use super::Shared;
use super::ledger::{Ledger, Stored};
use crate::forge::{put_count, put_prefixed};

/// The text of a result, or a code and a message.
pub(super) type Outcome = Result<String, (i64, &'static str)>;

const MISC: i64 = -1;
const WRONG_TYPE: i64 = -3;
const NOT_FOUND: i64 = -5;
const BAD_PARAMETER: i64 = -8;
const NO_METHOD: i64 = -32601;
const PRUNED: Outcome = Err((MISC, "Block not available (pruned data)"));
const NO_TRANSACTION: Outcome = Err((
    NOT_FOUND,
    "No such mempool or blockchain transaction. Use gettransaction for wallet transactions.",
));

/// What is asked for of a block or a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Hex,
    Json,
}

/// Answers one call.
pub(super) fn call(shared: &Shared, method: &str, params: &[Value]) -> Outcome {
    let ledger = shared.ledger();
    match method {
        "getblockchaininfo" => Ok(chain_info(shared, &ledger)),
        "getnetworkinfo" => Ok(network_info(shared)),
        "getblockcount" => Ok(ledger.height().to_string()),
        "getbestblockhash" => Ok(quoted(ledger.tip().header.hash)),
        "getblockhash" => block_hash(&ledger, params),
        "getblockheader" => block_header(&ledger, params),
        "getblock" => {
            let block = find_block(&ledger, params)?;
            if shared.options.boolean_verbosity && params.get(1).is_some_and(|v| !v.is_boolean()) {
                return Err((MISC, "JSON value is not a boolean as expected"));
            }
            if ledger.is_pruned(&block) {
                return PRUNED;
            }
            match detail(params.get(1), Detail::Json)? {
                Detail::Json => Ok(whole_block(&ledger, &block)),
                Detail::Hex => {
                    // Megabytes of digits are written while others may ask.
                    drop(ledger);
                    Ok(quoted(const_hex::encode(&block.raw)))
                }
            }
        }
        "getrawmempool" => raw_pool(shared, &ledger, params),
        "getmempoolinfo" => Ok(pool_info(&ledger)),
        "getrawtransaction" => raw_transaction(&ledger, params),
        "gettxoutsetinfo" => unspent_info(shared, &ledger),
        "uptime" => Ok(shared.started.elapsed().as_secs().to_string()),
        "getindexinfo" => Ok(index_info(&ledger)),
        "getmininginfo" => Ok(mining_info(shared, &ledger)),
        _ => Err((NO_METHOD, "Method not found")),
    }
}

/// The bytes of a block, or what a 404 says.
pub(super) fn rest_block(shared: &Shared, hash: &str) -> Result<Bytes, String> {
    Ok(rest_find(&shared.ledger(), hash)?.raw.clone())
}

/// The outputs that a block spends, or what a 404 says.
pub(super) fn rest_spent_outputs(shared: &Shared, hash: &str) -> Result<Bytes, String> {
    let ledger = shared.ledger();
    let stored = rest_find(&ledger, hash)?;
    let missing = || format!("{hash} undo not available\r\n");
    let coins = ledger.coins().filter(|_| ledger.is_best(&stored)).ok_or_else(missing)?;
    let block = Block::decode(&stored.raw, &ledger.format).map_err(|_| missing())?;
    let mut spent = coins.spent_at(stored.height);
    let mut bytes = Vec::new();
    put_count(&mut bytes, block.transactions.len());
    put_count(&mut bytes, 0);
    for transaction in &block.transactions[1..] {
        let inputs = transaction.inputs().len();
        put_count(&mut bytes, inputs);
        for coin in spent.by_ref().take(inputs) {
            bytes.extend_from_slice(&coin.value.to_le_bytes());
            put_prefixed(&mut bytes, &coin.script);
        }
    }
    Ok(bytes.into())
}

fn rest_find(ledger: &Ledger, hash: &str) -> Result<Arc<Stored>, String> {
    let hash: Hash32 = hash.parse().map_err(|_| format!("Invalid hash: {hash}\r\n"))?;
    let block = ledger.block(&hash).cloned().ok_or_else(|| format!("{hash} not found\r\n"))?;
    match ledger.is_pruned(&block) {
        true => Err(format!("{hash} not available (pruned data)\r\n")),
        false => Ok(block),
    }
}

fn chain_info(shared: &Shared, ledger: &Ledger) -> String {
    let (tip, height) = (ledger.tip(), ledger.height());
    let mut info = json!({
        "chain": chain_name(shared),
        "blocks": height,
        "headers": height,
        "bestblockhash": tip.header.hash.to_string(),
        "bits": format!("{:08x}", tip.header.bits),
        "difficulty": difficulty(tip.header.bits),
        "time": tip.header.time,
        "mediantime": median_time(ledger, tip),
        "verificationprogress": 1,
        "initialblockdownload": false,
        "chainwork": chain_work(tip),
        "size_on_disk": 0,
        "pruned": ledger.pruned_below().is_some(),
        "warnings": "",
    });
    if let (Some(below), Some(members)) = (ledger.pruned_below(), info.as_object_mut()) {
        members.insert("pruneheight".to_owned(), below.into());
    }
    info.to_string()
}

fn network_info(shared: &Shared) -> String {
    // One that the network's nodes are known by, where it is told by that.
    let known = shared.network.user_agent.and_then(|agents| agents.first());
    let agent = known.copied().unwrap_or(shared.chain.name);
    json!({
        "version": shared.options.version,
        "subversion": format!("/{agent}:{}/", shared.options.version),
        "protocolversion": 70016,
        "connections": 0,
        "networkactive": true,
        "relayfee": 0.00001,
        "warnings": "",
    })
    .to_string()
}

fn block_hash(ledger: &Ledger, params: &[Value]) -> Outcome {
    let height = params.first().and_then(Value::as_i64);
    let height = height.ok_or((WRONG_TYPE, "JSON value is not an integer as expected"))?;
    let block = u32::try_from(height).ok().and_then(|height| ledger.at(height));
    block.map(|block| quoted(block.header.hash)).ok_or((BAD_PARAMETER, "Block height out of range"))
}

fn find_block(ledger: &Ledger, params: &[Value]) -> Result<Arc<Stored>, (i64, &'static str)> {
    let hash = hash_of(params.first())?;
    ledger.block(&hash).cloned().ok_or((NOT_FOUND, "Block not found"))
}

fn hash_of(param: Option<&Value>) -> Result<Hash32, (i64, &'static str)> {
    let text = param.and_then(Value::as_str);
    let text = text.ok_or((WRONG_TYPE, "JSON value is not a string as expected"))?;
    text.parse().map_err(|_| (BAD_PARAMETER, "hash must be of length 64 and hexadecimal"))
}

fn detail(param: Option<&Value>, unless_given: Detail) -> Result<Detail, (i64, &'static str)> {
    match param {
        None | Some(Value::Null) => Ok(unless_given),
        Some(Value::Bool(false)) => Ok(Detail::Hex),
        Some(Value::Bool(true)) => Ok(Detail::Json),
        Some(Value::Number(number)) if number.as_i64() == Some(0) => Ok(Detail::Hex),
        Some(Value::Number(_)) => Ok(Detail::Json),
        Some(_) => Err((WRONG_TYPE, "JSON value is not an integer as expected")),
    }
}

fn block_header(ledger: &Ledger, params: &[Value]) -> Outcome {
    let block = find_block(ledger, params)?;
    Ok(match detail(params.get(1), Detail::Json)? {
        Detail::Json => header_json(ledger, &block).to_string(),
        Detail::Hex => quoted(const_hex::encode(&block.raw[..Header::BYTES])),
    })
}

fn header_json(ledger: &Ledger, block: &Stored) -> Value {
    let header = block.header;
    let best = ledger.is_best(block);
    let mut json = json!({
        "hash": header.hash.to_string(),
        "confirmations": if best { i64::from(ledger.height() - block.height) + 1 } else { -1 },
        "height": block.height,
        "version": header.version,
        "versionHex": format!("{:08x}", header.version),
        "merkleroot": header.merkle_root.to_string(),
        "time": header.time,
        "mediantime": median_time(ledger, block),
        "nonce": header.nonce,
        "bits": format!("{:08x}", header.bits),
        "difficulty": difficulty(header.bits),
        "chainwork": chain_work(block),
    });
    let members = json.as_object_mut().expect("it was made as an object");
    if block.height > 0 {
        members.insert("previousblockhash".to_owned(), header.previous.to_string().into());
    }
    if let Some(next) = ledger.at(block.height + 1).filter(|_| best) {
        members.insert("nextblockhash".to_owned(), next.header.hash.to_string().into());
    }
    json
}

fn whole_block(ledger: &Ledger, stored: &Stored) -> String {
    let mut json = header_json(ledger, stored);
    let members = json.as_object_mut().expect("it was made as an object");
    // It was read when it was taken, or is a benchmark's, which nobody asks for in JSON.
    let txids = Block::decode(&stored.raw, &ledger.format).map_or(Vec::new(), |block| block.txids);
    let txids: Vec<String> = txids.iter().map(Hash32::to_string).collect();
    members.insert("nTx".to_owned(), txids.len().into());
    members.insert("size".to_owned(), stored.raw.len().into());
    members.insert("tx".to_owned(), txids.into());
    json.to_string()
}

fn raw_pool(shared: &Shared, ledger: &Ledger, params: &[Value]) -> Outcome {
    let flag = |place: usize| params.get(place).and_then(Value::as_bool).unwrap_or(false);
    let ids = ledger.pool().iter().map(|(txid, _)| txid.to_string());
    if params.len() > 1 && !shared.options.mempool_sequence {
        return Err((MISC, "getrawmempool ( verbose )"));
    }
    let listed = match (flag(0), flag(1)) {
        (true, true) => {
            let text = "Verbose results cannot contain mempool sequence values.";
            return Err((BAD_PARAMETER, text));
        }
        (false, false) => Value::from(ids.collect::<Vec<_>>()),
        (false, true) => json!({
            "txids": ids.collect::<Vec<_>>(),
            "mempool_sequence": ledger.pool_sequence,
        }),
        (true, false) => {
            let entries = ledger.pool().iter().map(|(txid, raw)| {
                (txid.to_string(), json!({ "size": raw.len(), "vsize": raw.len(), "time": 0 }))
            });
            Value::Object(entries.collect())
        }
    };
    Ok(listed.to_string())
}

fn pool_info(ledger: &Ledger) -> String {
    let bytes: usize = ledger.pool().iter().map(|(_, raw)| raw.len()).sum();
    json!({
        "loaded": true,
        "size": ledger.pool().len(),
        "bytes": bytes,
        "usage": bytes,
        "maxmempool": 300_000_000,
        "mempoolminfee": 0.00001,
    })
    .to_string()
}

fn raw_transaction(ledger: &Ledger, params: &[Value]) -> Outcome {
    let txid = hash_of(params.first())?;
    let found = match params.get(2).filter(|block| !block.is_null()) {
        None => ledger.transaction(&txid),
        Some(block) => in_block(ledger, &hash_of(Some(block))?, &txid),
    };
    let Some((block, raw)) = found else {
        return match ledger.has_index() {
            true => NO_TRANSACTION,
            false => Err((
                NOT_FOUND,
                "No such mempool transaction. Use -txindex or provide a block hash to enable \
                 blockchain transaction queries. Use gettransaction for wallet transactions.",
            )),
        };
    };
    if detail(params.get(1), Detail::Hex)? == Detail::Hex {
        return Ok(quoted(const_hex::encode(&raw)));
    }
    let mut json = json!({
        "txid": txid.to_string(),
        "size": raw.len(),
        "hex": const_hex::encode(&raw),
    });
    if let (Some(block), Some(members)) = (block, json.as_object_mut()) {
        members.insert("blockhash".to_owned(), block.to_string().into());
    }
    Ok(json.to_string())
}

fn in_block(ledger: &Ledger, block: &Hash32, txid: &Hash32) -> Option<(Option<Hash32>, Bytes)> {
    let stored = ledger.block(block)?;
    let read = Block::decode(&stored.raw, &ledger.format).ok()?;
    let place = read.txids.iter().position(|id| id == txid)?;
    let raw = stored.raw.slice_ref(Transaction::raw(&read.transactions[place]));
    Some((Some(*block), raw))
}

fn unspent_info(shared: &Shared, ledger: &Ledger) -> Outcome {
    let Some(coins) = ledger.coins() else {
        return Err((-32603, "This node keeps no unspent outputs"));
    };
    Ok(format!(
        r#"{{"height":{},"bestblock":"{}","transactions":{},"txouts":{},"bogosize":0,"disk_size":0,"total_amount":{}}}"#,
        ledger.height(),
        ledger.tip().header.hash,
        coins.transactions(),
        coins.count(),
        amount(coins.total(), shared.chain.decimals),
    ))
}

fn index_info(ledger: &Ledger) -> String {
    match ledger.has_index() {
        true => json!({ "txindex": { "synced": true, "best_block_height": ledger.height() } }),
        false => json!({}),
    }
    .to_string()
}

fn mining_info(shared: &Shared, ledger: &Ledger) -> String {
    let bits = ledger.tip().header.bits;
    json!({
        "blocks": ledger.height(),
        "bits": format!("{bits:08x}"),
        "difficulty": difficulty(bits),
        "networkhashps": 0,
        "pooledtx": ledger.pool().len(),
        "chain": chain_name(shared),
        "warnings": "",
    })
    .to_string()
}

fn chain_name(shared: &Shared) -> &'static str {
    match shared.network.kind {
        NetworkKind::Main => "main",
        NetworkKind::Test => "test",
        NetworkKind::Regtest => "regtest",
    }
}

/// How much harder than the easiest target of the main network (src/rpc/blockchain.cpp,
/// `GetDifficulty`).
fn difficulty(bits: u32) -> f64 {
    let (exponent, mantissa) = ((bits >> 24) as i32, f64::from(bits & 0x00ff_ffff));
    f64::from(0xffff) / mantissa * 256_f64.powi(29 - exponent)
}

/// At two hashes a block, as on regtest.
fn chain_work(block: &Stored) -> String {
    format!("{:064x}", 2 * (u64::from(block.height) + 1))
}

/// The middle of the last eleven times up to a block; of a block that was left behind, its own.
fn median_time(ledger: &Ledger, block: &Stored) -> u32 {
    if !ledger.is_best(block) {
        return block.header.time;
    }
    let first = block.height.saturating_sub(10);
    let blocks = (first..=block.height).filter_map(|height| ledger.at(height));
    let mut times: Vec<u32> = blocks.map(|block| block.header.time).collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn quoted(text: impl std::fmt::Display) -> String {
    format!("\"{text}\"")
}

/// A sum of smallest units in coins.
fn amount(sum: u128, decimals: u8) -> String {
    let unit = 10_u128.pow(u32::from(decimals));
    format!("{}.{:0width$}", sum / unit, sum % unit, width = usize::from(decimals))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_difficulties_are_written_as_nodes_do() {
        assert_eq!(amount(0, 8), "0.00000000");
        assert_eq!(amount(1 << 64, 8), "184467440737.09551616");
        assert_eq!(amount(1_234, 2), "12.34");
        assert_eq!(difficulty(0x1d00_ffff), 1.0);
        assert_eq!(difficulty(0x207f_ffff), 4.6565423739069247e-10);
    }
}
