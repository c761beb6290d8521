//! What a stub node says of blocks: hashes, headers, whole blocks, by JSON-RPC and by REST.
//!
//! Invariant: a block that was left behind is still known, with -1 confirmations.
//!
//! Source: Bitcoin Core 31.99, src/rpc/blockchain.cpp and src/rest.cpp.

use std::sync::{Arc, MutexGuard};

use bytes::Bytes;
use chain::Hash32;
use chain::utxo::{Block, Header};
use serde_json::{Value, json};

use super::Shared;
use super::ledger::{Ledger, Stored};
use super::outcome::{BAD_PARAMETER, MISC, NOT_FOUND, Outcome, WRONG_TYPE, quoted};
use super::parameters::{Detail, detail, hash_of};

/// `getblockhash`.
pub(super) fn block_hash(ledger: &Ledger, params: &[Value]) -> Outcome {
    let height = params.first().and_then(Value::as_i64);
    let height = height.ok_or((WRONG_TYPE, "JSON value is not an integer as expected"))?;
    let block = u32::try_from(height).ok().and_then(|height| ledger.at(height));
    block.map(|block| quoted(block.header.hash)).ok_or((BAD_PARAMETER, "Block height out of range"))
}

/// `getblock`, of verbosity 0 and 1.
pub(super) fn block(shared: &Shared, ledger: MutexGuard<'_, Ledger>, params: &[Value]) -> Outcome {
    let verbosity = params.get(1);
    if shared.options.boolean_verbosity && verbosity.is_some_and(|given| !given.is_boolean()) {
        return Err((MISC, "JSON value is not a boolean as expected"));
    }
    let block = find_block(&ledger, params)?;
    if ledger.is_pruned(&block) {
        return Err((MISC, "Block not available (pruned data)"));
    }
    match detail(verbosity, Detail::Json)? {
        Detail::Json => Ok(whole_block(&ledger, &block)),
        Detail::Hex => {
            // Megabytes of digits are written while others may ask.
            let raw = ledger.given(&block);
            drop(ledger);
            Ok(quoted(const_hex::encode(&raw)))
        }
    }
}

fn find_block(ledger: &Ledger, params: &[Value]) -> Result<Arc<Stored>, (i64, &'static str)> {
    let hash = hash_of(params.first())?;
    ledger.block(&hash).cloned().ok_or((NOT_FOUND, "Block not found"))
}

/// `getblockheader`.
pub(super) fn block_header(ledger: &Ledger, params: &[Value]) -> Outcome {
    let block = find_block(ledger, params)?;
    Ok(match detail(params.get(1), Detail::Json)? {
        Detail::Json => header_json(ledger, &block).to_string(),
        Detail::Hex => quoted(const_hex::encode(header_bytes(ledger, &block))),
    })
}

fn header_bytes<'b>(ledger: &Ledger, block: &'b Stored) -> &'b [u8] {
    let header = Header::at_front(&block.raw, &ledger.format);
    let (_, length) = header.expect("it was read when the block was taken");
    &block.raw[..length]
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
        "nonce": header.nonce.number(),
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

/// How much harder than the easiest target of the main network (src/rpc/blockchain.cpp,
/// `GetDifficulty`).
pub(super) fn difficulty(bits: u32) -> f64 {
    let (exponent, mantissa) = ((bits >> 24) as i32, f64::from(bits & 0x00ff_ffff));
    f64::from(0xffff) / mantissa * 256_f64.powi(29 - exponent)
}

/// At two hashes a block, as on regtest.
pub(super) fn chain_work(block: &Stored) -> String {
    format!("{:064x}", 2 * (u64::from(block.height) + 1))
}

/// The middle of the last eleven times up to a block; of a block that was left behind, its own.
pub(super) fn median_time(ledger: &Ledger, block: &Stored) -> u32 {
    if !ledger.is_best(block) {
        return block.header.time;
    }
    let first = block.height.saturating_sub(10);
    let blocks = (first..=block.height).filter_map(|height| ledger.at(height));
    let mut times: Vec<u32> = blocks.map(|block| block.header.time).collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// The bytes of a block, or what a 404 says.
pub(super) fn rest_block(shared: &Shared, hash: &str) -> Result<Bytes, String> {
    let ledger = shared.ledger();
    Ok(ledger.given(&*rest_find(&ledger, hash)?))
}

fn rest_find(ledger: &Ledger, hash: &str) -> Result<Arc<Stored>, String> {
    let hash: Hash32 = hash.parse().map_err(|_| format!("Invalid hash: {hash}\r\n"))?;
    let block = ledger.block(&hash).cloned().ok_or_else(|| format!("{hash} not found\r\n"))?;
    match ledger.is_pruned(&block) {
        true => Err(format!("{hash} not available (pruned data)\r\n")),
        false => Ok(block),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difficulties_are_written_as_nodes_do() {
        assert_eq!(difficulty(0x1d00_ffff), 1.0);
        assert_eq!(difficulty(0x207f_ffff), 4.6565423739069247e-10);
    }
}
