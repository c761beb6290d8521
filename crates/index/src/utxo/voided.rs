//! Regular trees that the next block's votes voided: their records, apart from those that stand.
//!
//! Such transactions move nothing and have no place in the chain; they stay in their block's list
//! and are found by id. Leaves what voiding changes otherwise to `connect`. Invariant: a row is the
//! record as it stood at its former place, so that a tree that is restored is as it was.

use std::ops::ControlFlow;

use chain::Hash32;
use chain::utxo::StakeHeader;

use super::block_row::{BlockRow, read_block};
use super::record::TransactionRecord;
use super::record::row::read_txid;
use super::schema::{
    VOIDED_BY_HEIGHT, VOIDED_BY_TXID, place_of_voided_key, place_of_voided_txid_key, txid_prefix,
    voided_key, voided_txid_key,
};
use super::steps::Records;
use crate::db::{Batch, Reader};
use crate::{IndexError, ReadError};

const TABLE: &str = "voided_by_height";

/// Whether the votes in a block void the regular tree of the one before, which is at `height`.
pub(crate) fn voids(stake: &StakeHeader, height: u32) -> bool {
    // Genesis is not voted on.
    height > 0 && !stake.approves()
}

/// Puts the records of a block's regular tree, which are still at their places.
pub(crate) fn put(batch: &mut Batch<'_>, block: &BlockRow, records: &Records) {
    for (position, (txnum, record)) in (0u32..).zip(records) {
        let key = voided_key(block.height, position);
        batch.put(VOIDED_BY_HEIGHT, &key, &record.bytes(*txnum));
        let id = voided_txid_key(&record.txid, block.height, position);
        batch.put(VOIDED_BY_TXID, &id, &[]);
    }
}

/// Removes them when the tree is restored.
pub(crate) fn remove(batch: &mut Batch<'_>, block: &BlockRow, records: &Records) {
    for (position, record) in (0u32..).zip(records.values()) {
        batch.delete(VOIDED_BY_HEIGHT, &voided_key(block.height, position));
        batch.delete(VOIDED_BY_TXID, &voided_txid_key(&record.txid, block.height, position));
    }
}

/// All records of a block's voided tree, at their former places.
pub(crate) fn records(reader: Reader<'_>, block: &BlockRow) -> Result<Records, IndexError> {
    let found = some(reader, block, 0, block.regular_count())?;
    let first = block.regular_txnum();
    Ok(found.into_iter().map(|(position, record)| (first + u64::from(position), record)).collect())
}

/// Records of a block's voided tree from one position up to another.
pub(crate) fn some(
    reader: Reader<'_>,
    block: &BlockRow,
    from: u32,
    to: u32,
) -> Result<Vec<(u32, TransactionRecord)>, ReadError> {
    let mut found = Vec::new();
    let mut sound = true;
    let prefix = block.height.to_be_bytes();
    reader.scan(VOIDED_BY_HEIGHT, &prefix, &voided_key(block.height, from), |key, value| {
        let position = place_of_voided_key(key).map(|(_, position)| position);
        let Some(position) = position.filter(|position| *position < to) else {
            return ControlFlow::Break(());
        };
        let txnum = block.regular_txnum() + u64::from(position);
        match TransactionRecord::read(txnum, value) {
            Ok(record) => found.push((position, record)),
            Err(_) => sound = false,
        }
        if sound { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    if !sound || found.len() as u64 != u64::from(to.saturating_sub(from)) {
        return Err(ReadError::Damaged(format!("rows of {TABLE} are gone or make no sense")));
    }
    Ok(found)
}

/// Height of the block and position in its voided tree of the transaction with that id; of several
/// the latest.
pub(crate) fn find(reader: Reader<'_>, txid: &Hash32) -> Result<Option<(u32, u32)>, ReadError> {
    let prefix = txid_prefix(txid);
    let mut places = Vec::new();
    reader.scan(VOIDED_BY_TXID, &prefix, &prefix, |key, _| {
        places.extend(place_of_voided_txid_key(key));
        ControlFlow::Continue(())
    })?;
    for (height, position) in places.into_iter().rev() {
        let row = reader.get(VOIDED_BY_HEIGHT, &voided_key(height, position))?;
        let Some(row) = row else { continue };
        if read_txid(&row).map_err(|bad| bad.of(TABLE))? == *txid {
            return Ok(Some((height, position)));
        }
    }
    Ok(None)
}

/// The record of the transaction with that id; of several the latest.
pub(crate) fn record(
    reader: Reader<'_>,
    txid: &Hash32,
) -> Result<Option<TransactionRecord>, ReadError> {
    let Some((height, position)) = find(reader, txid)? else { return Ok(None) };
    let gone = || ReadError::Damaged("a row of header_by_height is gone".into());
    let block = read_block(reader, height)?.ok_or_else(gone)?;
    Ok(some(reader, &block, position, position + 1)?.pop().map(|(_, record)| record))
}
