//! A transaction as `tx_by_num` keeps it: its hash, its size and its body.
//!
//! The body is what a pruned node keeps: the transaction without proofs and signatures, as it
//! stands on the wire; everything that is shown is read from it, by `chain`. Invariant: a record of
//! the index is read back as it was made.

use std::sync::Arc;

use chain::ring::{Hash, Transaction};

use crate::ReadError;
use crate::row::{BadRow, RowReader, put_varint};

/// A transaction of the chain or the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionRecord {
    /// Its hash.
    pub hash: Hash,
    /// Bytes of the whole transaction, proofs included.
    pub size: u64,
    /// The transaction without proofs and signatures; of one with a type that is not known, all of
    /// it.
    pub body: Arc<[u8]>,
}

impl TransactionRecord {
    /// The record of a whole transaction.
    pub(crate) fn of(transaction: &Transaction<'_>, hash: Hash) -> TransactionRecord {
        let (size, body) = (transaction.size() as u64, transaction.pruned().into());
        TransactionRecord { hash, size, body }
    }

    /// The transaction, without its proofs.
    ///
    /// # Errors
    /// `Damaged`: a row of the index that makes no sense.
    pub fn decode(&self) -> Result<Transaction<'_>, ReadError> {
        Transaction::decode_pruned(&self.body).map_err(|_| BadRow.of("tx_by_num"))
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
