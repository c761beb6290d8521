//! The audit of an index: every row held against the transactions' records, and those against
//! the headers' hashes.
//!
//! The records are walked once in chain order, and what each adds to every other table is folded
//! into sums; then the other tables are walked and folded the same way. The sums are kept apart by
//! the first 12 bits of a key, with a secret drawn for the run, so that two faults cannot cancel
//! each other. Where sums differ, the records are walked once more and the rows of those keys
//! alone are worked out in memory, so that each faulty row is named.
//!
//! Memory: a few hundred kB while nothing is wrong; then what 32 of 4,096 parts of the scripts
//! and unspent outputs need. Time: one read of every record, and one of each record that an input
//! names. Leaves the node to its caller; [`Verdict::against`] reads what the node says.

mod again;
mod blocks;
mod exact;
mod ids;
mod node;
mod records;
mod scripts;
mod sums;
mod supply;
mod voided;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use chain::utxo::Pools;

use super::store::Store;
use super::tip::Tip;
use crate::IndexError;
use crate::audit::Progress;
use crate::faults::Faults;
use crate::sums::BUCKETS;
use exact::Exact;
use sums::Sums;

pub use node::Agreement;

/// So many parts are worked out row by row; of others one fault each is told.
const EXACT_BUCKETS: usize = 32;

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The tip that was audited; none of an index without a block.
    pub tip: Option<Tip>,
    /// Blocks.
    pub blocks: u64,
    /// Transactions.
    pub transactions: u64,
    /// Scripts that were ever paid.
    pub scripts: u64,
    /// Unspent outputs.
    pub unspent_outputs: u64,
    /// What they add up to, in the smallest unit.
    pub unspent_total: u128,
    /// The sum of the outputs that nobody can ever spend, those to the treasury left out.
    pub burnt: u128,
    /// What all transactions took out of shielded pools: less than nothing, as much as is in them.
    pub pools: Pools,
    /// What the treasury got less what was drawn from it, in the smallest unit, immature parts
    /// included.
    pub treasury: i128,
    /// The same without what is not mature yet.
    pub treasury_mature: i128,
    /// Where blocks are voted on: all coins that were made, as the node counts them.
    pub coin_supply: i128,
    /// The first 100 faults, each with its table and key.
    pub faults: Vec<String>,
    /// All faults.
    pub fault_count: u64,
}

impl Store {
    /// Holds every row of the index against every other.
    ///
    /// # Errors
    /// The engine cannot read. Rows that make no sense are faults of the verdict.
    pub fn verify(&self, mut progress: impl FnMut(Progress)) -> Result<Verdict, IndexError> {
        let mut verdict = Verdict { tip: self.tip(), ..Verdict::default() };
        let mut faults = Faults::default();
        self.audit_words(&mut faults)?;
        let mut expected = Sums::draw(BUCKETS)?;
        let mut found = expected.empty();
        let counted =
            self.walk_records(&mut expected, &mut faults, &mut said("blocks", &mut progress))?;
        (verdict.blocks, verdict.transactions) = (counted.blocks, counted.transactions);
        (verdict.pools, verdict.treasury) = (counted.pools, counted.treasury);
        verdict.burnt = counted.burnt;
        self.audit_hashes(counted.blocks, &mut faults)?;
        self.audit_voided(&mut faults)?;
        self.walk_ids(&mut found, &mut faults, &mut said("ids", &mut progress))?;
        let walked =
            self.walk_scripts(&mut found, &mut faults, &mut said("scripts", &mut progress))?;
        verdict.scripts = walked.scripts;
        verdict.unspent_outputs = walked.unspent_outputs;
        verdict.unspent_total = walked.unspent_total;
        if let Some(supply) = counted.supply {
            let held = (walked.unspent_total + counted.burnt) as i128 + counted.treasury;
            verdict.coin_supply = supply.coins(held);
            verdict.treasury_mature = supply.treasury();
        }
        self.name_faults(&expected, &found, &mut faults, &mut progress)?;
        (verdict.faults, verdict.fault_count) = faults.into_parts();
        Ok(verdict)
    }

    /// Works out the rows whose sums differ, and tells each that is not as it should be.
    fn name_faults(
        &self,
        expected: &Sums,
        found: &Sums,
        faults: &mut Faults,
        progress: &mut impl FnMut(Progress),
    ) -> Result<(), IndexError> {
        let differing = expected.differing(found);
        let named: BTreeSet<usize> = differing.iter().copied().take(EXACT_BUCKETS).collect();
        if named.is_empty() {
            return Ok(());
        }
        let mut exact = Exact::of(&named);
        // What the records and the walks themselves show was told before.
        let mut told = Faults::default();
        self.walk_records(&mut exact, &mut told, &mut said("blocks again", progress))?;
        self.walk_ids(&mut exact, &mut told, &mut said("ids again", progress))?;
        self.walk_scripts(&mut exact, &mut told, &mut said("scripts again", progress))?;
        exact.tell(faults);
        for bucket in differing.iter().skip(EXACT_BUCKETS) {
            faults.tell("all tables", &[], format!("rows differ in part {bucket} of {BUCKETS}"));
        }
        Ok(())
    }
}

/// Rows as they are found.
trait Audit {
    /// A key of `txnum_by_txid`.
    fn found_id(&mut self, key: &[u8; 11]);
    /// A row of `totals_by_script`.
    fn found_totals(&mut self, script: super::script_id::ScriptId, totals: &super::totals::Totals);
    /// Some of the transactions of a script: those of a chunk, or those inline as chunk 0.
    fn found_history(&mut self, script: super::script_id::ScriptId, chunk: u32, txnums: &[u64]);
    /// A row of `unspent_by_script`.
    fn found_unspent(&mut self, key: &[u8; 26], row: &[u8]);
}

/// Told now and then how far a walk is.
type Told<'a> = dyn FnMut(u64, Option<u64>) + 'a;

fn said<'a>(
    step: &'static str,
    progress: &'a mut impl FnMut(Progress),
) -> impl FnMut(u64, Option<u64>) + 'a {
    move |done, total| progress(Progress { step, done, total })
}
