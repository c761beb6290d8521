//! `/tx/{hash}`, and a transaction as every list shows it.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use chain::account::{Address, Hash, Standard, TokenTransfer, U256};
use index::account::{Log, Operation, Pending, Placed, Status, TokenFacts, View};
use schemars::JsonSchema;
use serde::Serialize;

use super::text::{Data, Text};
use super::{Desk, confirmations};
use crate::json::json;
use crate::refusal::{Reason, Refusal};

/// A transaction as lists show it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Listed")]
pub struct Listed {
    /// Its hash.
    pub hash: Text<Hash>,
    /// What only a transaction of a block has.
    #[serde(flatten)]
    pub mined: Option<Mined>,
    /// Blocks from its own to the tip; 0 while it waits.
    pub confirmations: u32,
    /// Who sent it.
    pub from: Text<Address>,
    /// Gas that it may use.
    pub gas_limit: u64,
    /// Price of a unit of gas as the node gives it.
    pub gas_price: Text<U256>,
    /// Call data, or the code that creates a contract.
    pub input: Data<Vec<u8>>,
    /// Most it pays for a unit of gas; types 2 and above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_fee_per_gas: Option<Text<U256>>,
    /// How many its sender had sent before.
    pub nonce: u64,
    /// Whether it did what it should; `unknown` is possible before Byzantium alone.
    #[schemars(extend("enum" = ["success", "failed", "pending", "unknown"]))]
    pub status: &'static str,
    /// To whom; absent where it creates a contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Text<Address>>,
    /// EIP-2718 type.
    #[serde(rename = "type")]
    pub kind: u8,
    /// What it moves.
    pub value: Text<U256>,
}

/// What only a transaction of a block has.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Mined {
    /// Its block.
    pub block_hash: Text<Hash>,
    /// Height of its block.
    pub block_height: u32,
    /// What it paid for a unit of gas.
    pub effective_gas_price: Text<U256>,
    /// What it cost: gas and blobs.
    pub fee: Text<U256>,
    /// Gas that it used.
    pub gas_used: u64,
    /// Its place in the block.
    pub index: u32,
    /// Its logs.
    pub log_count: u32,
    /// Time of its block, in seconds since 1970.
    pub time: u64,
}

/// A transaction alone.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Transaction")]
pub struct Transaction {
    /// What lists show of it too.
    #[serde(flatten)]
    pub listed: Listed,
    /// The first four bytes of a call's input, which name what is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<Data<[u8; 4]>>,
    /// What its calls did, in order of execution; absent where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internal_operations: Option<Vec<InternalOperation>>,
    /// Its logs; absent while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logs: Option<Vec<TransactionLog>>,
    /// The transfers of tokens that its logs tell; absent while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_transfers: Option<Vec<Transfer>>,
}

/// A call inside of a transaction that moved an amount, or created or ended a contract.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Operation")]
pub struct InternalOperation {
    /// Who did it.
    pub from: Text<Address>,
    /// To whom; the contract that was created; who got what a contract left.
    pub to: Text<Address>,
    /// What it did.
    #[schemars(extend("enum" = ["call", "create", "create2", "selfdestruct"]))]
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// How much.
    pub value: Text<U256>,
}

/// A log of a transaction.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Log")]
pub struct TransactionLog {
    /// The contract.
    pub address: Text<Address>,
    /// What it says besides its topics.
    pub data: Data<Vec<u8>>,
    /// Its place among the logs of the block.
    pub index: u32,
    /// Up to four words of 32 bytes to look for.
    pub topics: Vec<Data<[u8; 32]>>,
}

/// A transfer of tokens.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Transfer")]
pub struct Transfer {
    /// How much, in the token's smallest unit; 1 of a thing with a number.
    pub amount: Text<U256>,
    /// Decimals of the smallest unit, as the contract says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decimals: Option<u8>,
    /// Who had it; zeros where it was made.
    pub from: Text<Address>,
    /// Which standard it is of.
    #[schemars(extend("enum" = ["erc20", "erc721", "erc1155"]))]
    pub standard: &'static str,
    /// As the contract says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<Text<Arc<str>>>,
    /// Who has it; zeros where it was destroyed.
    pub to: Text<Address>,
    /// The contract.
    pub token: Text<Address>,
    /// Which thing, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_id: Option<Text<U256>>,
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
pub(super) fn in_list(view: &View, placed: Placed) -> Listed {
    let Placed { place, block, transaction: tx } = placed;
    Listed {
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
    }
}

/// A transaction that waits, as lists show it.
pub(super) fn waiting(tx: &Pending) -> Listed {
    Listed {
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
    if let Some(found) = at_view(desk, hash).await? {
        return Ok(found);
    }
    // Its block may have come while the pool was read.
    let newer = desk.index.view().filter(|view| view.tip().hash != desk.view.tip().hash);
    let Some(view) = newer else { return Err(Reason::NotFound.into()) };
    let desk = Desk { view, ..desk.clone() };
    at_view(&desk, hash).await?.ok_or_else(|| Reason::NotFound.into())
}

/// One transaction, if the blocks of the view have it or it waits.
async fn at_view(desk: &Desk<'_>, hash: Hash) -> Result<Option<Bytes>, Refusal> {
    let read = move |view: &View, tier| {
        let Some(placed) = view.transaction(&hash, tier)? else { return Ok(None) };
        let logs = view.logs(&placed, tier)?;
        let operations = view.operations(placed.place, tier)?;
        Ok(Some(Read { placed, logs, operations }))
    };
    let Some(Read { placed, logs, operations }) = desk.read(read).await? else {
        let tx = desk.index.waiting(&hash).await?;
        return Ok(tx.map(|tx| {
            json(&Transaction {
                listed: waiting(&tx),
                method: method(tx.to, &tx.input),
                internal_operations: None,
                logs: None,
                token_transfers: None,
            })
        }));
    };
    let transfers: Vec<TokenTransfer> = logs.iter().flat_map(Log::transfers).collect();
    let tokens = BTreeSet::from_iter(transfers.iter().map(|transfer| transfer.token));
    let tokens = desk.index.tokens(&Vec::from_iter(tokens)).await;
    let tx = &placed.transaction;
    let first_log = tx.first_log;
    let log = |(place, log)| log_json(first_log, place, log);
    Ok(Some(json(&Transaction {
        method: method(tx.to, &tx.input),
        internal_operations: operations.map(|list| list.iter().map(operation_json).collect()),
        logs: Some((0..).zip(logs).map(log).collect()),
        token_transfers: Some(
            transfers.iter().map(|it| transfer_json(it, tokens.get(&it.token))).collect(),
        ),
        listed: in_list(&desk.view, placed),
    })))
}

fn operation_json(operation: &Operation) -> InternalOperation {
    InternalOperation {
        from: Text(operation.from),
        to: Text(operation.to),
        kind: operation.kind.as_str(),
        value: Text(operation.value),
    }
}

fn log_json(first: u32, place: u32, log: Log) -> TransactionLog {
    TransactionLog {
        address: Text(log.address),
        data: Data(log.data),
        index: first.saturating_add(place),
        topics: log.topics.into_iter().map(Data).collect(),
    }
}

fn transfer_json(transfer: &TokenTransfer, facts: Option<&TokenFacts>) -> Transfer {
    // Only an amount of one currency has decimals.
    let decimals = facts.filter(|_| transfer.standard == Standard::Erc20);
    Transfer {
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
