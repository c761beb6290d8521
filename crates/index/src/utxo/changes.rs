//! What a change of the tip does to the rows, put together before anything is written.
//!
//! Leaves what transactions do to `effects`. A block that takes others back and adds some is one
//! change of each row. Invariants: adding and then taking back the same leaves every row byte for
//! byte as it was; a row that is made and goes again is never written.

use std::collections::HashMap;

use chain::Hash32;

use super::effects::{Effects, Step, Way};
use super::history::History;
use super::schema::{
    TOTALS_BY_SCRIPT, TX_BY_NUM, TXNUM_BY_TXID, UNSPENT_BY_SCRIPT, UnspentKey, UnspentRow, txid_key,
};
use super::script_id::ScriptId;
use super::totals::Totals;
use crate::IndexError;
use crate::db::{Batch, Reader};
use crate::row::u40;

/// What transactions change of one script.
#[derive(Debug, Default)]
struct Change {
    received: u128,
    sent: u128,
    /// Unspent outputs more and less.
    made: u64,
    unmade: u64,
    /// Transactions that touch it, ascending.
    txnums: Vec<u64>,
}

/// What becomes of an unspent output.
#[derive(Clone, Copy, Debug)]
enum Fate {
    /// It is put; whether a row of its key is there already.
    Put(UnspentRow, bool),
    /// Its row goes.
    Delete,
    /// It was made and is gone again; there is no row of it.
    Never,
}

/// An output that is to go and is not there, or is to be made and is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Astray {
    pub(crate) txid: Hash32,
    pub(crate) vout: u32,
}

impl Astray {
    /// The error of records that do not go together.
    pub(super) fn among_records(self) -> IndexError {
        IndexError::damaged(format!("the records spend {}:{} twice", self.txid, self.vout))
    }
}

/// Changes of the rows of transactions and scripts.
pub(crate) struct Changes<'a, 'b> {
    batch: &'a mut Batch<'b>,
    way: Way,
    taken: HashMap<ScriptId, Change>,
    added: HashMap<ScriptId, Change>,
    unspent: HashMap<UnspentKey, Fate>,
}

impl<'a, 'b> Changes<'a, 'b> {
    /// None yet. Records and ids go into the batch as they are told, all else at the end.
    pub(crate) fn new(batch: &'a mut Batch<'b>) -> Changes<'a, 'b> {
        let (taken, added) = (HashMap::new(), HashMap::new());
        Changes { batch, way: Way::Forward, taken, added, unspent: HashMap::new() }
    }

    /// What is told from here on is added, or taken back. What is taken back comes first.
    pub(crate) fn going(&mut self, way: Way) -> &mut Changes<'a, 'b> {
        self.way = way;
        self
    }

    /// The batch that all goes into.
    pub(crate) fn batch(&mut self) -> &mut Batch<'b> {
        self.batch
    }

    /// Whether an output will be unspent, as far as the changes told up to here say.
    pub(crate) fn is_unspent(
        &self,
        reader: Reader<'_>,
        key: &UnspentKey,
    ) -> Result<bool, IndexError> {
        match self.unspent.get(key) {
            Some(Fate::Put(..)) => Ok(true),
            Some(Fate::Delete | Fate::Never) => Ok(false),
            None => Ok(reader.get(UNSPENT_BY_SCRIPT, &key.bytes())?.is_some()),
        }
    }

    fn change(&mut self, script: ScriptId) -> &mut Change {
        match self.way {
            Way::Forward => self.added.entry(script).or_default(),
            Way::Back => self.taken.entry(script).or_default(),
        }
    }

    /// Puts the rows that follow into the batch.
    pub(crate) fn finish(self, reader: Reader<'_>) -> Result<(), IndexError> {
        let Changes { batch, mut taken, mut added, unspent, .. } = self;
        for (key, fate) in &unspent {
            match fate {
                Fate::Put(row, _) => batch.put(UNSPENT_BY_SCRIPT, &key.bytes(), &row.bytes()),
                Fate::Delete => batch.delete(UNSPENT_BY_SCRIPT, &key.bytes()),
                Fate::Never => {}
            }
        }
        let mut scripts: Vec<ScriptId> = taken.keys().chain(added.keys()).copied().collect();
        scripts.sort_unstable();
        scripts.dedup();
        let keys: Vec<[u8; 10]> = scripts.iter().map(|script| script.0).collect();
        let rows = reader.multi_get(TOTALS_BY_SCRIPT, &keys)?;
        for (script, row) in scripts.into_iter().zip(rows) {
            let totals = match row {
                Some(row) => Totals::read(&row).map_err(|bad| bad.of("totals_by_script"))?,
                None => Totals::default(),
            };
            let mut rows = ScriptRows::of(reader, script, totals);
            if let Some(change) = taken.remove(&script) {
                rows.take_back(&change)?;
            }
            if let Some(change) = added.remove(&script) {
                rows.add(&change)?;
            }
            rows.put(batch);
        }
        Ok(())
    }
}

impl Effects for Changes<'_, '_> {
    type Error = Astray;

    fn stands(&mut self, step: &Step) {
        let (txnum, id) = (u40(step.txnum), txid_key(&step.record.txid, step.txnum));
        match self.way {
            Way::Forward => {
                self.batch.put(TX_BY_NUM, &txnum, &step.record.bytes(step.txnum));
                self.batch.put(TXNUM_BY_TXID, &id, &[]);
            }
            Way::Back => {
                self.batch.delete(TX_BY_NUM, &txnum);
                self.batch.delete(TXNUM_BY_TXID, &id);
            }
        }
    }

    fn make(&mut self, key: &UnspentKey, row: &UnspentRow) -> Result<(), Astray> {
        let there = match self.unspent.get(key) {
            None | Some(Fate::Never) => false,
            Some(Fate::Delete) => true,
            Some(Fate::Put(..)) => return Err(Astray { txid: row.txid, vout: key.vout }),
        };
        self.unspent.insert(*key, Fate::Put(*row, there));
        let forward = self.way == Way::Forward;
        let change = self.change(key.script);
        if forward {
            change.made += 1
        } else {
            change.unmade += 1
        }
        Ok(())
    }

    /// That an earlier block left the output unspent is the node's to check: a read for each input
    /// would double what a block costs. Only what goes twice is noticed.
    fn unmake(&mut self, key: &UnspentKey, row: &UnspentRow) -> Result<(), Astray> {
        let fate = match self.unspent.get(key) {
            None | Some(Fate::Put(_, true)) => Fate::Delete,
            Some(Fate::Put(_, false)) => Fate::Never,
            Some(Fate::Delete | Fate::Never) => {
                return Err(Astray { txid: row.txid, vout: key.vout });
            }
        };
        self.unspent.insert(*key, fate);
        let forward = self.way == Way::Forward;
        let change = self.change(key.script);
        if forward {
            change.unmade += 1
        } else {
            change.made += 1
        }
        Ok(())
    }

    fn pay(&mut self, script: ScriptId, value: u64) {
        self.change(script).received += u128::from(value);
    }

    fn spend(&mut self, script: ScriptId, value: u64) {
        self.change(script).sent += u128::from(value);
    }

    fn touch(&mut self, script: ScriptId, txnum: u64) {
        self.change(script).txnums.push(txnum);
    }
}

/// The rows of one script.
struct ScriptRows<'a> {
    script: ScriptId,
    totals: Totals,
    history: History<'a>,
    was: u64,
}

impl<'a> ScriptRows<'a> {
    fn of(reader: Reader<'a>, script: ScriptId, mut totals: Totals) -> ScriptRows<'a> {
        let inline = std::mem::take(&mut totals.inline);
        let history = History::of(reader, script, totals.tx_count, inline);
        ScriptRows { script, was: totals.tx_count, totals, history }
    }

    fn add(&mut self, change: &Change) -> Result<(), IndexError> {
        let totals = &mut self.totals;
        totals.tx_count += change.txnums.len() as u64;
        totals.received += change.received;
        totals.sent += change.sent;
        totals.unspent_count =
            (totals.unspent_count + change.made).checked_sub(change.unmade).ok_or_else(short)?;
        self.history.append(&change.txnums)
    }

    fn take_back(&mut self, change: &Change) -> Result<(), IndexError> {
        let totals = &mut self.totals;
        let count = change.txnums.len() as u64;
        totals.tx_count = totals.tx_count.checked_sub(count).ok_or_else(short)?;
        totals.received = totals.received.checked_sub(change.received).ok_or_else(short)?;
        totals.sent = totals.sent.checked_sub(change.sent).ok_or_else(short)?;
        totals.unspent_count =
            (totals.unspent_count + change.unmade).checked_sub(change.made).ok_or_else(short)?;
        self.history.cut(totals.tx_count)
    }

    fn put(self, batch: &mut Batch<'_>) {
        let ScriptRows { script, mut totals, history, was } = self;
        totals.inline = history.put(batch);
        match (totals.tx_count, was) {
            (0, 0) => {}
            (0, _) => batch.delete(TOTALS_BY_SCRIPT, &script.0),
            _ => batch.put(TOTALS_BY_SCRIPT, &script.0, &totals.bytes()),
        }
    }
}

/// More is taken away than there is.
fn short() -> IndexError {
    IndexError::damaged("totals_by_script has less than what a block takes from it")
}
