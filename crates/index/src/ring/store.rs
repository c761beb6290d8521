//! What an index of rings holds in memory, and how its tip moves.
//!
//! Leaves opening it, and what every family's has, to `crate::store`, when to connect what to
//! `sync`.

use std::sync::Arc;

use chain::ring::Hash;
use chain::{Chain, Family, Hash32, Network};

use super::block_row::BlockRow;
use super::connect::Changes;
use super::decoded::{DecodedBlock, RawBlock, decode};
use super::schema::{BLOCK_BY_HEIGHT, META, META_LOADING, TABLES};
use super::tip::Tip;
use crate::db::{Batch, Db, Reader, TableSpec};
use crate::store::{self, LastBlock, Numbered, Numbers, Schema};
use crate::{IndexError, ReadError};

/// An index on disk.
pub type Store = store::Store<Rings>;

/// What is held in memory of the rows of rings.
pub struct Rings {
    numbers: Numbers<Tip>,
    /// The first load runs, or was cut off.
    loading: bool,
}

impl Schema for Rings {
    type Tip = Tip;

    fn tables() -> &'static [TableSpec] {
        &TABLES
    }

    fn are_of(chain: &Chain) -> bool {
        chain.family == Family::Ring
    }

    fn read(db: &Db, _: &Chain, _: &Network, tip: Option<Tip>) -> Result<Rings, IndexError> {
        let heights = store::read_heights::<Rings>(db, tip, |before, height, row| {
            let places = before.map_or((0, 0), |tip| (tip.next_txnum, tip.next_output));
            let block = BlockRow::read(height, row).ok()?;
            let follows = (block.first_txnum, block.first_output) == places;
            follows.then(|| (block.first_txnum, Tip::of(&block)))
        })?;
        let loading = db.latest().get(META, META_LOADING)?.is_some();
        Ok(Rings { numbers: Numbers::new(heights, tip, db), loading })
    }

    fn block(reader: Reader<'_>, height: u32) -> Result<Option<BlockRow>, ReadError> {
        read_block(reader, height)
    }
}

impl Numbered for Rings {
    fn numbers(&self) -> &Numbers<Tip> {
        &self.numbers
    }

    fn numbers_mut(&mut self) -> &mut Numbers<Tip> {
        &mut self.numbers
    }

    fn take_back<'a>(
        store: &Store,
        row: &BlockRow,
        before: Option<&BlockRow>,
        batch: Batch<'a>,
    ) -> Result<(Batch<'a>, Option<Tip>), IndexError> {
        let mut changes = Changes::new(store.db.latest(), batch, store.tip);
        changes.take_back(row, before)?;
        let (batch, tip, _) = changes.finish();
        Ok((batch, tip))
    }
}

impl Store {
    /// Whether the first load runs, or was cut off: nothing is served until it is done.
    pub fn is_loading(&self) -> bool {
        self.own.loading
    }

    /// Height of the block after our tip.
    pub fn next_height(&self) -> u32 {
        self.tip.map_or(0, |tip| tip.height + 1)
    }

    /// Reads the block after our tip and adds it.
    ///
    /// # Errors
    /// `Block` for bytes that are no such block, `NotNext` if it does not follow our tip; nothing
    /// changed.
    pub fn connect(&mut self, raw: &RawBlock) -> Result<(), IndexError> {
        let block = decode(raw, self.next_height(), self.network())?;
        self.append(&[block])
    }

    /// Adds blocks after our tip, all in one batch.
    pub(crate) fn append(&mut self, blocks: &[DecodedBlock]) -> Result<(), IndexError> {
        let mut previous = self.tip.map_or(Hash::ZERO, |tip| tip.hash);
        for block in blocks {
            if block.header.previous != previous {
                return Err(not_next(block.hash));
            }
            previous = block.hash;
        }
        let db = Arc::clone(&self.db);
        let mut changes = Changes::new(db.latest(), Batch::new(&db), self.tip);
        for block in blocks {
            changes.connect(block)?;
        }
        let (mut batch, tip, firsts) = changes.finish();
        if self.own.loading {
            batch.put(META, META_LOADING, &[]);
        }
        self.advance(batch, tip, firsts)
    }

    /// Notes that a first load begins, which is on the disk with its first blocks.
    pub(crate) fn begin_load(&mut self) {
        self.own.loading = true;
    }

    /// The first load is done: what is there is served.
    pub(crate) fn end_load(&mut self) -> Result<(), IndexError> {
        let mut batch = Batch::new(&self.db);
        batch.delete(META, META_LOADING);
        self.db.commit(batch)?;
        self.own.loading = false;
        self.remember_sum();
        Ok(())
    }
}

/// A block that does not follow; its hash is told in the order in which it is shown.
fn not_next(hash: Hash) -> IndexError {
    let mut wire = hash.0;
    wire.reverse();
    IndexError::NotNext { hash: Hash32::from_wire(wire) }
}

/// The block at a height.
pub(crate) fn read_block(reader: Reader<'_>, height: u32) -> Result<Option<BlockRow>, ReadError> {
    let Some(row) = reader.get(BLOCK_BY_HEIGHT, &height.to_be_bytes())? else { return Ok(None) };
    BlockRow::read(height, &row).map(Some).map_err(|bad| bad.of("block_by_height"))
}
