//! What the index reads of a decoded block.
//!
//! Leaves what inputs spend to `connect` and to the first load. Invariant: both read the same.

use chain::Hash32;
use chain::utxo::{Block, Input, Kind, Transaction};

use super::outputs::OutputRecord;
use super::record::kind::has_base;
use super::record::{BaseInput, TransactionRecord};

/// The first input, where it spends no output.
pub(crate) fn base(transaction: &Transaction<'_>, kind: Kind) -> Option<BaseInput> {
    if !has_base(kind) {
        return None;
    }
    let input = transaction.inputs().next()?;
    // What a coinbase or treasurybase says that it makes leaves out fees, or goes nowhere.
    let value = input.amount.filter(|_| kind.has_value_in());
    let script = if kind == Kind::Coinbase { input.script } else { &[] };
    Some(BaseInput { sequence: input.sequence, value, script: script.to_vec() })
}

/// The inputs that spend an output.
pub(crate) fn spends<'a>(
    transaction: &Transaction<'a>,
) -> impl ExactSizeIterator<Item = Input<'a>> + use<'a> {
    spends_of(transaction, transaction.kind())
}

/// The same of a transaction of that kind.
pub(crate) fn spends_of<'a>(
    transaction: &Transaction<'a>,
    kind: Kind,
) -> impl ExactSizeIterator<Item = Input<'a>> + use<'a> {
    transaction.inputs().skip(usize::from(has_base(kind)))
}

/// A record with all that its transaction says alone: without what its inputs spend.
pub(crate) fn record(transaction: &Transaction<'_>, txid: Hash32) -> TransactionRecord {
    let kind = transaction.kind();
    TransactionRecord {
        txid,
        kind,
        version: transaction.version,
        lock_time: transaction.lock_time,
        size: transaction.size() as u32,
        vsize: transaction.vsize() as u32,
        value_in: None,
        fee: None,
        pools: transaction.pools(),
        base: base(transaction, kind),
        outputs: transaction.outputs().map(|output| OutputRecord::of(&output)).collect(),
        inputs: Vec::with_capacity(transaction.inputs().len()),
        names: None,
        replaced: Vec::new(),
    }
}

/// The transactions of a block in the order of their places in the chain, with their ids: those
/// that the next block can void come last.
pub(crate) fn in_order<'b, 'a>(
    block: &'b Block<'a>,
) -> impl Iterator<Item = (&'b Transaction<'a>, &'b Hash32)> + Clone {
    let (regular, stake) = block.transactions.split_at(block.regular);
    let (regular_ids, stake_ids) = block.txids.split_at(block.regular);
    stake.iter().zip(stake_ids).chain(regular.iter().zip(regular_ids))
}
