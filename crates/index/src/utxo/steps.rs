//! Transactions of the index with the outputs that they spend, read back from rows.
//!
//! Invariant: nothing but rows is needed, so that a block is taken back without its node.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::effects::{SpentOutput, Step};
use super::previous::PreviousRecords;
use super::record::TransactionRecord;
use super::schema::TX_BY_NUM;
use super::txids::place_before;
use crate::IndexError;
use crate::db::Reader;
use crate::row::{of_u40, u40};

/// Records by their places.
pub(crate) type Records = BTreeMap<u64, TransactionRecord>;

/// The records from `first` up to `end`.
pub(crate) fn records(reader: Reader<'_>, first: u64, end: u64) -> Result<Records, IndexError> {
    let mut records = Records::new();
    let mut problem = None;
    reader.scan(TX_BY_NUM, &[], &u40(first), |key, value| {
        let txnum = key.try_into().map(of_u40).unwrap_or(u64::MAX);
        if txnum >= end {
            return ControlFlow::Break(());
        }
        match TransactionRecord::read(txnum, value) {
            Ok(record) => drop(records.insert(txnum, record)),
            Err(bad) => problem = Some(bad.of("tx_by_num")),
        }
        if problem.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    match problem {
        Some(problem) => Err(problem.into()),
        None if records.len() as u64 == end - first => Ok(records),
        None => Err(IndexError::damaged("records of tx_by_num are gone")),
    }
}

/// Finds the outputs that records spend, in each other and in earlier ones.
pub(crate) fn steps(reader: Reader<'_>, records: Records) -> Result<Vec<Step>, IndexError> {
    let inputs = records.values().flat_map(|record| &record.inputs);
    let earlier = inputs.map(|input| input.txnum).filter(|txnum| !records.contains_key(txnum));
    let earlier = PreviousRecords::load(reader, earlier)?;
    let mut spent = Vec::with_capacity(records.len());
    for record in records.values() {
        let found = record.inputs.iter().map(|input| {
            let spent = match records.get(&input.txnum) {
                Some(own) => own.spent(input.vout),
                None => earlier.output(input.txnum, input.vout)?,
            };
            let gone = || IndexError::damaged("a spent output of tx_by_num is gone");
            let (txnum, vout) = (input.txnum, input.vout);
            Ok(SpentOutput { txnum, vout, spent: spent.ok_or_else(gone)? })
        });
        spent.push(found.collect::<Result<Vec<SpentOutput>, IndexError>>()?);
    }
    let mut steps = Vec::with_capacity(records.len());
    for ((txnum, record), spent) in records.into_iter().zip(spent) {
        let twin = match record.replaced.is_empty() {
            true => None,
            false => Some(twin_of(reader, &record, txnum)?),
        };
        steps.push(Step { txnum, record, spent, twin });
    }
    Ok(steps)
}

fn twin_of(reader: Reader<'_>, record: &TransactionRecord, txnum: u64) -> Result<u64, IndexError> {
    let twin = place_before(reader, &record.txid, txnum)?;
    twin.ok_or_else(|| IndexError::damaged("a twin of tx_by_num is gone"))
}
