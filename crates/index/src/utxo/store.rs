//! The index of one chain on disk: one tip, and the rows up to it.
//!
//! Leaves when to connect what to `sync`. Invariants: a folder of another chain, network, genesis
//! or format is refused; each change of the tip is one batch, on the disk before it is told.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chain::utxo::{Block, Format};
use chain::{Chain, Hash32, Network};

use super::block_row::{BlockRow, read_block};
use super::connect::Connect;
use super::effects::Rules;
use super::load::folder::clear_remains;
use super::schema::{HEADER_BY_HEIGHT, META, META_TIP, TABLES};
use super::script_id::HashKey;
use super::secret::{begin, stored_key};
use super::tip::Tip;
use super::voided::voids;
use crate::db::{Batch, Db, Memory, Reader};
use crate::heights::Heights;
use crate::identity::no_index;
use crate::row_sums::RowSums;
use crate::{Identity, IndexError, ReadError, folder};

/// An index on disk.
pub struct Store {
    db: Arc<Db>,
    chain: &'static Chain,
    network: &'static Network,
    format: Format,
    key: HashKey,
    tip: Option<Tip>,
    heights: Heights,
    sums: RowSums,
}

impl Store {
    /// Opens the index of a chain in `dir`, or begins one. `key` is given where the rows are to be
    /// compared with those of another index; else it is drawn.
    ///
    /// # Errors
    /// The folder holds something else, is in use or damaged; the chain is of another family.
    pub fn open(
        dir: &Path,
        chain: &'static Chain,
        network: &'static Network,
        memory: &Memory,
        key: Option<HashKey>,
    ) -> Result<Store, IndexError> {
        let format = *chain.format().ok_or_else(|| no_index(dir, chain))?;
        let wanted = Identity::new(chain, network);
        let db = folder::open(dir, &wanted, &TABLES, memory)?;
        let key = begin(&db, &wanted, key)?;
        let store = Store::on(db, chain, network, format, key)?;
        if store.tip.is_some() {
            clear_remains(dir)?;
        }
        Ok(store)
    }

    /// Opens the index of a chain for reading, as it is now. Another process may have it open and
    /// go on; this store never sees that.
    ///
    /// # Errors
    /// The folder holds no index or something else, or is damaged.
    pub fn open_read_only(
        dir: &Path,
        chain: &'static Chain,
        network: &'static Network,
        memory: &Memory,
    ) -> Result<Store, IndexError> {
        let format = *chain.format().ok_or_else(|| no_index(dir, chain))?;
        let wanted = Identity::new(chain, network);
        let db = folder::open_read_only(dir, &wanted, &TABLES, memory)?;
        let key = stored_key(&db)?;
        Store::on(db, chain, network, format, key)
    }

    fn on(
        db: Arc<Db>,
        chain: &'static Chain,
        network: &'static Network,
        format: Format,
        key: HashKey,
    ) -> Result<Store, IndexError> {
        let mut store = Store {
            tip: read_tip(db.latest())?,
            db,
            chain,
            network,
            format,
            key,
            heights: Heights::default(),
            sums: RowSums::default(),
        };
        store.load_heights()?;
        store.remember_sum();
        Ok(store)
    }

    /// What the folder holds, without opening it as an index of a certain chain.
    ///
    /// # Errors
    /// As for `open`; an identity that cannot be read.
    pub fn identity(dir: &Path) -> Result<Option<Identity>, IndexError> {
        Identity::of_folder(dir, &TABLES)
    }

    /// Whether a process has the index in a folder open, be it this one.
    pub fn is_open(dir: &Path) -> bool {
        folder::is_open(dir, &TABLES)
    }

    fn load_heights(&mut self) -> Result<(), IndexError> {
        let Some(tip) = self.tip else { return Ok(()) };
        let mut before: Option<Tip> = None;
        let mut sound = true;
        let heights = &mut self.heights;
        self.db.latest().scan_all(HEADER_BY_HEIGHT, |key, row| {
            let (height, first_txnum) =
                before.map_or((0, 0), |tip| (tip.height.wrapping_add(1), tip.next_txnum));
            let block = BlockRow::read(height, row).ok();
            let block = block
                .filter(|block| key == height.to_be_bytes() && block.first_txnum == first_txnum);
            before = block.map(|block| {
                heights.push(first_txnum);
                Tip { height, hash: block.hash, next_txnum: block.next_txnum() }
            });
            sound = before.is_some();
            if sound { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        match before {
            _ if !sound => Err(IndexError::damaged("header_by_height has a gap")),
            Some(last) if last == tip => Ok(()),
            _ => Err(IndexError::damaged("header_by_height does not end with the tip")),
        }
    }

    /// The chain.
    pub fn chain(&self) -> &'static Chain {
        self.chain
    }

    /// The network.
    pub fn network(&self) -> &'static Network {
        self.network
    }

    /// The format of the chain's blocks.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The folder.
    pub fn dir(&self) -> PathBuf {
        self.db.dir().to_owned()
    }

    /// The last block; none in an index that has just begun.
    pub fn tip(&self) -> Option<Tip> {
        self.tip
    }

    pub(crate) fn db(&self) -> &Arc<Db> {
        &self.db
    }

    pub(crate) fn key(&self) -> &HashKey {
        &self.key
    }

    /// Which outputs count.
    pub(crate) fn rules(&self) -> Rules<'_> {
        Rules { key: &self.key, format: &self.format }
    }

    pub(crate) fn heights(&self) -> &Heights {
        &self.heights
    }

    /// The block at a height of our chain.
    ///
    /// # Errors
    /// A damaged index.
    pub fn block(&self, height: u32) -> Result<Option<BlockRow>, ReadError> {
        read_block(self.db.latest(), height)
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
        let mut batch = Batch::new(&self.db);
        let (tip, _) = connect.block(block, &mut batch)?;
        self.db.commit(batch)?;
        self.heights.push(first_txnum);
        self.tip = Some(tip);
        self.remember_sum();
        Ok(tip)
    }

    /// Takes the tip back, and gives the one before it; none before genesis.
    ///
    /// # Errors
    /// A damaged index; nothing changed.
    pub fn disconnect(&mut self) -> Result<Option<Tip>, IndexError> {
        let Some(tip) = self.tip else { return Ok(None) };
        let gone = || IndexError::damaged("a row of header_by_height is gone");
        let row = self.block(tip.height)?.ok_or_else(gone)?;
        let before = match tip.height.checked_sub(1) {
            Some(height) => Some(self.block(height)?.ok_or_else(gone)?),
            None => None,
        };
        let connect = Connect {
            reader: self.db.latest(),
            rules: self.rules(),
            height: tip.height,
            first_txnum: row.first_txnum,
            voids: None,
        };
        let mut batch = Batch::new(&self.db);
        let tip = connect.take_back(&row, before.as_ref(), &mut batch)?;
        self.db.commit(batch)?;
        self.heights.pop();
        self.tip = tip;
        self.check_sum()?;
        Ok(tip)
    }

    /// Takes the rows of a first load for its own, up to this tip.
    pub(crate) fn adopt(&mut self, tip: Tip) -> Result<(), IndexError> {
        let mut batch = Batch::new(&self.db);
        batch.put(META, META_TIP, &tip.bytes());
        self.db.commit(batch)?;
        self.tip = Some(tip);
        self.heights = Heights::default();
        self.load_heights()?;
        self.remember_sum();
        Ok(())
    }

    fn remember_sum(&mut self) {
        self.sums.remember(*self.tip.map_or(Hash32::ZERO, |tip| tip.hash).wire(), &self.db);
    }

    /// A debug build proves that a block that was taken back left nothing behind.
    fn check_sum(&self) -> Result<(), IndexError> {
        self.sums.check(*self.tip.map_or(Hash32::ZERO, |tip| tip.hash).wire(), &self.db)
    }

    /// A copy of the index in a new folder, with hard links where both are on one disk.
    ///
    /// # Errors
    /// The folder is there already, or the disk is full.
    pub fn backup(&self, dir: &Path) -> Result<(), IndexError> {
        self.db.checkpoint(dir)
    }

    /// Bytes on disk and estimated number of rows, by table.
    pub fn sizes(&self) -> Vec<(&'static str, u64, u64)> {
        self.db.sizes()
    }
}

fn read_tip(reader: Reader<'_>) -> Result<Option<Tip>, IndexError> {
    let Some(row) = reader.get(META, META_TIP)? else { return Ok(None) };
    Ok(Some(Tip::read(&row).map_err(|bad| bad.of("meta"))?))
}

#[cfg(test)]
mod tests;
