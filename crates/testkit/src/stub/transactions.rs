//! What a stub node says of transactions, those that wait above all.
//!
//! Source: Bitcoin Core 31.99, src/rpc/mempool.cpp and src/rpc/rawtransaction.cpp.

use bytes::Bytes;
use chain::Hash32;
use chain::utxo::{Block, OutPoint, Transaction};
use serde_json::{Value, json};

use super::Shared;
use super::ledger::Ledger;
use super::outcome::{BAD_PARAMETER, MISC, NOT_FOUND, Outcome, amount, quoted};
use super::parameters::{Detail, detail, hash_of};

const NO_TRANSACTION: Outcome = Err((
    NOT_FOUND,
    "No such mempool or blockchain transaction. Use gettransaction for wallet transactions.",
));

/// `getrawmempool`.
pub(super) fn raw_pool(shared: &Shared, ledger: &Ledger, params: &[Value]) -> Outcome {
    let flag = |place: usize| params.get(place).and_then(Value::as_bool).unwrap_or(false);
    let ids = ledger.listed().map(ToString::to_string);
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

/// `getmempoolentry`.
pub(super) fn pool_entry(ledger: &Ledger, params: &[Value]) -> Outcome {
    let txid = hash_of(params.first())?;
    let found = ledger.pool().iter().find(|(id, _)| *id == txid);
    let (_, raw) = found.ok_or((NOT_FOUND, "Transaction not in mempool"))?;
    Ok(json!({ "vsize": raw.len(), "time": 0, "height": ledger.height() }).to_string())
}

/// `getmempoolinfo`.
pub(super) fn pool_info(ledger: &Ledger) -> String {
    let bytes: usize = ledger.pool().iter().map(|(_, raw)| raw.len()).sum();
    json!({
        "loaded": true,
        "size": ledger.pool().len(),
        "bytes": bytes,
        "usage": bytes,
        "maxmempool": 300_000_000,
        "mempoolminfee": 0.00001,
        "minrelaytxfee": 0.00001,
        "unbroadcastcount": 0,
    })
    .to_string()
}

/// `getrawtransaction`.
pub(super) fn raw_transaction(shared: &Shared, ledger: &Ledger, params: &[Value]) -> Outcome {
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
    let members = json.as_object_mut().expect("it was made as an object");
    if let Some(block) = block {
        members.insert("blockhash".to_owned(), block.to_string().into());
        if let Some(stored) = ledger.block(&block).filter(|stored| ledger.is_best(stored)) {
            let confirmations = ledger.height() - stored.height + 1;
            members.insert("confirmations".to_owned(), confirmations.into());
            members.insert("time".to_owned(), stored.header.time.into());
            members.insert("blocktime".to_owned(), stored.header.time.into());
        }
    }
    let mut text = json.to_string();
    if let Ok(transaction) = Transaction::decode(&raw, &ledger.format) {
        text.truncate(text.len() - 1);
        text.push_str(&parts(&transaction, shared.chain.decimals));
    }
    Ok(text)
}

/// Inputs and outputs as a node tells them, of scripts the bytes alone, up to the end of the object
/// (src/core_write.cpp, `TxToUniv`).
fn parts(transaction: &Transaction<'_>, decimals: u8) -> String {
    let inputs = transaction.inputs().map(|input| {
        let script = const_hex::encode(input.script);
        match input.previous == OutPoint::NULL {
            true => json!({ "coinbase": script, "sequence": input.sequence }),
            false => json!({
                "txid": input.previous.txid.to_string(),
                "vout": input.previous.vout,
                "scriptSig": { "hex": script },
                "sequence": input.sequence,
            }),
        }
    });
    // As text, since a float would lose places or take an exponent.
    let outputs = transaction.outputs().enumerate().map(|(place, output)| {
        let (value, script) = (amount(output.value.into(), decimals), output.script);
        let script = const_hex::encode(script);
        format!(r#"{{"value":{value},"n":{place},"scriptPubKey":{{"hex":"{script}"}}}}"#)
    });
    let (inputs, outputs) = (inputs.collect::<Value>(), outputs.collect::<Vec<_>>().join(","));
    let (version, lock_time) = (transaction.version, transaction.lock_time);
    format!(r#","version":{version},"locktime":{lock_time},"vin":{inputs},"vout":[{outputs}]}}"#)
}

fn in_block(ledger: &Ledger, block: &Hash32, txid: &Hash32) -> Option<(Option<Hash32>, Bytes)> {
    let stored = ledger.block(block)?;
    let read = Block::decode(&stored.raw, &ledger.format).ok()?;
    let place = read.txids.iter().position(|id| id == txid)?;
    let raw = stored.raw.slice_ref(Transaction::raw(&read.transactions[place]));
    Some((Some(*block), raw))
}
