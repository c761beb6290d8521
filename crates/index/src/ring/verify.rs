//! The audit of an index: every row held against the transactions' records, and those against the
//! hashes of blocks.
//!
//! The records are walked once in chain order, and what each adds to every other table is folded
//! into sums; then the other tables are walked and folded the same way. The sums are kept apart by
//! 12 bits of a key, with a secret drawn for the run. Where sums differ, both walks are
//! made once more and the rows of those keys alone are held in memory, so that each faulty row is
//! named.
//!
//! A block's hash commits to the hashes of its transactions, so those are proved; that the body of
//! one which is no coinbase has its hash cannot be worked out without its proofs. Leaves the node
//! to its caller; [`Verdict::against`] asks it.

mod again;
mod node;
mod sums;
mod walk;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use super::schema::TABLES;
use super::store::Store;
use super::tip::Tip;
use crate::IndexError;
use crate::audit::Progress;
use crate::db::Table;
use crate::faults::Faults;
use crate::sums::{BUCKETS, Sums};
use sums::{Exact, Rows};
use walk::CHECKED;

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
    /// Transactions, coinbases included.
    pub transactions: u64,
    /// Outputs with hidden amounts, with those that may hide among them.
    pub hidden_outputs: u64,
    /// Outputs of public amounts besides.
    pub public_outputs: u64,
    /// Key images.
    pub key_images: u64,
    /// What coinbases paid in all, in the smallest unit.
    pub rewards: u128,
    /// What other transactions paid to miners in all, as far as that can be read.
    pub fees: u128,
    /// Blocks of a later version of the protocol than is known here, whose hashes cannot be worked
    /// out.
    pub unproved: u64,
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
        let mut say = |step, done| progress(Progress { step, done, total: None });
        self.walk_records(&mut expected, &mut verdict, &mut faults, &mut |done| {
            say("blocks", done)
        })?;
        self.walk_names(&mut found, &mut |done| say("names", done))?;
        let differing = expected.differing(&found);
        let named: BTreeSet<usize> = differing.iter().copied().take(EXACT_BUCKETS).collect();
        if !named.is_empty() {
            // What the walk itself shows was told before.
            let (mut again, mut told) = (Verdict::default(), Faults::default());
            let mut exact = Exact::expecting(&named);
            let mut walked = |done| say("blocks again", done);
            self.walk_records(&mut exact, &mut again, &mut told, &mut walked)?;
            let mut exact = exact.finding();
            self.walk_names(&mut exact, &mut |done| say("names again", done))?;
            exact.tell(&mut faults);
        }
        for bucket in differing.iter().skip(EXACT_BUCKETS) {
            faults.tell("all tables", &[], format!("rows differ in part {bucket} of {BUCKETS}"));
        }
        (verdict.faults, verdict.fault_count) = faults.into_parts();
        Ok(verdict)
    }

    /// Walks the tables that follow from the records.
    fn walk_names(
        &self,
        found: &mut impl Rows,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), IndexError> {
        let mut done = 0;
        for table in CHECKED {
            let mut rows = self.db().latest().rows(table);
            while let Some((key, value)) = rows.here()? {
                found.row(table, key, value);
                done += 1;
                if done % 100_000 == 0 {
                    progress(done);
                }
                rows.step();
            }
        }
        progress(done);
        Ok(())
    }
}

/// The name of a table.
fn name_of(table: Table) -> &'static str {
    TABLES[table.0].name
}
