//! The outputs of the chain by their places, which is how rings name them.
//!
//! Source: monero, src/blockchain_db/blockchain_db.cpp, `add_transaction`: outputs are counted by
//! their amounts; all whose amounts are hidden, and those of coinbases of version 2, are counted
//! together as of amount 0. Invariant: the places of each kind begin at 0 and have no gap; an output
//! whose key is not known has its place all the same.

use chain::ring::{Key, Transaction};

use super::schema::{OUTPUT_BY_AMOUNT, OUTPUT_BY_INDEX};
use crate::db::Table;
use crate::row::{BadRow, RowReader, u40};

/// The outputs that are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Pool {
    /// Those whose amounts are hidden, with those that may hide among them.
    Hidden,
    /// Those of a public amount.
    Amount(u64),
}

impl Pool {
    /// Where an input of that amount spends from.
    pub(crate) fn of(amount: u64) -> Pool {
        if amount == 0 { Pool::Hidden } else { Pool::Amount(amount) }
    }

    /// Where an output of that amount is counted.
    fn of_output(transaction: &Transaction<'_>, amount: u64) -> Pool {
        match transaction.version {
            1 => Pool::of(amount),
            _ if transaction.is_coinbase() => Pool::Hidden,
            _ => Pool::of(amount),
        }
    }

    /// The table of its outputs.
    pub(crate) fn table(self) -> Table {
        match self {
            Pool::Hidden => OUTPUT_BY_INDEX,
            Pool::Amount(_) => OUTPUT_BY_AMOUNT,
        }
    }

    /// The key of one of its outputs there.
    pub(crate) fn key(self, index: u64) -> Vec<u8> {
        // No chain has 2^40 outputs; what a ring may claim beyond is not there.
        let index = u40(index.min((1 << 40) - 1));
        match self {
            Pool::Hidden => index.to_vec(),
            Pool::Amount(amount) => [&amount.to_be_bytes()[..], &index].concat(),
        }
    }
}

/// An output with where it is counted; no key where that is not known.
pub(crate) type Counted = (Pool, Option<Key>);

/// The outputs of a transaction. `unread` is how many there are of one that is not known here: they
/// are among the hidden ones, since a version after the first has no other (decision 18).
pub(crate) fn counted(transaction: &Transaction<'_>, unread: Option<u64>) -> Vec<Counted> {
    if let Some(count) = unread {
        let keys = transaction.outputs.iter().map(|output| Some(output.key));
        let keys = keys.chain(std::iter::repeat(None)).zip(0..count);
        return keys.map(|(key, _)| (Pool::Hidden, key)).collect();
    }
    let counted = transaction.outputs.iter();
    counted.map(|output| (Pool::of_output(transaction, output.amount), Some(output.key))).collect()
}

/// An output as its table keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutputRow {
    /// Its one-time key; none where it is of a kind that is not known here.
    pub(crate) key: Option<Key>,
    /// Place of the transaction that made it.
    pub(crate) txnum: u64,
}

impl OutputRow {
    /// Hands on `key [32] ‖ txnum u40`, or the txnum alone.
    pub(crate) fn write<T>(&self, take: impl FnOnce(&[u8]) -> T) -> T {
        let txnum = u40(self.txnum);
        let Some(key) = self.key else { return take(&txnum) };
        let mut out = [0; 37];
        out[..32].copy_from_slice(&key.0);
        out[32..].copy_from_slice(&txnum);
        take(&out)
    }

    pub(crate) fn read(row: &[u8]) -> Result<OutputRow, BadRow> {
        let mut reader = RowReader::new(row);
        let has_key = row.len() > 5;
        let key = if has_key { Some(Key(reader.array()?)) } else { None };
        let row = OutputRow { key, txnum: reader.u40()? };
        reader.end()?;
        Ok(row)
    }
}
