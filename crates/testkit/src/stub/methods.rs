//! What a stub node answers to each call, in the shapes of Bitcoin Core and its relatives.
//!
//! Envelopes are left to `wire`, blocks and transactions to files of their own. Invariant: an
//! amount is written with all its decimal places, as nodes write it.
//!
//! Source: Bitcoin Core 31.99, src/rpc/blockchain.cpp and src/rpc/mining.cpp.

use chain::{Hash32, NetworkKind};
use serde_json::{Value, json};

use super::ledger::Ledger;
use super::{Shared, blocks, transactions};

/// The text of a result, or a code and a message.
pub(super) type Outcome = Result<String, (i64, &'static str)>;

pub(super) const MISC: i64 = -1;
pub(super) const WRONG_TYPE: i64 = -3;
pub(super) const NOT_FOUND: i64 = -5;
pub(super) const BAD_PARAMETER: i64 = -8;
const NO_METHOD: i64 = -32601;

/// What is asked for of a block or a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Its bytes.
    Hex,
    /// What can be said of it.
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
        "getblockhash" => blocks::block_hash(&ledger, params),
        "getblockheader" => blocks::block_header(&ledger, params),
        "getblock" => blocks::block(shared, ledger, params),
        "getrawmempool" => transactions::raw_pool(shared, &ledger, params),
        "getmempoolentry" => transactions::pool_entry(&ledger, params),
        "getmempoolinfo" => Ok(transactions::pool_info(&ledger)),
        "getrawtransaction" => transactions::raw_transaction(&ledger, params),
        "gettxoutsetinfo" => unspent_info(shared, &ledger),
        "uptime" => Ok(shared.started.elapsed().as_secs().to_string()),
        "getindexinfo" => Ok(index_info(&ledger)),
        "getmininginfo" => Ok(mining_info(shared, &ledger)),
        _ => Err((NO_METHOD, "Method not found")),
    }
}

/// A hash that is a parameter.
pub(super) fn hash_of(param: Option<&Value>) -> Result<Hash32, (i64, &'static str)> {
    let text = param.and_then(Value::as_str);
    let text = text.ok_or((WRONG_TYPE, "JSON value is not a string as expected"))?;
    text.parse().map_err(|_| (BAD_PARAMETER, "hash must be of length 64 and hexadecimal"))
}

/// A verbosity that is a parameter, as a number or a boolean.
pub(super) fn detail(
    param: Option<&Value>,
    unless_given: Detail,
) -> Result<Detail, (i64, &'static str)> {
    match param {
        None | Some(Value::Null) => Ok(unless_given),
        Some(Value::Bool(false)) => Ok(Detail::Hex),
        Some(Value::Bool(true)) => Ok(Detail::Json),
        Some(Value::Number(number)) if number.as_i64() == Some(0) => Ok(Detail::Hex),
        Some(Value::Number(_)) => Ok(Detail::Json),
        Some(_) => Err((WRONG_TYPE, "JSON value is not an integer as expected")),
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
        "difficulty": blocks::difficulty(tip.header.bits),
        "time": tip.header.time,
        "mediantime": blocks::median_time(ledger, tip),
        "verificationprogress": 1,
        "initialblockdownload": false,
        "chainwork": blocks::chain_work(tip),
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
        "difficulty": blocks::difficulty(bits),
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

/// A text without anything to escape, as JSON.
pub(super) fn quoted(text: impl std::fmt::Display) -> String {
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
        assert_eq!(blocks::difficulty(0x1d00_ffff), 1.0);
        assert_eq!(blocks::difficulty(0x207f_ffff), 4.6565423739069247e-10);
    }
}
