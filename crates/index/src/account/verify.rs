//! The audit of an index of accounts: every row held against the transactions' own, and those
//! against what a node says.
//!
//! Blocks, transactions, logs and operations are walked once in the order of the chain, and what
//! each adds to the other tables is folded into sums; then the other tables are walked and folded
//! the same way. Where sums differ, both are walked once more and each faulty row is named. Memory
//! is bounded: a few hundred kB, and one block.
//!
//! Leaves choosing a node to its caller; `node` compares with it.

mod derived;
mod flows;
mod node;
mod records;

#[cfg(test)]
pub(super) mod tests;

use std::ops::ControlFlow;

use super::changes::read_block;
use super::rows::{End, Retry};
use super::schema::UNTRACED;
use super::store::Store;
use crate::audit::Progress;
use crate::faults::Faults;
use crate::{IndexError, ReadError};
use derived::Naming;

pub use node::{Comparison, Incomparable};

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The last block; none of an index without a block.
    pub tip: Option<End>,
    /// The height of the first block.
    pub from_height: Option<u32>,
    /// Blocks.
    pub blocks: u64,
    /// Transactions.
    pub transactions: u64,
    /// Logs.
    pub logs: u64,
    /// Calls inside of transactions that moved, created or ended something.
    pub operations: u64,
    /// Blocks that were not traced.
    pub untraced: u64,
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
        let mut faults = Faults::default();
        let mut verdict = Verdict {
            tip: self.tip(),
            from_height: self.base().map(|base| base.height),
            ..Verdict::default()
        };
        self.audit_words(&mut faults)?;
        verdict.untraced = self.audit_untraced(&mut faults)?;
        let mut expected = derived::no_rows()?;
        let mut found = expected.empty();
        let mut blocks = |done, total| progress(Progress { step: "blocks", done, total });
        let counted = self.walk_records(&mut expected, &mut faults, &mut blocks)?;
        (verdict.blocks, verdict.transactions) = (counted.blocks, counted.transactions);
        (verdict.logs, verdict.operations) = (counted.logs, counted.operations);
        let mut rows = |done, total| progress(Progress { step: "rows", done, total });
        self.walk_derived(&mut rows, |table, key, value| {
            derived::add(&mut found, table, key, value);
            Ok(())
        })?;
        let mut naming = Naming::of(self, expected.differing(&found));
        if !naming.is_empty() {
            let mut again = |done, total| progress(Progress { step: "blocks again", done, total });
            // What the records themselves show was told before.
            self.walk_records(&mut naming, &mut Faults::default(), &mut again)?;
            let mut again = |done, total| progress(Progress { step: "rows again", done, total });
            self.walk_derived(&mut again, |table, key, value| naming.found(table, key, value))?;
            naming.tell(&mut faults)?;
        }
        (verdict.faults, verdict.fault_count) = faults.into_parts();
        Ok(verdict)
    }

    /// Every row of what is to be traced is of a block that has transactions; gives how many are.
    fn audit_untraced(&self, faults: &mut Faults) -> Result<u64, ReadError> {
        let (mut sound, mut problem) = (0, None);
        self.reader().scan_all(UNTRACED, |key, value| {
            let height = <[u8; 4]>::try_from(key).map(|key| !u32::from_be_bytes(key)).ok();
            let block = height.map(|height| read_block(self.reader(), height));
            let has = match block {
                Some(Err(error @ ReadError::Failed(_))) => {
                    problem = Some(error);
                    return ControlFlow::Break(());
                }
                Some(Ok(Some(block))) => block.tx_count > 0,
                _ => false,
            };
            match has && Retry::read(value).is_ok() {
                true => sound += 1,
                false => faults.tell("untraced", key, "is of no block with transactions"),
            }
            ControlFlow::Continue(())
        })?;
        problem.map_or(Ok(sound), Err)
    }
}
