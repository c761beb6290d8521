//! What the rows of outputs and scripts add up to.
//!
//! Leaves hashing to `crate::sums`. Invariant: what the records add and what the rows add is the
//! same if the rows follow from the records.

use std::convert::Infallible;

use super::Audit;
use crate::sums::{self, bucket};
use crate::utxo::effects::{Effects, Step};
use crate::utxo::schema::{UnspentKey, UnspentRow, txid_key};
use crate::utxo::script_id::ScriptId;
use crate::utxo::totals::Totals;

/// What the rows of one part add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    ids: u128,
    histories: u128,
    totals: u128,
    unspent: u128,
}

/// Sums of all parts.
pub(super) type Sums = sums::Sums<Part>;

/// The weights of the numbers of a totals row: the first is 1, the others are any large odd ones
/// (digits of the square root of 2), so that no plausible fault of one number undoes that of
/// another.
const UNSPENT_COUNT: u128 = 0x6a09_e667_f3bc_c908_b2fb_1366_ea95_7d3f;
const RECEIVED: u128 = 0x3e3a_dec1_7512_775a_5a09_4dd5_9b1d_b1a3;
const SENT: u128 = 0x7f4a_7c15_9e37_79b9_f39c_c060_5ced_c835;

impl Sums {
    fn part_of(&mut self, key: &[u8]) -> &mut Part {
        self.part(bucket(key))
    }

    fn add_touch(&mut self, script: ScriptId, txnum: u64) {
        let hash = self.hash(&[&script.0, &txnum.to_be_bytes()]);
        let part = self.part_of(&script.0);
        part.histories = part.histories.wrapping_add(hash);
    }

    /// Adds to the numbers of a script's totals, each with its weight.
    fn add_totals(&mut self, script: &[u8], weighted: u128) {
        let weighted = self.hash(&[script]).wrapping_mul(weighted);
        let part = self.part_of(script);
        part.totals = part.totals.wrapping_add(weighted);
    }
}

impl Effects for Sums {
    type Error = Infallible;

    fn stands(&mut self, step: &Step) {
        self.found_id(&txid_key(&step.record.txid, step.txnum));
    }

    fn touch(&mut self, script: ScriptId, txnum: u64) {
        self.add_touch(script, txnum);
        self.add_totals(&script.0, 1);
    }

    fn pay(&mut self, script: ScriptId, value: u64) {
        self.add_totals(&script.0, RECEIVED.wrapping_mul(value.into()));
    }

    fn spend(&mut self, script: ScriptId, value: u64) {
        self.add_totals(&script.0, SENT.wrapping_mul(value.into()));
    }

    fn make(&mut self, key: &UnspentKey, row: &UnspentRow) -> Result<(), Infallible> {
        self.found_unspent(&key.bytes(), &row.bytes());
        self.add_totals(&key.script.0, UNSPENT_COUNT);
        Ok(())
    }

    fn unmake(&mut self, key: &UnspentKey, row: &UnspentRow) -> Result<(), Infallible> {
        let hash = self.hash(&[&key.bytes(), &row.bytes()]);
        let part = self.part_of(&key.script.0);
        part.unspent = part.unspent.wrapping_sub(hash);
        self.add_totals(&key.script.0, UNSPENT_COUNT.wrapping_neg());
        Ok(())
    }
}

impl Audit for Sums {
    fn found_id(&mut self, key: &[u8; 11]) {
        let hash = self.hash(&[key]);
        let part = self.part_of(key);
        part.ids = part.ids.wrapping_add(hash);
    }

    fn found_totals(&mut self, script: ScriptId, totals: &Totals) {
        let unspent = UNSPENT_COUNT.wrapping_mul(totals.unspent_count.into());
        let received = RECEIVED.wrapping_mul(totals.received);
        let sent = SENT.wrapping_mul(totals.sent);
        let weighted = u128::from(totals.tx_count).wrapping_add(unspent);
        self.add_totals(&script.0, weighted.wrapping_add(received).wrapping_add(sent));
    }

    fn found_history(&mut self, script: ScriptId, _chunk: u32, txnums: &[u64]) {
        txnums.iter().for_each(|txnum| self.add_touch(script, *txnum));
    }

    fn found_unspent(&mut self, key: &[u8; 26], row: &[u8]) {
        let hash = self.hash(&[key, row]);
        let part = self.part_of(key);
        part.unspent = part.unspent.wrapping_add(hash);
    }
}
