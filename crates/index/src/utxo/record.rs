//! A transaction as `tx_by_num` keeps it.
//!
//! Inputs name the previous transaction by its place in the chain; its outputs are read from its
//! own record. Where there are more than [`NAMED_ABOVE`] inputs the previous ids stand in the
//! record as well, so that a list of transactions needs a bounded number of reads (decision U6
//! resolves at most 1,000 previous outputs a page, and ids have to be shown of all).
//! The bytes are those of [`row`], nowhere else. Invariant: what was encoded is decoded to the
//! same record.

pub(crate) mod kind;
pub(crate) mod row;

use chain::Hash32;
use chain::utxo::{Kind, Pools};

use self::row::{Head, Parts, put_base, put_head, put_outputs, put_row, read_head, read_rest};
use crate::row::{BadRow, RowReader};

pub use super::outputs::{NftRecord, OutputRecord, TokenRecord};

/// Records of transactions with more inputs carry the previous txids.
pub(crate) const NAMED_ABOVE: usize = 20;

/// A transaction without what is read from other records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionRecord {
    /// Id.
    pub txid: Hash32,
    /// What it is for.
    pub kind: Kind,
    /// Version; some nodes print its bits without a sign ([`chain::utxo::Format`]).
    pub version: i32,
    /// Height or time before which it was not valid.
    pub lock_time: u32,
    /// Bytes in all.
    pub size: u32,
    /// Bytes where one of a witness counts a quarter.
    pub vsize: u32,
    /// Sum of its inputs in the smallest unit; none where the chain counts none
    /// ([`Kind::has_value_in`]).
    pub value_in: Option<u128>,
    /// What it leaves to the miner: inputs less outputs, and what it takes out of shielded pools;
    /// none of a coinbase.
    pub fee: Option<i128>,
    /// What it takes out of shielded pools.
    pub pools: Pools,
    /// The input that spends no output, where there is one: it is the first.
    pub base: Option<BaseInput>,
    /// Outputs in order.
    pub outputs: Vec<OutputRecord>,
    /// Inputs that spend outputs, in order.
    pub(crate) inputs: Vec<InputRecord>,
    /// The txids of the inputs, where there are more than [`NAMED_ABOVE`].
    pub(crate) names: Option<Vec<Hash32>>,
    /// Places of outputs that replaced the same output of an earlier twin while that was unspent
    /// (BIP 30), ascending.
    pub(crate) replaced: Vec<u32>,
}

/// An input without a previous output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseInput {
    /// Sequence number.
    pub sequence: u32,
    /// New coins in the smallest unit, where they count as value of the transaction.
    pub value: Option<u64>,
    /// Of a coinbase what the miner wrote; else empty.
    pub script: Vec<u8>,
}

/// An input of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InputRecord {
    /// Place of the previous transaction in the chain.
    pub(crate) txnum: u64,
    /// Place of the output there.
    pub(crate) vout: u32,
    /// Sequence number.
    pub(crate) sequence: u32,
}

/// What a transaction leaves to the miner, if its kind leaves anything.
pub(crate) fn fee(
    kind: Kind,
    value_in: Option<u128>,
    value_out: u128,
    pools: &Pools,
) -> Option<i128> {
    let value_in = value_in.filter(|_| kind.has_value_in())?;
    Some(value_in as i128 - value_out as i128 + pools.sum())
}

impl TransactionRecord {
    /// Sum of the outputs in the smallest unit.
    pub fn value_out(&self) -> u128 {
        self.outputs.iter().map(|output| u128::from(output.value)).sum()
    }

    /// Of a coinbase what the miner wrote.
    pub fn coinbase_script(&self) -> Option<&[u8]> {
        self.base.as_ref().filter(|_| self.is_coinbase()).map(|base| &base.script[..])
    }

    /// Whether it makes the new coins of its block.
    pub fn is_coinbase(&self) -> bool {
        self.kind == Kind::Coinbase
    }

    /// Whether an output replaced that of an earlier twin.
    pub(crate) fn replaces(&self, vout: u32) -> bool {
        self.replaced.binary_search(&vout).is_ok()
    }

    /// The sum of its inputs, and the fee, if what it spends adds up to that; both as far as its
    /// kind has them.
    pub(crate) fn counted(&self, spent: u128) -> (Option<u128>, Option<i128>) {
        let base = self.base.as_ref().and_then(|base| base.value).unwrap_or(0);
        let value_in = self.kind.has_value_in().then_some(spent + u128::from(base));
        (value_in, fee(self.kind, value_in, self.value_out(), &self.pools))
    }

    /// Adds up what it spends.
    pub(crate) fn count(&mut self, spent: u128) {
        (self.value_in, self.fee) = self.counted(spent);
    }

    /// The row of the record at `txnum`.
    pub(crate) fn bytes(&self, txnum: u64) -> Vec<u8> {
        let TransactionRecord { txid, kind, version, lock_time, size, vsize, .. } = *self;
        let mut parts = Vec::with_capacity(64 + self.outputs.len() * 32);
        let tokens = self.outputs.iter().any(|output| output.token.is_some());
        let versions = self.outputs.iter().any(|output| output.version != 0);
        let named = self.names.is_some();
        let pools = &self.pools;
        let head =
            Head { txid, kind, version, lock_time, size, vsize, pools, tokens, versions, named };
        put_head(&mut parts, &head);
        let head = parts.len();
        put_outputs(&mut parts, &self.outputs, tokens, versions);
        if let Some(base) = &self.base {
            put_base(&mut parts, base.sequence, base.value, &base.script);
        }
        let outputs = parts.len();
        for name in self.names.iter().flatten() {
            parts.extend_from_slice(name.wire());
        }
        let (head, rest) = parts.split_at(head);
        let (outputs, names) = rest.split_at(outputs - head.len());
        let less = self.value_in.map(|value_in| value_in as i128 - self.value_out() as i128);
        let mut out = Vec::with_capacity(parts.len() + 16 + self.inputs.len() * 8);
        let parts = Parts { head, outputs, names };
        put_row(&mut out, txnum, &parts, less, self.inputs.iter().copied(), &self.replaced);
        out
    }

    /// Reads the row at `txnum`.
    pub(crate) fn read(txnum: u64, row: &[u8]) -> Result<TransactionRecord, BadRow> {
        let mut reader = RowReader::new(row);
        let head = read_head(&mut reader)?;
        read_rest(&mut reader, head, txnum)
    }

    /// What the index knows of an output that is spent; none where there are fewer.
    pub(crate) fn spent(&self, vout: u32) -> Option<Spent> {
        let output = usize::try_from(vout).ok().and_then(|vout| self.outputs.get(vout))?;
        Some(Spent { txid: self.txid, coinbase: self.is_coinbase(), output: output.clone() })
    }
}

/// What another transaction needs to know of a record whose output it spends.
pub(crate) struct Spent {
    pub(crate) txid: Hash32,
    pub(crate) coinbase: bool,
    pub(crate) output: OutputRecord,
}

pub(crate) use self::row::{read_spent, read_txid};

#[cfg(test)]
mod tests;
