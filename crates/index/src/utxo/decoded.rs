//! What the index reads of a decoded block: the one place that knows how `chain` shows it.
//!
//! Leaves what inputs spend to `connect` and to the first load. Invariant: both read the same.

use chain::Hash32;
use chain::utxo::{Block, Input, Transaction};

use super::outputs::OutputRecord;
use super::record::{BaseInput, Kind, Pool, TransactionRecord};

/// What a transaction is for.
pub(crate) fn kind(transaction: &Transaction<'_>) -> Kind {
    if transaction.is_coinbase() { Kind::Coinbase } else { Kind::Regular }
}

/// What it takes out of shielded pools, as a record has it.
pub(crate) fn pools(_transaction: &Transaction<'_>) -> Vec<(Pool, i64)> {
    Vec::new()
}

/// The first input, where it spends no output.
pub(crate) fn base(transaction: &Transaction<'_>) -> Option<BaseInput> {
    if !kind(transaction).has_base() {
        return None;
    }
    let input = transaction.inputs().next()?;
    Some(BaseInput { sequence: input.sequence, value: None, script: input.script.to_vec() })
}

/// The inputs that spend an output.
pub(crate) fn spends<'a>(
    transaction: &Transaction<'a>,
) -> impl ExactSizeIterator<Item = Input<'a>> + use<'a> {
    transaction.inputs().skip(usize::from(kind(transaction).has_base()))
}

/// A record with all that its transaction says alone: without what its inputs spend.
pub(crate) fn record(transaction: &Transaction<'_>, txid: Hash32) -> TransactionRecord {
    TransactionRecord {
        txid,
        kind: kind(transaction),
        version: transaction.version,
        lock_time: transaction.lock_time,
        size: transaction.size() as u32,
        vsize: transaction.vsize() as u32,
        value_in: None,
        fee: None,
        pools: pools(transaction),
        base: base(transaction),
        outputs: transaction.outputs().map(|output| OutputRecord::of(&output)).collect(),
        inputs: Vec::with_capacity(transaction.inputs().len()),
        names: None,
        replaced: Vec::new(),
    }
}

/// The transactions of a block in the order of their places in the chain, with their ids.
pub(crate) fn in_order<'b, 'a>(
    block: &'b Block<'a>,
) -> impl ExactSizeIterator<Item = (&'b Transaction<'a>, &'b Hash32)> {
    block.transactions.iter().zip(&block.txids)
}

/// How many transactions a block's stake tree has.
pub(crate) fn stake_count(_block: &Block<'_>) -> u32 {
    0
}
