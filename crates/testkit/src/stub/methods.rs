//! What a stub node answers to each call, in the shapes of Bitcoin Core and its relatives.
//!
//! Envelopes are left to `wire`, blocks and transactions to files of their own.
//!
//! Source: Bitcoin Core 31.99, src/rpc/blockchain.cpp and src/rpc/mining.cpp.

use std::sync::PoisonError;

use chain::NetworkKind;
use serde_json::{Value, json};

use super::ledger::Ledger;
use super::outcome::{Outcome, amount, quoted};
use super::{Shared, blocks, transactions};

const NO_METHOD: i64 = -32601;

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
        "getrawtransaction" => transactions::raw_transaction(shared, &ledger, params),
        "gettxoutsetinfo" => unspent_info(shared, &ledger),
        "uptime" => Ok(shared.started.elapsed().as_secs().to_string()),
        "getindexinfo" => Ok(index_info(&ledger)),
        "getmininginfo" => Ok(mining_info(shared, &ledger)),
        "estimatesmartfee" => Ok(no_estimate(params)),
        "getzmqnotifications" => Ok(notifications(shared)),
        "help" => Ok(quoted("help ( command )")),
        _ => Err((NO_METHOD, "Method not found")),
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
    let unless_known = if shared.chain.slug == "btc" { "Satoshi" } else { shared.chain.name };
    let agent = known.copied().unwrap_or(unless_known);
    json!({
        "version": shared.options.version,
        "subversion": format!("/{agent}:{}/", shared.options.version),
        "protocolversion": 70016,
        "localservices": "0000000000000409",
        "localrelay": true,
        "timeoffset": 0,
        "connections": 0,
        "networkactive": true,
        "networks": [],
        "relayfee": 0.00001,
        "incrementalfee": 0.00001,
        "localaddresses": [],
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

fn notifications(shared: &Shared) -> String {
    let published = *shared.publishing_at.lock().unwrap_or_else(PoisonError::into_inner);
    let address = format!("tcp://{published}");
    json!([
        { "type": "pubhashblock", "address": address, "hwm": 1000 },
        { "type": "pubhashtx", "address": address, "hwm": 1000 },
    ])
    .to_string()
}

/// What a node says that has seen too few transactions wait (src/rpc/fees.cpp).
fn no_estimate(params: &[Value]) -> String {
    let blocks = params.first().cloned().unwrap_or_default();
    json!({ "errors": ["Insufficient data or no feerate found"], "blocks": blocks }).to_string()
}

fn chain_name(shared: &Shared) -> &'static str {
    match shared.network.kind {
        NetworkKind::Main => "main",
        NetworkKind::Test => "test",
        NetworkKind::Regtest => "regtest",
    }
}
