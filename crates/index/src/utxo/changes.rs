//! What one block changes of its scripts, and the rows that follow.
//!
//! Leaves what a block changes to `connect` and `disconnect`. Invariant: adding and then taking
//! back the same changes leaves totals and history byte for byte as they were.

use std::collections::HashMap;

use super::history::{CHUNK, INLINE, chunk_bytes, chunk_of, read_chunk};
use super::schema::{HISTORY_BY_SCRIPT, TOTALS_BY_SCRIPT, chunk_key};
use super::script_id::ScriptId;
use super::totals::Totals;
use crate::IndexError;
use crate::db::{Batch, Reader};

/// What a block changes of one script.
#[derive(Debug, Default)]
pub(crate) struct Change {
    received: u128,
    sent: u128,
    created: u64,
    spent: u64,
    /// Transactions of the block that touch it, ascending.
    txnums: Vec<u64>,
}

/// What a block changes of all its scripts.
#[derive(Debug, Default)]
pub(crate) struct Changes(HashMap<ScriptId, Change>);

/// Whether changes are added or taken back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Connect,
    Disconnect,
}

impl Changes {
    fn touch(&mut self, script: ScriptId, txnum: u64) -> &mut Change {
        let change = self.0.entry(script).or_default();
        if change.txnums.last() != Some(&txnum) {
            change.txnums.push(txnum);
        }
        change
    }

    /// An output pays the script. Transactions come in ascending order.
    pub(crate) fn pay(&mut self, script: ScriptId, txnum: u64, value: u64) {
        let change = self.touch(script, txnum);
        change.received += u128::from(value);
        change.created += 1;
    }

    /// An output takes the place of the same unspent output of an earlier twin.
    pub(crate) fn replace(&mut self, script: ScriptId, txnum: u64) {
        self.touch(script, txnum);
    }

    /// An input spends an output of the script.
    pub(crate) fn spend(&mut self, script: ScriptId, txnum: u64, value: u64) {
        let change = self.touch(script, txnum);
        change.sent += u128::from(value);
        change.spent += 1;
    }

    /// Puts the rows that follow into a batch.
    pub(crate) fn apply(
        self,
        reader: Reader<'_>,
        batch: &mut Batch<'_>,
        direction: Direction,
    ) -> Result<(), IndexError> {
        let mut changes: Vec<(ScriptId, Change)> = self.0.into_iter().collect();
        changes.sort_unstable_by_key(|(script, _)| *script);
        let keys: Vec<[u8; 10]> = changes.iter().map(|(script, _)| script.0).collect();
        let rows = reader.multi_get(TOTALS_BY_SCRIPT, &keys)?;
        for ((script, change), row) in changes.into_iter().zip(rows) {
            let totals = match row {
                Some(row) => Totals::read(&row).map_err(|bad| bad.of("totals_by_script"))?,
                None => Totals::default(),
            };
            let mut rows = ScriptRows { reader, batch: &mut *batch, script, totals };
            match direction {
                Direction::Connect => rows.add(&change),
                Direction::Disconnect => rows.take_back(&change),
            }?;
        }
        Ok(())
    }
}

/// The rows of one script.
struct ScriptRows<'a, 'b> {
    reader: Reader<'a>,
    batch: &'a mut Batch<'b>,
    script: ScriptId,
    totals: Totals,
}

impl ScriptRows<'_, '_> {
    fn add(&mut self, change: &Change) -> Result<(), IndexError> {
        let before = self.totals.tx_count;
        let totals = &mut self.totals;
        totals.tx_count += change.txnums.len() as u64;
        totals.received += change.received;
        totals.sent += change.sent;
        totals.unspent_count =
            (totals.unspent_count + change.created).checked_sub(change.spent).ok_or_else(short)?;
        if totals.tx_count <= INLINE as u64 {
            append(&mut totals.inline, &change.txnums)?;
        } else {
            self.append(before, &change.txnums)?;
        }
        self.batch.put(TOTALS_BY_SCRIPT, &self.script.0, &self.totals.bytes());
        Ok(())
    }

    /// Appends to the chunks of a history that had `before` transactions.
    fn append(&mut self, before: u64, txnums: &[u64]) -> Result<(), IndexError> {
        let mut tail = if before <= INLINE as u64 {
            std::mem::take(&mut self.totals.inline)
        } else if before.is_multiple_of(CHUNK) {
            Vec::new()
        } else {
            self.chunk(chunk_of(before), before)?
        };
        let first = chunk_of(before - tail.len() as u64);
        append(&mut tail, txnums)?;
        for (chunk, txnums) in (first..).zip(tail.chunks(CHUNK as usize)) {
            self.put_chunk(chunk, txnums);
        }
        Ok(())
    }

    fn take_back(&mut self, change: &Change) -> Result<(), IndexError> {
        let before = self.totals.tx_count;
        let totals = &mut self.totals;
        let after = before.checked_sub(change.txnums.len() as u64).ok_or_else(short)?;
        totals.tx_count = after;
        totals.received = totals.received.checked_sub(change.received).ok_or_else(short)?;
        totals.sent = totals.sent.checked_sub(change.sent).ok_or_else(short)?;
        totals.unspent_count =
            (totals.unspent_count + change.spent).checked_sub(change.created).ok_or_else(short)?;
        if before <= INLINE as u64 {
            totals.inline.truncate(after as usize);
        } else {
            self.cut(before, after)?;
        }
        match after {
            0 => self.batch.delete(TOTALS_BY_SCRIPT, &self.script.0),
            _ => self.batch.put(TOTALS_BY_SCRIPT, &self.script.0, &self.totals.bytes()),
        }
        Ok(())
    }

    /// Cuts chunks of `before` transactions to `after`.
    fn cut(&mut self, before: u64, after: u64) -> Result<(), IndexError> {
        let mut kept = 0;
        if after <= INLINE as u64 {
            self.totals.inline = self.chunk(0, before)?;
            self.totals.inline.truncate(after as usize);
        } else {
            let last = chunk_of(after - 1);
            let mut txnums = self.chunk(last, before)?;
            txnums.truncate((after - u64::from(last) * CHUNK) as usize);
            self.put_chunk(last, &txnums);
            kept = last + 1;
        }
        for chunk in kept..=chunk_of(before - 1) {
            self.batch.delete(HISTORY_BY_SCRIPT, &chunk_key(self.script, chunk));
        }
        Ok(())
    }

    /// A chunk of a history of `count` transactions.
    fn chunk(&self, chunk: u32, count: u64) -> Result<Vec<u64>, IndexError> {
        let row = self.reader.get(HISTORY_BY_SCRIPT, &chunk_key(self.script, chunk))?;
        let row = row.ok_or_else(|| IndexError::damaged("a chunk of history_by_script is gone"))?;
        let txnums = read_chunk(&row).map_err(|bad| bad.of("history_by_script"))?;
        if txnums.len() as u64 != CHUNK.min(count - u64::from(chunk) * CHUNK) {
            return Err(IndexError::damaged("a chunk of history_by_script is short"));
        }
        Ok(txnums)
    }

    fn put_chunk(&mut self, chunk: u32, txnums: &[u64]) {
        let key = chunk_key(self.script, chunk);
        self.batch.put(HISTORY_BY_SCRIPT, &key, &chunk_bytes(txnums));
    }
}

/// Appends a block's txnums to earlier ones, which are lower unless the index is damaged.
fn append(earlier: &mut Vec<u64>, txnums: &[u64]) -> Result<(), IndexError> {
    if earlier.last().zip(txnums.first()).is_some_and(|(last, next)| last >= next) {
        return Err(IndexError::damaged("a history has transactions above the tip"));
    }
    earlier.extend_from_slice(txnums);
    Ok(())
}

/// More is taken away than there is.
fn short() -> IndexError {
    IndexError::damaged("totals_by_script has less than what a block takes from it")
}
