//! The sums over all rows at earlier tips, in debug builds.
//!
//! Invariant: a block that was taken back left nothing behind, or it is told.

use crate::IndexError;
use crate::db::Db;

/// Sums of all rows, by the hash of the tip that they were at.
#[derive(Default)]
pub(crate) struct RowSums {
    #[cfg(debug_assertions)]
    at: std::collections::HashMap<[u8; 32], u128>,
}

#[cfg(debug_assertions)]
impl RowSums {
    /// Notes the sum at a tip.
    pub(crate) fn remember(&mut self, tip: [u8; 32], db: &Db) {
        self.at.insert(tip, db.sum());
    }

    /// Holds the sum against that of the last time that this was the tip.
    pub(crate) fn check(&self, tip: [u8; 32], db: &Db) -> Result<(), IndexError> {
        match self.at.get(&tip) {
            Some(sum) if *sum != db.sum() => {
                Err(IndexError::damaged("a block that was taken back left something behind"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(not(debug_assertions))]
impl RowSums {
    /// Nothing is kept in a release.
    pub(crate) fn remember(&mut self, _tip: [u8; 32], _db: &Db) {}

    /// Nothing is held against anything.
    pub(crate) fn check(&self, _tip: [u8; 32], _db: &Db) -> Result<(), IndexError> {
        Ok(())
    }
}
