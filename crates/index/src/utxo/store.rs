//! What an index of outputs holds in memory, and how its tip moves.
//!
//! Leaves opening it, and what every family's has, to `crate::store`, when to connect what to
//! `sync`.

use std::path::Path;
use std::sync::Arc;

use chain::utxo::{Block, Format};
use chain::{Chain, Hash32, Network};

use super::block_row::{BlockRow, read_block};
use super::connect::Connect;
use super::effects::Rules;
use super::load::folder::clear_remains;
use super::schema::{META, META_HASH_KEY, TABLES};
use super::script_id::HashKey;
use super::secret::{begin, stored_key};
use super::tip::Tip;
use super::voided::voids;
use crate::db::{Batch, Db, Memory, Reader, TableSpec};
use crate::heights::Heights;
use crate::identity::{META_TIP, no_index};
use crate::store::{self, LastBlock, Numbered, Numbers, Schema, Word};
use crate::{Identity, IndexError, ReadError};

/// An index on disk.
pub type Store = store::Store<Outputs>;

/// What is held in memory of the rows of outputs.
pub struct Outputs {
    format: Format,
    key: HashKey,
    numbers: Numbers<Tip>,
}

impl Schema for Outputs {
    type Tip = Tip;

    fn tables() -> &'static [TableSpec] {
        &TABLES
    }

    fn are_of(chain: &Chain) -> bool {
        chain.format().is_some()
    }

    fn claim(db: &Db, wanted: &Identity) -> Result<(), IndexError> {
        begin(db, wanted, None)
    }

    fn read(db: &Db, chain: &Chain, _: &Network, tip: Option<Tip>) -> Result<Outputs, IndexError> {
        let format = *chain.format().ok_or_else(|| no_index(db.dir(), chain))?;
        let (heights, key) = (read_heights(db, tip)?, stored_key(db)?);
        Ok(Outputs { format, key, numbers: Numbers::new(heights, tip, db) })
    }

    fn block(reader: Reader<'_>, height: u32) -> Result<Option<BlockRow>, ReadError> {
        read_block(reader, height)
    }

    fn words(store: &Store) -> Vec<Word> {
        vec![(META_HASH_KEY, store.key().bytes().to_vec(), true)]
    }

    fn tidy(store: &Store) -> Result<(), IndexError> {
        store.tip.map_or(Ok(()), |_| clear_remains(store.db.dir()))
    }
}

impl Numbered for Outputs {
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
        mut batch: Batch<'a>,
    ) -> Result<(Batch<'a>, Option<Tip>), IndexError> {
        let connect = Connect {
            reader: store.db.latest(),
            rules: store.rules(),
            height: row.height,
            first_txnum: row.first_txnum,
            voids: None,
        };
        let tip = connect.take_back(row, before, &mut batch)?;
        Ok((batch, tip))
    }
}

impl Store {
    /// Opens the index of a chain in `dir`, or begins one with this key, where the rows are to be
    /// compared with those of another index; [`Store::open`] draws one.
    ///
    /// # Errors
    /// As for `open`; the index has another key.
    pub fn open_with_key(
        dir: &Path,
        chain: &'static Chain,
        network: &'static Network,
        memory: &Memory,
        key: HashKey,
    ) -> Result<Store, IndexError> {
        let claim = |db: &Db, wanted: &Identity| begin(db, wanted, Some(key));
        Store::claimed(dir, chain, network, memory, claim)
    }

    /// The format of the chain's blocks.
    pub fn format(&self) -> &Format {
        &self.own.format
    }

    pub(crate) fn key(&self) -> &HashKey {
        &self.own.key
    }

    /// Which outputs count.
    pub(crate) fn rules(&self) -> Rules<'_> {
        Rules { key: self.key(), format: self.format() }
    }

    /// Adds the block after our tip.
    ///
    /// # Errors
    /// The block does not follow our tip, or an output that it spends is unknown; nothing changed.
    pub fn connect(&mut self, block: &Block<'_>) -> Result<Tip, IndexError> {
        let (height, previous) = match &self.tip {
            Some(tip) => (tip.height + 1, tip.hash),
            None => (0, Hash32::ZERO),
        };
        if block.header.previous != previous {
            return Err(IndexError::NotNext { hash: block.header.hash });
        }
        let voided = match (&self.tip, &block.header.stake) {
            (Some(tip), Some(stake)) if voids(stake, tip.height) => self.block(tip.height)?,
            _ => None,
        };
        let first_txnum = match (&voided, &self.tip) {
            (Some(voided), _) => voided.regular_txnum(),
            (None, Some(tip)) => tip.next_txnum,
            (None, None) => 0,
        };
        let connect = Connect {
            reader: self.db.latest(),
            rules: self.rules(),
            height,
            first_txnum,
            voids: voided.as_ref(),
        };
        let db = Arc::clone(&self.db);
        let mut batch = Batch::new(&db);
        let (tip, _) = connect.block(block, &mut batch)?;
        self.advance(batch, Some(tip), [first_txnum])?;
        Ok(tip)
    }

    /// Takes the rows of a first load for its own, up to this tip.
    pub(crate) fn adopt(&mut self, tip: Tip) -> Result<(), IndexError> {
        let db = Arc::clone(&self.db);
        let mut batch = Batch::new(&db);
        batch.put(META, META_TIP, &tip.bytes());
        self.commit(batch, Some(tip))?;
        self.own.numbers.heights = read_heights(&self.db, self.tip)?;
        self.remember_sum();
        Ok(())
    }
}

/// Where each block begins; nothing while a first load has brought rows and no tip yet.
fn read_heights(db: &Db, tip: Option<Tip>) -> Result<Heights, IndexError> {
    let Some(tip) = tip else { return Ok(Heights::default()) };
    store::read_heights::<Outputs>(db, Some(tip), |before, height, row| {
        let first_txnum = before.map_or(0, |tip| tip.next_txnum);
        let block = BlockRow::read(height, row).ok()?;
        (block.first_txnum == first_txnum).then(|| (first_txnum, Tip::of(&block)))
    })
}

#[cfg(test)]
mod tests;
