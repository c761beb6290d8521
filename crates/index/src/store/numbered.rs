//! Schema of a chain whose transactions are numbered through, block by block from the first.
//!
//! Leaves which rows a block has to the families. Invariant: a block that was taken back left
//! nothing behind, which a debug build proves with a sum over all rows.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::{BlockOf, HashOf, LastBlock, Schema, Store};
use crate::db::{Batch, Db, Table};
use crate::heights::Heights;
use crate::{IndexError, ReadError};

/// The blocks by height.
const BLOCKS: Table = Table(1);

/// What of such rows is held in memory.
pub struct Numbers<T> {
    pub(crate) heights: Heights,
    /// Sums of all rows, by the tip that they were at; nothing in a release.
    sums: HashMap<Option<T>, u128>,
}

impl<T: LastBlock> Numbers<T> {
    /// Of rows as they are at a tip.
    pub(crate) fn new(heights: Heights, tip: Option<T>, db: &Db) -> Numbers<T> {
        let sums = db.sum().map(|sum| (tip, sum));
        Numbers { heights, sums: sums.into_iter().collect() }
    }
}

/// Schema of a chain whose transactions are numbered through.
pub trait Numbered: Schema {
    /// What of them is held in memory.
    fn numbers(&self) -> &Numbers<Self::Tip>;

    /// The same, to be changed with the rows.
    fn numbers_mut(&mut self) -> &mut Numbers<Self::Tip>;

    /// Puts into a batch that the tip's block is taken back; `before` is the one before it, which
    /// is the tip from then on.
    ///
    /// # Errors
    /// A damaged index.
    fn take_back<'a>(
        store: &Store<Self>,
        row: &BlockOf<Self>,
        before: Option<&BlockOf<Self>>,
        batch: Batch<'a>,
    ) -> Result<(Batch<'a>, Option<Self::Tip>), IndexError>;
}

impl<R: Numbered> Store<R> {
    pub(crate) fn heights(&self) -> &Heights {
        &self.own.numbers().heights
    }

    /// The hash of our block at a height.
    pub(crate) fn hash_at(&self, height: u32) -> Result<Option<HashOf<R>>, ReadError> {
        Ok(self.block(height)?.map(|block| R::Tip::of(&block).hash()))
    }

    /// Commits blocks after our tip, which begin at these txnums.
    pub(crate) fn advance(
        &mut self,
        batch: Batch<'_>,
        tip: Option<R::Tip>,
        firsts: impl IntoIterator<Item = u64>,
    ) -> Result<(), IndexError> {
        self.commit(batch, tip)?;
        let heights = &mut self.own.numbers_mut().heights;
        firsts.into_iter().for_each(|first| heights.push(first));
        self.remember_sum();
        Ok(())
    }

    /// Takes the tip back, and gives the one before it; none before genesis.
    ///
    /// # Errors
    /// A damaged index; nothing changed.
    pub fn disconnect(&mut self) -> Result<Option<R::Tip>, IndexError> {
        let Some(tip) = self.tip else { return Ok(None) };
        let row = self.held_block(tip.height())?;
        let before = tip.height().checked_sub(1).map(|height| self.held_block(height));
        let before = before.transpose()?;
        let db = Arc::clone(&self.db);
        let (batch, tip) = R::take_back(self, &row, before.as_ref(), Batch::new(&db))?;
        self.commit(batch, tip)?;
        let numbers = self.own.numbers_mut();
        numbers.heights.pop();
        match (numbers.sums.get(&tip), self.db.sum()) {
            (Some(before), Some(sum)) if *before != sum => {
                Err(IndexError::damaged("a block that was taken back left something behind"))
            }
            _ => Ok(tip),
        }
    }

    fn held_block(&self, height: u32) -> Result<BlockOf<R>, IndexError> {
        let table = R::tables()[BLOCKS.0].name;
        let gone = || IndexError::damaged(format!("a row of {table} is gone"));
        self.block(height)?.ok_or_else(gone)
    }

    /// Notes the rows of our tip, in debug builds.
    pub(crate) fn remember_sum(&mut self) {
        let sum = self.db.sum().map(|sum| (self.tip, sum));
        self.own.numbers_mut().sums.extend(sum);
    }
}

/// Reads where each block begins. `next` makes a row of a height what follows a tip: its first
/// txnum, and the tip that it is; none of a row that does not follow.
pub(crate) fn read_heights<R: Schema>(
    db: &Db,
    tip: Option<R::Tip>,
    next: impl Fn(Option<R::Tip>, u32, &[u8]) -> Option<(u64, R::Tip)>,
) -> Result<Heights, IndexError> {
    let table = R::tables()[BLOCKS.0].name;
    let (mut heights, mut before, mut sound) = (Heights::default(), None::<R::Tip>, true);
    db.latest().scan_all(BLOCKS, |key, row| {
        let height = before.map_or(0, |tip| tip.height().wrapping_add(1));
        let found = next(before, height, row).filter(|_| key == height.to_be_bytes());
        before = found.map(|(first_txnum, tip)| {
            heights.push(first_txnum);
            tip
        });
        sound = before.is_some();
        if sound { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    match sound {
        false => Err(IndexError::damaged(format!("{table} has a gap"))),
        true if before == tip => Ok(heights),
        true => Err(IndexError::damaged(format!("{table} does not end with the tip"))),
    }
}
