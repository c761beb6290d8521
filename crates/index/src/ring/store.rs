//! The index of one chain on disk: one tip, and the rows up to it.
//!
//! Leaves when to connect what to `sync`. Invariants: a folder of another chain, network, genesis
//! or format is refused; each change of the tip is one batch, on the disk before it is told.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chain::ring::Hash;
use chain::{Chain, Family, Hash32, Network};

use super::block_row::BlockRow;
use super::connect::Changes;
use super::decoded::{DecodedBlock, RawBlock, decode};
use super::schema::{BLOCK_BY_HEIGHT, META, META_LOADING, META_TIP, TABLES};
use super::tip::Tip;
use crate::db::{Batch, Db, Memory, Reader};
use crate::heights::Heights;
use crate::identity::no_index;
use crate::row_difference::{RowDifference, every_row, first_difference};
use crate::row_sums::RowSums;
use crate::{Identity, IndexError, ReadError, folder};

/// An index on disk.
pub struct Store {
    db: Arc<Db>,
    chain: &'static Chain,
    network: &'static Network,
    tip: Option<Tip>,
    heights: Heights,
    /// The first load runs, or was cut off.
    loading: bool,
    sums: RowSums,
}

impl Store {
    /// Opens the index of a chain in `dir`, or begins one.
    ///
    /// # Errors
    /// The folder holds something else, is in use or damaged; the chain is of another family.
    pub fn open(
        dir: &Path,
        chain: &'static Chain,
        network: &'static Network,
        memory: &Memory,
    ) -> Result<Store, IndexError> {
        let wanted = wanted(dir, chain, network)?;
        let db = folder::open(dir, &wanted, &TABLES, memory)?;
        wanted.claim(&db, |_| Ok(()))?;
        Store::on(db, chain, network)
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
        let wanted = wanted(dir, chain, network)?;
        let db = folder::open_read_only(dir, &wanted, &TABLES, memory)?;
        Store::on(db, chain, network)
    }

    fn on(
        db: Arc<Db>,
        chain: &'static Chain,
        network: &'static Network,
    ) -> Result<Store, IndexError> {
        let tip = read_tip(db.latest())?;
        let loading = db.latest().get(META, META_LOADING)?.is_some();
        let mut store = Store {
            db,
            chain,
            network,
            tip,
            loading,
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
        let mut before: Option<Tip> = None;
        let (mut sound, heights) = (true, &mut self.heights);
        self.db.latest().scan_all(BLOCK_BY_HEIGHT, |key, row| {
            let (height, first_txnum, first_output) =
                before.map_or((0, 0, 0), |tip| (tip.height + 1, tip.next_txnum, tip.next_output));
            let follows = |row: &BlockRow| {
                key == height.to_be_bytes()
                    && (row.first_txnum, row.first_output) == (first_txnum, first_output)
            };
            let block = BlockRow::read(height, row).ok().filter(follows);
            heights.push(first_txnum);
            before = block.as_ref().map(Tip::of);
            sound = before.is_some();
            if sound { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        match sound {
            false => Err(IndexError::damaged("block_by_height has a gap")),
            true if before == self.tip => Ok(()),
            true => Err(IndexError::damaged("block_by_height does not end with the tip")),
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

    /// The folder.
    pub fn dir(&self) -> PathBuf {
        self.db.dir().to_owned()
    }

    /// The last block; none in an index that has just begun.
    pub fn tip(&self) -> Option<Tip> {
        self.tip
    }

    /// Whether the first load runs, or was cut off: nothing is served until it is done.
    pub fn is_loading(&self) -> bool {
        self.loading
    }

    pub(crate) fn db(&self) -> &Arc<Db> {
        &self.db
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
        let block = decode(raw, self.next_height(), self.network)?;
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
        if self.loading {
            batch.put(META, META_LOADING, &[]);
        }
        self.db.commit(batch)?;
        firsts.into_iter().for_each(|first| self.heights.push(first));
        self.tip = tip;
        self.remember_sum();
        Ok(())
    }

    /// Takes the tip back, and gives the one before it; none before genesis.
    ///
    /// # Errors
    /// A damaged index; nothing changed.
    pub fn disconnect(&mut self) -> Result<Option<Tip>, IndexError> {
        let Some(tip) = self.tip else { return Ok(None) };
        let gone = || IndexError::damaged("a row of block_by_height is gone");
        let row = self.block(tip.height)?.ok_or_else(gone)?;
        let before = match tip.height.checked_sub(1) {
            Some(height) => Some(self.block(height)?.ok_or_else(gone)?),
            None => None,
        };
        let db = Arc::clone(&self.db);
        let mut changes = Changes::new(db.latest(), Batch::new(&db), self.tip);
        changes.take_back(&row, before.as_ref())?;
        let (batch, tip, _) = changes.finish();
        self.db.commit(batch)?;
        self.heights.pop();
        self.tip = tip;
        self.sums.check(self.tip_bytes(), &self.db)?;
        Ok(tip)
    }

    /// Notes that a first load begins, which is on the disk with its first blocks.
    pub(crate) fn begin_load(&mut self) {
        self.loading = true;
    }

    /// The first load is done: what is there is served.
    pub(crate) fn end_load(&mut self) -> Result<(), IndexError> {
        let mut batch = Batch::new(&self.db);
        batch.delete(META, META_LOADING);
        self.db.commit(batch)?;
        self.loading = false;
        self.remember_sum();
        Ok(())
    }

    fn tip_bytes(&self) -> [u8; 32] {
        self.tip.map_or(Hash::ZERO, |tip| tip.hash).0
    }

    fn remember_sum(&mut self) {
        self.sums.remember(self.tip_bytes(), &self.db);
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

    /// Visits every row: table, key, value; table by table, in key order.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn rows(&self, visit: impl FnMut(&'static str, &[u8], &[u8])) -> Result<(), ReadError> {
        every_row(&self.db, visit)
    }

    /// The first row that differs from another index's; none if all are the same.
    ///
    /// # Errors
    /// One of the stores cannot be read.
    pub fn same_rows(&self, other: &Store) -> Result<Option<RowDifference>, ReadError> {
        first_difference(&self.db, &other.db)
    }
}

/// What a folder is to hold for a chain; its tables are looked at.
fn wanted(
    dir: &Path,
    chain: &'static Chain,
    network: &'static Network,
) -> Result<Identity, IndexError> {
    if chain.family != Family::Ring {
        return Err(no_index(dir, chain));
    }
    Ok(Identity::new(chain, network))
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

fn read_tip(reader: Reader<'_>) -> Result<Option<Tip>, IndexError> {
    let Some(row) = reader.get(META, META_TIP)? else { return Ok(None) };
    Ok(Some(Tip::read(&row).map_err(|bad| bad.of("meta"))?))
}
