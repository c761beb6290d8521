//! Rows as they should be, in memory: those whose sums differ.
//!
//! Invariant: after all records and then all rows were seen, what is left are rows that are not
//! there.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher24};

use super::Audit;
use crate::faults::Faults;
use crate::sums::bucket;
use crate::utxo::effects::{Effects, Step};
use crate::utxo::history::chunk_of;
use crate::utxo::schema::{UnspentKey, UnspentRow, chunk_key, txid_key};
use crate::utxo::script_id::ScriptId;
use crate::utxo::totals::Totals;
use crate::utxo::txnums::is_inline;

/// Rows of some parts.
#[derive(Default)]
pub(super) struct Exact {
    buckets: BTreeSet<usize>,
    ids: BTreeSet<[u8; 11]>,
    /// Without the inline transactions, which stand among the chunks.
    totals: BTreeMap<ScriptId, Totals>,
    /// A hash over each chunk's transactions in order.
    chunks: BTreeMap<(ScriptId, u32), SipHasher24>,
    unspent: BTreeMap<[u8; 26], [u8; 33]>,
    faults: Vec<(&'static str, Vec<u8>, String)>,
}

impl Exact {
    /// The rows whose keys are in these parts.
    pub(super) fn of(buckets: &BTreeSet<usize>) -> Exact {
        Exact { buckets: buckets.clone(), ..Exact::default() }
    }

    fn takes(&self, key: &[u8]) -> bool {
        self.buckets.contains(&bucket(key))
    }

    fn totals_of(&mut self, script: ScriptId) -> Option<&mut Totals> {
        self.takes(&script.0).then(|| self.totals.entry(script).or_default())
    }

    fn fault(&mut self, table: &'static str, key: &[u8], what: impl Into<String>) {
        self.faults.push((table, key.to_vec(), what.into()));
    }

    /// Tells what was wrong, and which rows are not there.
    pub(super) fn tell(self, faults: &mut Faults) {
        const GONE: &str = "is not there";
        for (table, key, what) in self.faults {
            faults.tell(table, &key, what);
        }
        self.ids.iter().for_each(|key| faults.tell("txnum_by_txid", key, GONE));
        self.totals.keys().for_each(|script| faults.tell("totals_by_script", &script.0, GONE));
        for (script, chunk) in self.chunks.keys() {
            // A chunk 0 that was not seen is told with the totals, or is one of its own.
            faults.tell("history_by_script", &chunk_key(*script, *chunk), GONE);
        }
        self.unspent.keys().for_each(|key| faults.tell("unspent_by_script", key, GONE));
    }
}

impl Effects for Exact {
    type Error = Infallible;

    fn stands(&mut self, step: &Step) {
        let key = txid_key(&step.record.txid, step.txnum);
        if self.takes(&key) {
            self.ids.insert(key);
        }
    }

    fn touch(&mut self, script: ScriptId, txnum: u64) {
        let Some(totals) = self.totals_of(script) else { return };
        let chunk = chunk_of(totals.tx_count);
        totals.tx_count += 1;
        self.chunks.entry((script, chunk)).or_default().write_u64(txnum);
    }

    fn pay(&mut self, script: ScriptId, value: u64) {
        if let Some(totals) = self.totals_of(script) {
            totals.received += u128::from(value);
        }
    }

    fn spend(&mut self, script: ScriptId, value: u64) {
        if let Some(totals) = self.totals_of(script) {
            totals.sent += u128::from(value);
        }
    }

    fn make(&mut self, key: &UnspentKey, row: &UnspentRow) -> Result<(), Infallible> {
        if let Some(totals) = self.totals_of(key.script) {
            totals.unspent_count = totals.unspent_count.wrapping_add(1);
            self.unspent.insert(key.bytes(), row.bytes());
        }
        Ok(())
    }

    fn unmake(&mut self, key: &UnspentKey, _row: &UnspentRow) -> Result<(), Infallible> {
        if let Some(totals) = self.totals_of(key.script) {
            totals.unspent_count = totals.unspent_count.wrapping_sub(1);
            let key = key.bytes();
            if self.unspent.remove(&key).is_none() {
                self.fault("unspent_by_script", &key, "the records spend this output twice");
            }
        }
        Ok(())
    }
}

impl Audit for Exact {
    fn found_id(&mut self, key: &[u8; 11]) {
        if self.takes(key) && !self.ids.remove(key) {
            self.fault("txnum_by_txid", key, "names no such transaction");
        }
    }

    fn found_totals(&mut self, script: ScriptId, found: &Totals) {
        if !self.takes(&script.0) {
            return;
        }
        let what = match self.totals.remove(&script) {
            None => "no record touches this script".into(),
            Some(recounted) => {
                let found = Totals { inline: Vec::new(), ..found.clone() };
                if recounted == found {
                    return;
                }
                format!("has {found:?}, recounted {recounted:?}")
            }
        };
        self.fault("totals_by_script", &script.0, what);
    }

    fn found_history(&mut self, script: ScriptId, chunk: u32, txnums: &[u64]) {
        if !self.takes(&script.0) {
            return;
        }
        let mut hasher = SipHasher24::default();
        txnums.iter().for_each(|txnum| hasher.write_u64(*txnum));
        let recounted = self.chunks.remove(&(script, chunk));
        if recounted.is_some_and(|it| it.finish128() == hasher.finish128()) {
            return;
        }
        let (table, key) = match is_inline(txnums.len() as u64) && chunk == 0 {
            true => ("totals_by_script", script.0.to_vec()),
            false => ("history_by_script", chunk_key(script, chunk).to_vec()),
        };
        self.fault(table, &key, "lists other transactions than touch the script");
    }

    fn found_unspent(&mut self, key: &[u8; 26], row: &[u8]) {
        if !self.takes(key) {
            return;
        }
        match self.unspent.remove(key) {
            Some(expected) if expected == row => {}
            Some(_) => self.fault("unspent_by_script", key, "is not as the record says"),
            None => self.fault("unspent_by_script", key, "no record has this output unspent"),
        }
    }
}
