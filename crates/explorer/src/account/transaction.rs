//! `/tx/{hash}`, and a transaction as every list shows it.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use chain::account::{Address, Hash, Standard, TokenTransfer, U256};
use index::account::{Log, Operation, Pending, Placed, Status, TokenFacts, Unanswered, View};
use serde::Serialize;

use super::text::{Data, Text};
use super::{Desk, confirmations, json};
use crate::refusal::{Reason, Refusal};

/// A transaction.
#[derive(Serialize)]
pub(super) struct TransactionJson {
    hash: Text<Hash>,
    #[serde(flatten)]
    mined: Option<Mined>,
    confirmations: u32,
    from: Text<Address>,
    gas_limit: u64,
    gas_price: Text<U256>,
    input: Data<Vec<u8>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_fee_per_gas: Option<Text<U256>>,
    nonce: u64,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Text<Address>>,
    #[serde(rename = "type")]
    kind: u8,
    value: Text<U256>,
    #[serde(flatten)]
    single: Option<Single>,
}

/// What only a transaction of a block has.
#[derive(Serialize)]
struct Mined {
    block_hash: Text<Hash>,
    block_height: u32,
    effective_gas_price: Text<U256>,
    fee: Text<U256>,
    gas_used: u64,
    index: u32,
    log_count: u32,
    time: u64,
}

/// What only the view of one transaction has.
#[derive(Serialize, Default)]
struct Single {
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<Data<[u8; 4]>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    internal_operations: Option<Vec<OperationJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logs: Option<Vec<LogJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_transfers: Option<Vec<TransferJson>>,
}

#[derive(Serialize)]
struct OperationJson {
    from: Text<Address>,
    to: Text<Address>,
    #[serde(rename = "type")]
    kind: &'static str,
    value: Text<U256>,
}

#[derive(Serialize)]
struct LogJson {
    address: Text<Address>,
    data: Data<Vec<u8>>,
    index: u32,
    topics: Vec<Data<[u8; 32]>>,
}

#[derive(Serialize)]
struct TransferJson {
    amount: Text<U256>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decimals: Option<u8>,
    from: Text<Address>,
    standard: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol: Option<Text<Arc<str>>>,
    to: Text<Address>,
    token: Text<Address>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_id: Option<Text<U256>>,
}

/// The word for a status (decision A3).
fn word(status: Status) -> &'static str {
    match status {
        Status::Success => "success",
        Status::Failed => "failed",
        Status::Unknown => "unknown",
    }
}

/// A transaction of a block, as lists show it.
pub(super) fn in_list(view: &View, placed: Placed) -> TransactionJson {
    let Placed { place, block, transaction: tx } = placed;
    TransactionJson {
        mined: Some(Mined {
            block_hash: Text(block.hash),
            block_height: place.height,
            effective_gas_price: Text(tx.effective_gas_price),
            fee: Text(tx.fee()),
            gas_used: tx.gas_used,
            index: place.index,
            log_count: tx.log_count,
            time: block.time,
        }),
        confirmations: confirmations(view, place.height),
        from: Text(tx.from),
        gas_limit: tx.gas_limit,
        gas_price: Text(tx.gas_price),
        hash: Text(tx.hash),
        input: Data(tx.input),
        max_fee_per_gas: tx.max_fee.map(Text),
        nonce: tx.nonce,
        status: word(tx.status),
        to: tx.to.map(Text),
        kind: tx.kind,
        value: Text(tx.value),
        single: None,
    }
}

/// A transaction that waits, as lists show it.
pub(super) fn waiting(tx: &Pending) -> TransactionJson {
    TransactionJson {
        mined: None,
        confirmations: 0,
        from: Text(tx.from),
        gas_limit: tx.gas_limit,
        gas_price: Text(tx.gas_price),
        hash: Text(tx.hash),
        input: Data(tx.input.clone()),
        max_fee_per_gas: tx.max_fee.map(Text),
        nonce: tx.nonce,
        status: "pending",
        to: tx.to.map(Text),
        kind: tx.kind,
        value: Text(tx.value),
        single: None,
    }
}

/// The first four bytes of a call's input, which name what is called.
fn method(to: Option<Address>, input: &[u8]) -> Option<Data<[u8; 4]>> {
    to.and_then(|_| input.first_chunk().copied().map(Data))
}

/// What is read of one transaction.
struct Read {
    placed: Placed,
    logs: Vec<Log>,
    operations: Option<Vec<Operation>>,
}

/// One transaction, of a block or waiting.
pub(super) async fn transaction(desk: &Desk<'_>, hash: Hash) -> Result<Bytes, Refusal> {
    let read = move |view: &View, tier| {
        let Some(placed) = view.transaction(&hash, tier)? else { return Ok(None) };
        let logs = view.logs(&placed, tier)?;
        let operations = view.operations(placed.place, tier)?;
        Ok(Some(Read { placed, logs, operations }))
    };
    let Some(Read { placed, logs, operations }) = desk.read(read).await? else {
        let tx = pending(desk, &hash).await?.ok_or(Reason::NotFound)?;
        let single = Single { method: method(tx.to, &tx.input), ..Single::default() };
        return Ok(json(&TransactionJson { single: Some(single), ..waiting(&tx) }));
    };
    let transfers: Vec<TokenTransfer> = logs.iter().flat_map(Log::transfers).collect();
    let tokens = BTreeSet::from_iter(transfers.iter().map(|transfer| transfer.token));
    let tokens = desk.index.tokens(&Vec::from_iter(tokens)).await;
    let tx = &placed.transaction;
    let first_log = tx.first_log;
    let log = |(place, log)| log_json(first_log, place, log);
    let single = Single {
        method: method(tx.to, &tx.input),
        internal_operations: operations.map(|list| list.iter().map(operation_json).collect()),
        logs: Some((0..).zip(logs).map(log).collect()),
        token_transfers: Some(
            transfers.iter().map(|it| transfer_json(it, tokens.get(&it.token))).collect(),
        ),
    };
    Ok(json(&TransactionJson { single: Some(single), ..in_list(&desk.view, placed) }))
}

/// A transaction that waits, by the pool; by the node's word where it shows no pool.
pub(super) async fn pending(desk: &Desk<'_>, hash: &Hash) -> Result<Option<Arc<Pending>>, Refusal> {
    match desk.index.txpool().await {
        Ok(pool) => Ok(pool.get(hash).cloned()),
        Err(Unanswered::Unable) => Ok(desk.index.pending_by_hash(hash).await?.map(Arc::new)),
        // What waits is not known, but what the chain has is.
        Err(error) => Err(error.into()),
    }
}

fn operation_json(operation: &Operation) -> OperationJson {
    OperationJson {
        from: Text(operation.from),
        to: Text(operation.to),
        kind: operation.kind.as_str(),
        value: Text(operation.value),
    }
}

fn log_json(first: u32, place: u32, log: Log) -> LogJson {
    LogJson {
        address: Text(log.address),
        data: Data(log.data),
        index: first.saturating_add(place),
        topics: log.topics.into_iter().map(Data).collect(),
    }
}

fn transfer_json(transfer: &TokenTransfer, facts: Option<&TokenFacts>) -> TransferJson {
    // Only an amount of one currency has decimals.
    let decimals = facts.filter(|_| transfer.standard == Standard::Erc20);
    TransferJson {
        amount: Text(transfer.amount),
        decimals: decimals.and_then(|facts| facts.decimals),
        from: Text(transfer.from),
        standard: transfer.standard.as_str(),
        symbol: facts.and_then(|facts| facts.symbol.clone()).map(Text),
        to: Text(transfer.to),
        token: Text(transfer.token),
        token_id: transfer.id.map(Text),
    }
}
