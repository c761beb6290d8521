//! The walk over the rows of scripts, all three tables side by side.
//!
//! Leaves to the sums whether the rows are those of the records. Holds the layout: what is inline
//! and what is in chunks follows from the number of transactions alone.

use super::{Audit, Told};
use crate::ReadError;
use crate::db::Rows;
use crate::faults::Faults;
use crate::utxo::history::{chunk_bytes, chunk_length, read_chunk};
use crate::utxo::schema::{
    HISTORY_BY_SCRIPT, TOTALS_BY_SCRIPT, UNSPENT_BY_SCRIPT, UnspentKey, UnspentRow,
};
use crate::utxo::script_id::ScriptId;
use crate::utxo::store::Store;
use crate::utxo::totals::Totals;
use crate::utxo::txnums::is_inline;

const TOTALS: &str = "totals_by_script";
const HISTORY: &str = "history_by_script";
const UNSPENT: &str = "unspent_by_script";
/// Scripts between two words on how far a walk is.
const TOLD_EVERY: u64 = 1 << 16;

/// What the walk counted.
#[derive(Default)]
pub(super) struct Walked {
    pub(super) scripts: u64,
    pub(super) unspent_outputs: u64,
    pub(super) unspent_total: u128,
}

impl Store {
    pub(super) fn walk_scripts(
        &self,
        found: &mut impl Audit,
        faults: &mut Faults,
        told: &mut Told<'_>,
    ) -> Result<Walked, ReadError> {
        let reader = self.db().latest();
        let mut walk = Walk {
            totals: reader.rows(TOTALS_BY_SCRIPT),
            history: reader.rows(HISTORY_BY_SCRIPT),
            unspent: reader.rows(UNSPENT_BY_SCRIPT),
            walked: Walked::default(),
            found,
            faults,
        };
        while let Some(script) = walk.next_script()? {
            walk.script(script)?;
            if walk.walked.scripts.is_multiple_of(TOLD_EVERY) {
                told(walk.walked.scripts, None);
            }
        }
        told(walk.walked.scripts, Some(walk.walked.scripts));
        Ok(walk.walked)
    }
}

struct Walk<'a, A> {
    totals: Rows<'a>,
    history: Rows<'a>,
    unspent: Rows<'a>,
    walked: Walked,
    found: &'a mut A,
    faults: &'a mut Faults,
}

/// Steps over rows whose keys are too short to be any script's.
fn script_of(
    rows: &mut Rows<'_>,
    table: &str,
    faults: &mut Faults,
) -> Result<Option<ScriptId>, ReadError> {
    while let Some((key, _)) = rows.here()? {
        if let Some(script) = key.first_chunk() {
            return Ok(Some(ScriptId(*script)));
        }
        faults.tell(table, key, "is no key of this table");
        rows.step();
    }
    Ok(None)
}

impl<A: Audit> Walk<'_, A> {
    /// The lowest script that any of the tables goes on with.
    fn next_script(&mut self) -> Result<Option<ScriptId>, ReadError> {
        let heads = [
            script_of(&mut self.totals, TOTALS, self.faults)?,
            script_of(&mut self.history, HISTORY, self.faults)?,
            script_of(&mut self.unspent, UNSPENT, self.faults)?,
        ];
        Ok(heads.into_iter().flatten().min())
    }

    fn script(&mut self, script: ScriptId) -> Result<(), ReadError> {
        let mut totals = None;
        while let Some((key, value)) = self.totals.here()? {
            if !key.starts_with(&script.0) {
                break;
            }
            let read = Totals::read(value).ok().filter(|totals| totals.bytes() == value);
            match read {
                Some(read) if key == script.0 => {
                    self.found.found_totals(script, &read);
                    if is_inline(read.tx_count) {
                        self.found.found_history(script, 0, &read.inline);
                    }
                    totals = Some(read);
                }
                _ => self.faults.tell(TOTALS, key, "makes no sense"),
            }
            self.walked.scripts += 1;
            self.totals.step();
        }
        self.chunks(script, totals.map(|totals| totals.tx_count))?;
        self.unspent_of(script)
    }

    /// The chunks of a script that has so many transactions.
    fn chunks(&mut self, script: ScriptId, tx_count: Option<u64>) -> Result<(), ReadError> {
        let tx_count = tx_count.unwrap_or(0);
        let in_chunks = if is_inline(tx_count) { 0 } else { tx_count };
        let (mut expected, mut listed, mut last) = (0u32, 0u64, 0u64);
        while let Some((key, value)) = self.history.here()? {
            let Some(rest) = key.strip_prefix(&script.0) else { break };
            let chunk = <[u8; 4]>::try_from(rest).map(u32::from_be_bytes);
            let txnums = read_chunk(value).ok().filter(|txnums| chunk_bytes(txnums) == value);
            match (chunk, txnums) {
                (Ok(chunk), Some(txnums)) => {
                    let length = chunk_length(chunk, tx_count);
                    let ascending = txnums.first().is_some_and(|first| *first > last);
                    let full = txnums.len() as u64 == length && !txnums.is_empty();
                    if chunk != expected || !full || !ascending {
                        self.faults.tell(HISTORY, key, "is not at its place, or not full");
                    }
                    self.found.found_history(script, chunk, &txnums);
                    last = txnums.last().copied().unwrap_or(last);
                    listed += txnums.len() as u64;
                    expected = chunk.saturating_add(1);
                }
                _ => self.faults.tell(HISTORY, key, "makes no sense"),
            }
            self.history.step();
        }
        if listed != in_chunks {
            let what = format!("chunks list {listed} transactions, not {in_chunks}");
            self.faults.tell(HISTORY, &script.0, what);
        }
        Ok(())
    }

    fn unspent_of(&mut self, script: ScriptId) -> Result<(), ReadError> {
        while let Some((key, value)) = self.unspent.here()? {
            if !key.starts_with(&script.0) {
                break;
            }
            match (key.try_into(), UnspentKey::read(key)) {
                (Ok(bytes), Some(read)) => {
                    self.found.found_unspent(bytes, value);
                    self.walked.unspent_total += u128::from(read.value);
                }
                _ => self.faults.tell(UNSPENT, key, "is no key of this table"),
            }
            if UnspentRow::read(value).is_none() {
                self.faults.tell(UNSPENT, key, "makes no sense");
            }
            self.walked.unspent_outputs += 1;
            self.unspent.step();
        }
        Ok(())
    }
}
