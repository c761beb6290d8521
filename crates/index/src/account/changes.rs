//! What a block does to the rows, and how that is taken back.
//!
//! Leaves when, and the ends of what is held, to `store`. Invariants: disconnect removes exactly
//! the rows that connect and the traces wrote, and needs nothing but rows; no row is read to be
//! changed, so that blocks may come in any order and any number in one batch.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use chain::account::Address;

use super::facts::{Block, BlockFacts, Creation, Log, Operation, OperationKind, Status};
use super::facts::{Traced, Transaction};
use super::rows::{Retry, logs_bytes, operations_bytes, read_logs, read_operations};
use super::schema::{
    BLOCK_BY_HEIGHT, CREATION_BY_ADDRESS, HEIGHT_BY_HASH, HISTORY_BY_ADDRESS, LOGS_BY_PLACE,
    OPERATIONS_BY_PLACE, PLACE_BY_TX, TX_BY_PLACE, TxPlace, UNTRACED, address_key, block_key,
    tx_key, untraced_key,
};
use crate::db::{Batch, Reader};
use crate::{IndexError, ReadError};

/// Who takes part in a transaction as its logs and itself tell, each once: sender, receiver, the
/// contract that it created, who had and who has tokens.
pub(crate) fn participants(tx: &Transaction, logs: &[Log]) -> BTreeSet<Address> {
    let mut all = BTreeSet::from([tx.from]);
    all.extend(tx.to);
    all.extend(created(tx));
    let transfers = logs.iter().flat_map(Log::transfers);
    all.extend(transfers.flat_map(|transfer| [transfer.from, transfer.to]));
    all
}

/// The contract that a transaction created itself, if it is known to have done so.
pub(crate) fn created(tx: &Transaction) -> Option<Address> {
    tx.created.filter(|_| tx.status == Status::Success)
}

/// The contracts that its calls created, with their creators.
pub(crate) fn creations(operations: &[Operation]) -> impl Iterator<Item = (Address, Address)> {
    let creates = |kind| matches!(kind, OperationKind::Create | OperationKind::Create2);
    operations.iter().filter(move |it| creates(it.kind)).map(|it| (it.to, it.from))
}

/// Adds a block that is not traced yet.
pub(crate) fn connect(batch: &mut Batch<'_>, block: &Block) {
    let facts = &block.facts;
    batch.put(BLOCK_BY_HEIGHT, &facts.height.to_be_bytes(), &facts.bytes());
    batch.put(HEIGHT_BY_HASH, &block_key(&facts.hash, facts.height), &[]);
    for (index, (tx, logs)) in (0..).zip(&block.transactions) {
        let place = TxPlace { height: facts.height, index };
        batch.put(PLACE_BY_TX, &tx_key(&tx.hash, place), &[]);
        batch.put(TX_BY_PLACE, &place.key(), &tx.bytes());
        if !logs.is_empty() {
            batch.put(LOGS_BY_PLACE, &place.key(), &logs_bytes(logs));
        }
        for address in participants(tx, logs) {
            batch.put(HISTORY_BY_ADDRESS, &address_key(&address, place), &[]);
        }
        if let Some(address) = created(tx) {
            batch.put(CREATION_BY_ADDRESS, &address_key(&address, place), &tx.from.0);
        }
    }
    if facts.tx_count > 0 {
        batch.put(UNTRACED, &untraced_key(facts.height), &Retry::default().bytes());
    }
}

/// Adds what traces tell of a block's transactions; also of those whose receipts do not tell
/// whether they failed, if `decides`.
pub(crate) fn trace(
    reader: Reader<'_>,
    batch: &mut Batch<'_>,
    height: u32,
    traces: &[Traced],
    decides: bool,
) -> Result<(), IndexError> {
    for (index, traced) in (0..).zip(traces) {
        let place = TxPlace { height, index };
        let operations = &traced.operations;
        if !operations.is_empty() {
            batch.put(OPERATIONS_BY_PLACE, &place.key(), &operations_bytes(operations));
        }
        for address in operations.iter().flat_map(|it| [it.from, it.to]) {
            batch.put(HISTORY_BY_ADDRESS, &address_key(&address, place), &[]);
        }
        for (contract, creator) in creations(operations) {
            batch.put(CREATION_BY_ADDRESS, &address_key(&contract, place), &creator.0);
        }
        if decides {
            decide(reader, batch, place, traced)?;
        }
    }
    batch.delete(UNTRACED, &untraced_key(height));
    Ok(())
}

/// A trace decides what a receipt from before Byzantium does not.
fn decide(
    reader: Reader<'_>,
    batch: &mut Batch<'_>,
    place: TxPlace,
    traced: &Traced,
) -> Result<(), IndexError> {
    let Some(row) = reader.get(TX_BY_PLACE, &place.key())? else { return Ok(()) };
    let mut tx = Transaction::read(&row).map_err(|bad| bad.of("tx_by_place"))?;
    if tx.status != Status::Unknown {
        return Ok(());
    }
    tx.settle(traced.failed);
    if let Some(address) = created(&tx) {
        batch.put(HISTORY_BY_ADDRESS, &address_key(&address, place), &[]);
        batch.put(CREATION_BY_ADDRESS, &address_key(&address, place), &tx.from.0);
    }
    batch.put(TX_BY_PLACE, &place.key(), &tx.bytes());
    Ok(())
}

/// Takes a block back.
pub(crate) fn disconnect(
    reader: Reader<'_>,
    batch: &mut Batch<'_>,
    height: u32,
) -> Result<(), IndexError> {
    let facts = read_block(reader, height)?;
    let facts = facts.ok_or_else(|| IndexError::damaged("a row of block_by_height is gone"))?;
    for index in 0..facts.tx_count {
        let place = TxPlace { height, index };
        let tx = read_tx(reader, place)?;
        let tx = tx.ok_or_else(|| IndexError::damaged("a row of tx_by_place is gone"))?;
        let (logs, operations) = (logs_at(reader, place)?, operations_at(reader, place)?);
        let mut addresses = participants(&tx, &logs);
        addresses.extend(operations.iter().flat_map(|it| [it.from, it.to]));
        for address in addresses {
            batch.delete(HISTORY_BY_ADDRESS, &address_key(&address, place));
        }
        let contracts = creations(&operations).map(|(contract, _)| contract);
        for contract in contracts.chain(created(&tx)) {
            batch.delete(CREATION_BY_ADDRESS, &address_key(&contract, place));
        }
        batch.delete(PLACE_BY_TX, &tx_key(&tx.hash, place));
        for table in [TX_BY_PLACE, LOGS_BY_PLACE, OPERATIONS_BY_PLACE] {
            batch.delete(table, &place.key());
        }
    }
    batch.delete(HEIGHT_BY_HASH, &block_key(&facts.hash, height));
    batch.delete(BLOCK_BY_HEIGHT, &height.to_be_bytes());
    batch.delete(UNTRACED, &untraced_key(height));
    Ok(())
}

/// The block at a height.
pub(crate) fn read_block(reader: Reader<'_>, height: u32) -> Result<Option<BlockFacts>, ReadError> {
    let Some(row) = reader.get(BLOCK_BY_HEIGHT, &height.to_be_bytes())? else { return Ok(None) };
    BlockFacts::read(height, &row).map(Some).map_err(|bad| bad.of("block_by_height"))
}

/// The transaction at a place.
pub(crate) fn read_tx(
    reader: Reader<'_>,
    place: TxPlace,
) -> Result<Option<Transaction>, ReadError> {
    let Some(row) = reader.get(TX_BY_PLACE, &place.key())? else { return Ok(None) };
    Transaction::read(&row).map(Some).map_err(|bad| bad.of("tx_by_place"))
}

/// Its logs.
pub(crate) fn logs_at(reader: Reader<'_>, place: TxPlace) -> Result<Vec<Log>, ReadError> {
    match reader.get(LOGS_BY_PLACE, &place.key())? {
        Some(row) => read_logs(&row).map_err(|bad| bad.of("logs_by_place")),
        None => Ok(Vec::new()),
    }
}

/// What its calls did, as far as that is known.
pub(crate) fn operations_at(
    reader: Reader<'_>,
    place: TxPlace,
) -> Result<Vec<Operation>, ReadError> {
    match reader.get(OPERATIONS_BY_PLACE, &place.key())? {
        Some(row) => read_operations(&row).map_err(|bad| bad.of("operations_by_place")),
        None => Ok(Vec::new()),
    }
}

/// The latest creation of a contract.
pub(crate) fn creation_of(
    reader: Reader<'_>,
    contract: &Address,
) -> Result<Option<Creation>, ReadError> {
    let mut found = None;
    reader.scan(CREATION_BY_ADDRESS, &contract.0, &contract.0, |key, value| {
        let place = TxPlace::read_newest(key);
        let creator = <[u8; 20]>::try_from(value).ok().map(Address);
        found = Some(place.zip(creator));
        ControlFlow::Break(())
    })?;
    match found {
        None => Ok(None),
        Some(Some((TxPlace { height, index }, creator))) => {
            Ok(Some(Creation { creator, height, index }))
        }
        Some(None) => Err(ReadError::Damaged("a row of creation_by_address is odd".into())),
    }
}

/// The newest block that is not traced, of those up to `up_to`.
pub(crate) fn newest_untraced(
    reader: Reader<'_>,
    up_to: u32,
) -> Result<Option<(u32, Retry)>, ReadError> {
    let mut found = None;
    scan_untraced(reader, up_to, |height, retry| {
        found = Some((height, retry));
        ControlFlow::Break(())
    })?;
    Ok(found)
}

/// Visits the blocks that are not traced, newest first, from `from` down.
pub(crate) fn scan_untraced(
    reader: Reader<'_>,
    from: u32,
    mut visit: impl FnMut(u32, Retry) -> ControlFlow<()>,
) -> Result<(), ReadError> {
    let mut problem = None;
    reader.scan(UNTRACED, &[], &untraced_key(from), |key, value| {
        let height = <[u8; 4]>::try_from(key).map(|key| !u32::from_be_bytes(key));
        match (height, Retry::read(value)) {
            (Ok(height), Ok(retry)) => visit(height, retry),
            _ => {
                problem = Some(ReadError::Damaged("a row of untraced makes no sense".into()));
                ControlFlow::Break(())
            }
        }
    })?;
    problem.map_or(Ok(()), Err)
}
