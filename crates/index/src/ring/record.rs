//! A transaction as `tx_by_num` keeps it: its hash, its size and its body.
//!
//! The body is what a pruned node keeps: the transaction without proofs and signatures, as it
//! stands on the wire; everything that is shown is read from it, by `chain`. Of a transaction that is
//! not known to its outputs' end it is all of it, behind a mark and how many outputs it has.
//! Invariant: a record of the index is read back as it was made.

use std::sync::Arc;

use chain::ring::{Hash, RingCt, Transaction};

use crate::ReadError;
use crate::row::{BadRow, RowReader, put_varint};

/// What a body begins with that is not known to its outputs' end. No transaction does: it is where the
/// version stands, and there is no version 0.
const UNREAD: u8 = 0;

/// A transaction of the chain or the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionRecord {
    /// Its hash.
    pub hash: Hash,
    /// Bytes of the whole transaction, proofs included.
    pub size: u64,
    /// The transaction without proofs and signatures; of one with a type of ring signatures that is
    /// not known, all of it. `0 ‖ outputs + 1, or 0 where that is not known, varint ‖ all of it` of
    /// one that is known even less.
    pub body: Arc<[u8]>,
}

/// The body of one that is not known to its outputs' end.
pub(crate) struct UnreadBody<'a> {
    /// How many outputs it has; none of one that waits where that is not known either.
    pub(crate) outputs: Option<u64>,
    /// All of it.
    raw: &'a [u8],
}

impl TransactionRecord {
    /// The record of a whole transaction, or of all that there is of one that is not known; of that
    /// `outputs` says how many outputs it has.
    pub(crate) fn of(
        transaction: &Transaction<'_>,
        hash: Hash,
        outputs: Option<u64>,
    ) -> TransactionRecord {
        let (size, body) = (transaction.size() as u64, transaction.pruned());
        if transaction.ring_ct != RingCt::Unread {
            return TransactionRecord { hash, size, body: body.into() };
        }
        let mut marked = vec![UNREAD];
        put_varint(&mut marked, outputs.map_or(0, |outputs| outputs.saturating_add(1)));
        marked.extend_from_slice(body);
        TransactionRecord { hash, size, body: marked.into() }
    }

    /// The transaction, without its proofs.
    ///
    /// # Errors
    /// `Damaged`: a row of the index that makes no sense.
    pub fn decode(&self) -> Result<Transaction<'_>, ReadError> {
        let bad = || BadRow.of("tx_by_num");
        match self.unread().map_err(|bad| bad.of("tx_by_num"))? {
            Some(unread) => Transaction::decode_later(unread.raw).map_err(|_| bad()),
            None => Transaction::decode_pruned(&self.body).map_err(|_| bad()),
        }
    }

    /// How many outputs it has; none of one that waits and is not known so far.
    ///
    /// # Errors
    /// As [`TransactionRecord::decode`].
    pub fn output_count(&self) -> Result<Option<u64>, ReadError> {
        match self.unread().map_err(|bad| bad.of("tx_by_num"))? {
            Some(unread) => Ok(unread.outputs),
            None => Ok(self.decode()?.output_count().map(|count| count as u64)),
        }
    }

    /// What the body holds of one that is not known to its outputs' end.
    pub(crate) fn unread(&self) -> Result<Option<UnreadBody<'_>>, BadRow> {
        if self.body.first() != Some(&UNREAD) {
            return Ok(None);
        }
        let mut reader = RowReader::new(&self.body[1..]);
        let outputs = reader.varint()?.checked_sub(1);
        Ok(Some(UnreadBody { outputs, raw: reader.rest() }))
    }

    /// `hash [32] ‖ size varint ‖ body`.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.body.len() + 37);
        out.extend_from_slice(&self.hash.0);
        put_varint(&mut out, self.size);
        out.extend_from_slice(&self.body);
        out
    }

    /// Reads a row, whose body is looked at when it is decoded.
    pub(crate) fn read(row: &[u8]) -> Result<TransactionRecord, BadRow> {
        let mut reader = RowReader::new(row);
        let (hash, size) = (Hash(reader.array()?), reader.varint()?);
        Ok(TransactionRecord { hash, size, body: reader.rest().into() })
    }
}

/// The hash of a row, without the rest of it.
pub(crate) fn read_hash(row: &[u8]) -> Result<Hash, BadRow> {
    RowReader::new(row).array().map(Hash)
}
