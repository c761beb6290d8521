//! A block out of what a node said of it: body, receipts, heights of its uncles.
//!
//! Leaves asking to `upstream`. Invariant: the parts belong to one block, in one order, or nothing
//! is made of them (decision A4).

use chain::account::{Hash, RewardForks, U256, issuance};

use super::facts::{BlobCost, Block, BlockFacts, Log, Status, Transaction};
use super::quantity::Hex;
use super::shapes::{BlockShape, LogShape, ReceiptShape, TransactionShape};

/// Most transactions of a block that places can name (decision A6).
pub(super) const MOST_TRANSACTIONS: usize = 1 << 21;

/// Parts that do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Misfit(pub(super) &'static str);

fn fits(holds: bool, otherwise: &'static str) -> Result<(), Misfit> {
    if holds { Ok(()) } else { Err(Misfit(otherwise)) }
}

/// Puts a block together.
pub(super) fn assemble(
    body: BlockShape,
    receipts: Vec<ReceiptShape>,
    uncles: &[u64],
    forks: RewardForks,
) -> Result<Block, Misfit> {
    let height = body.number.0;
    let hash = body.hash.0;
    fits(
        receipts.len() == body.transactions.len(),
        "it has more or fewer receipts than transactions",
    )?;
    fits(receipts.len() <= MOST_TRANSACTIONS, "it has more transactions than places")?;
    let difficulty = body.difficulty.0;
    let named = difficulty.is_zero() || body.uncles.is_some() || height == 0;
    fits(named, "it does not name its uncles")?;
    let mut facts = BlockFacts {
        height: u32::try_from(height).map_err(|_| Misfit("its height has more than 32 bits"))?,
        hash,
        parent: body.parent_hash.0,
        state_root: body.state_root.0,
        miner: body.miner.0,
        time: body.timestamp.0,
        tx_count: receipts.len() as u32,
        gas_used: body.gas_used.0,
        gas_limit: body.gas_limit.0,
        base_fee: body.base_fee_per_gas.map(|it| it.0),
        difficulty,
        total_fees: U256::ZERO,
        total_value: U256::ZERO,
        issuance: issuance(forks, height, difficulty, uncles),
        size: body.size.0,
        withdrawals: body.withdrawals.map(|list| list.len() as u32),
        excess_blob_gas: body.excess_blob_gas.map(|it| it.0),
        extra_data: body.extra_data.0,
    };
    let mut transactions = Vec::with_capacity(receipts.len());
    let mut first_log = 0u32;
    for (index, (shape, receipt)) in body.transactions.into_iter().zip(receipts).enumerate() {
        belongs(&shape, &receipt, hash, index)?;
        let (transaction, logs) = transaction(shape, receipt, &facts, first_log, forks)?;
        let too_much = Misfit("its amounts have more than 256 bits");
        let fee = transaction.checked_fee().ok_or(too_much.clone())?;
        facts.total_fees = facts.total_fees.checked_add(fee).ok_or(too_much.clone())?;
        facts.total_value = facts.total_value.checked_add(transaction.value).ok_or(too_much)?;
        first_log = first_log.checked_add(transaction.log_count).ok_or(Misfit("too many logs"))?;
        transactions.push((transaction, logs));
    }
    Ok(Block { facts, transactions })
}

/// A transaction and its receipt are of that place of the block.
fn belongs(
    shape: &TransactionShape,
    receipt: &ReceiptShape,
    block: Hash,
    index: usize,
) -> Result<(), Misfit> {
    let here = |place: &Option<Hex<u64>>| place.as_ref().is_none_or(|it| it.0 == index as u64);
    fits(receipt.transaction_hash == shape.hash, "a receipt is of another transaction")?;
    fits(receipt.block_hash.0 == block, "a receipt is of another block")?;
    fits(
        shape.block_hash.as_ref().is_none_or(|it| it.0 == block),
        "a transaction says that it is of another block",
    )?;
    fits(
        here(&shape.transaction_index) && here(&receipt.transaction_index),
        "a transaction says that it stands elsewhere",
    )
}

fn transaction(
    shape: TransactionShape,
    receipt: ReceiptShape,
    block: &BlockFacts,
    first_log: u32,
    forks: RewardForks,
) -> Result<(Transaction, Vec<Log>), Misfit> {
    let kind = shape.kind.as_ref().map_or(0, |it| it.0);
    let kind = u8::try_from(kind).map_err(|_| Misfit("a type has more than 8 bits"))?;
    let gas_used = receipt.gas_used.0;
    fits(gas_used <= shape.gas.0, "a transaction used more gas than it might")?;
    let gas_price = price(&shape, block);
    let logs: Vec<Log> = receipt.logs.into_iter().map(log).collect();
    let told = receipt.logs_bloom.is_none_or(|bloom| bloom.0.is_empty == logs.is_empty());
    fits(told, "a receipt's logs are not those of its bloom")?;
    let status = match receipt.status {
        Some(status) if status.0 == 1 => Status::Success,
        Some(status) if status.0 == 0 => Status::Failed,
        Some(_) => return Err(Misfit("a status is neither 0 nor 1")),
        None if u64::from(block.height) >= forks.byzantium => {
            return Err(Misfit("a receipt has no status"));
        }
        // A failed one burnt all its gas, as nothing could revert, and has no logs.
        None if gas_used < shape.gas.0 || !logs.is_empty() => Status::Success,
        None => Status::Unknown,
    };
    let blob = match (receipt.blob_gas_used, receipt.blob_gas_price) {
        (Some(used), Some(price)) if kind == 3 => {
            Some(BlobCost { gas_used: used.0, gas_price: price.0 })
        }
        _ if kind == 3 => return Err(Misfit("a receipt does not tell what blobs cost")),
        _ => None,
    };
    let created = receipt.contract_address.map(|it| it.0);
    let named = shape.to.is_some() || created.is_some() || status == Status::Failed;
    fits(named, "a receipt does not name the contract that was created")?;
    let transaction = Transaction {
        hash: shape.hash.0,
        from: shape.from.0,
        to: shape.to.map(|it| it.0),
        kind,
        nonce: shape.nonce.0,
        value: shape.value.0,
        gas_limit: shape.gas.0,
        gas_price,
        max_fee: shape.max_fee_per_gas.map(|it| it.0),
        input: shape.input.0,
        status,
        gas_used,
        effective_gas_price: receipt.effective_gas_price.map_or(gas_price, |it| it.0),
        blob,
        // A failed creation has the address that it would have had.
        created: created.filter(|_| status != Status::Failed),
        first_log,
        log_count: logs.len() as u32,
    };
    Ok((transaction, logs))
}

/// What is paid for a unit of gas, as far as the transaction tells.
pub(super) fn price(shape: &TransactionShape, block: &BlockFacts) -> U256 {
    let of = |it: &Option<Hex<U256>>| it.as_ref().map(|it| it.0);
    if let Some(price) = of(&shape.gas_price) {
        return price;
    }
    let tip = of(&shape.max_priority_fee_per_gas).unwrap_or_default();
    let most = of(&shape.max_fee_per_gas).unwrap_or(U256::MAX);
    most.min(block.base_fee.unwrap_or_default().saturating_add(tip))
}

fn log(shape: LogShape) -> Log {
    Log {
        address: shape.address.0,
        topics: shape.topics.into_iter().map(|topic| topic.0).collect(),
        data: shape.data.0,
    }
}
