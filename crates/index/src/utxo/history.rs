//! The transactions of one script: a few in its totals, else chunks of 1,000.
//!
//! Which transaction is in which chunk stands here alone. Leaves how lists are written to `txnums`,
//! committing to its callers. Invariant: the layout follows from the list alone, however it came
//! about, so that taking a block back restores every byte.

use super::schema::{HISTORY_BY_SCRIPT, chunk_key};
use super::script_id::ScriptId;
use super::totals::Totals;
use super::txnums::{CHUNK, is_inline, put_txnums, read_txnums};
use crate::db::{Batch, Reader};
use crate::row::{BadRow, RowReader};
use crate::{IndexError, ReadError};

/// The chunk of the `ordinal`th transaction, counted from the oldest.
pub(crate) fn chunk_of(ordinal: u64) -> u32 {
    (ordinal / CHUNK) as u32
}

/// The ordinal that a chunk begins with.
fn chunk_start(chunk: u32) -> u64 {
    u64::from(chunk) * CHUNK
}

/// How many txnums a chunk of a history of that length has.
pub(crate) fn chunk_length(chunk: u32, tx_count: u64) -> u64 {
    if is_inline(tx_count) {
        return 0;
    }
    CHUNK.min(tx_count.saturating_sub(chunk_start(chunk)))
}

/// The value of a chunk.
pub(crate) fn chunk_bytes(txnums: &[u64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(txnums.len() * 3 + 5);
    put_txnums(&mut out, txnums);
    out
}

/// Reads a chunk.
pub(crate) fn read_chunk(row: &[u8]) -> Result<Vec<u64>, BadRow> {
    read_txnums(&mut RowReader::new(row))
}

/// The chunk of a history of `tx_count` transactions.
fn stored_chunk(
    reader: Reader<'_>,
    script: ScriptId,
    chunk: u32,
    tx_count: u64,
) -> Result<Vec<u64>, ReadError> {
    let damaged =
        |what: &str| ReadError::Damaged(format!("a chunk of history_by_script is {what}"));
    let row = reader.get(HISTORY_BY_SCRIPT, &chunk_key(script, chunk))?;
    let txnums = read_chunk(&row.ok_or_else(|| damaged("gone"))?);
    let txnums = txnums.map_err(|bad| bad.of("history_by_script"))?;
    match txnums.len() as u64 == chunk_length(chunk, tx_count) {
        true => Ok(txnums),
        false => Err(damaged("short")),
    }
}

/// The `start`th transaction up to the `end`th, counted from the oldest.
pub(crate) fn part(
    reader: Reader<'_>,
    script: ScriptId,
    totals: &Totals,
    start: u64,
    end: u64,
) -> Result<Vec<u64>, ReadError> {
    if start >= end {
        return Ok(Vec::new());
    }
    if is_inline(totals.tx_count) {
        return Ok(totals.inline[start as usize..end as usize].to_vec());
    }
    let mut txnums = Vec::new();
    for chunk in chunk_of(start)..=chunk_of(end - 1) {
        let all = stored_chunk(reader, script, chunk, totals.tx_count)?;
        let first = chunk_start(chunk);
        let from = start.saturating_sub(first) as usize;
        let to = (end - first).min(all.len() as u64) as usize;
        txnums.extend_from_slice(&all[from..to]);
    }
    Ok(txnums)
}

/// The history of one script while it changes: its end, from where it is known on.
pub(crate) struct History<'a> {
    reader: Reader<'a>,
    script: ScriptId,
    /// How long it is in the store.
    was: u64,
    /// The ordinal that `tail` begins with: of a chunk, or the end while nothing was read.
    start: u64,
    tail: Vec<u64>,
}

impl<'a> History<'a> {
    /// A history of that length, with what the totals have of it.
    pub(crate) fn of(
        reader: Reader<'a>,
        script: ScriptId,
        was: u64,
        inline: Vec<u64>,
    ) -> History<'a> {
        let start = if is_inline(was) { 0 } else { was };
        History { reader, script, was, start, tail: inline }
    }

    /// Adds transactions, which are later ones unless the index is damaged.
    pub(crate) fn append(&mut self, txnums: &[u64]) -> Result<(), IndexError> {
        if !self.start.is_multiple_of(CHUNK) {
            self.read(chunk_of(self.start))?;
        }
        if self.tail.last().zip(txnums.first()).is_some_and(|(last, next)| last >= next) {
            return Err(IndexError::damaged("a history has transactions above the tip"));
        }
        self.tail.extend_from_slice(txnums);
        Ok(())
    }

    /// Cuts it to a length that it has already.
    pub(crate) fn cut(&mut self, length: u64) -> Result<(), IndexError> {
        match length.checked_sub(1) {
            None => (self.start, self.tail) = (0, Vec::new()),
            Some(last) if length < self.start => self.read(chunk_of(last))?,
            Some(_) => {}
        }
        self.tail.truncate((length - self.start) as usize);
        Ok(())
    }

    fn read(&mut self, chunk: u32) -> Result<(), IndexError> {
        self.tail = stored_chunk(self.reader, self.script, chunk, self.was)?;
        self.start = chunk_start(chunk);
        Ok(())
    }

    /// Puts its chunks into a batch, and gives what stands in the totals.
    pub(crate) fn put(self, batch: &mut Batch<'_>) -> Vec<u64> {
        let length = self.start + self.tail.len() as u64;
        let mut kept = 0;
        if !is_inline(length) {
            for (chunk, txnums) in (chunk_of(self.start)..).zip(self.tail.chunks(CHUNK as usize)) {
                let key = chunk_key(self.script, chunk);
                batch.put(HISTORY_BY_SCRIPT, &key, &chunk_bytes(txnums));
            }
            kept = chunk_of(length - 1) + 1;
        }
        if !is_inline(self.was) {
            for chunk in kept..=chunk_of(self.was - 1) {
                batch.delete(HISTORY_BY_SCRIPT, &chunk_key(self.script, chunk));
            }
        }
        if is_inline(length) { self.tail } else { Vec::new() }
    }
}

/// A history that is written from its first transaction to its last.
#[derive(Default)]
pub(crate) struct Growing {
    length: u64,
    /// Txnums that are in no full chunk.
    tail: Vec<u64>,
}

impl Growing {
    /// How long it is.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Adds the next transaction; gives a chunk that is full by now.
    pub(crate) fn push(&mut self, txnum: u64) -> Option<(u32, Vec<u8>)> {
        self.length += 1;
        self.tail.push(txnum);
        (self.tail.len() as u64 == CHUNK).then(|| self.take())
    }

    fn take(&mut self) -> (u32, Vec<u8>) {
        let chunk = (chunk_of(self.length - 1), chunk_bytes(&self.tail));
        self.tail.clear();
        chunk
    }

    /// The last chunk, where there is one that is not full.
    pub(crate) fn last(&mut self) -> Option<(u32, Vec<u8>)> {
        (!is_inline(self.length) && !self.tail.is_empty()).then(|| self.take())
    }

    /// What stands in the totals.
    pub(crate) fn inline(&self) -> &[u64] {
        if is_inline(self.length) { &self.tail } else { &[] }
    }

    /// Begins that of another script.
    pub(crate) fn clear(&mut self) {
        self.length = 0;
        self.tail.clear();
    }
}
