//! The index of one chain on disk, of whichever family: its rows up to a tip.
//!
//! Leaves what a block does to the rows to the families, and when to connect what to `sync`.
//! Invariants: a folder of another chain, network, genesis or format is refused; each change of the
//! tip is one batch, on the disk before it is told.

mod numbered;
mod words;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chain::{Chain, Network};

use crate::db::{Batch, Db, Memory, Reader, TableSpec};
use crate::identity::{META, META_TIP, no_index};
use crate::row::BadRow;
use crate::row_difference::{RowDifference, every_row, first_difference};
use crate::{Identity, IndexError, ReadError, folder};

pub(crate) use numbered::{Numbered, Numbers, read_heights};
pub(crate) use words::Word;

/// The last block that rows include.
pub trait LastBlock: Copy + Eq + std::hash::Hash + Send + 'static {
    /// Name of a block.
    type Hash: Copy + Eq + Display + Send + Sync + 'static;
    /// A block, as its row has it.
    type Block;

    /// The tip that a block is.
    fn of(block: &Self::Block) -> Self;

    /// Its height.
    fn height(&self) -> u32;

    /// Its hash.
    fn hash(&self) -> Self::Hash;

    /// Its row.
    fn bytes(&self) -> Vec<u8>;

    /// Reads such a row.
    ///
    /// # Errors
    /// It makes no sense.
    fn read(row: &[u8]) -> Result<Self, BadRow>;
}

/// The rows of a family: which tables there are, and what of them is held in memory beside the tip.
///
/// The trait is private to this crate: families are a closed set.
pub trait Schema: Sized + Send + 'static {
    /// The last block.
    type Tip: LastBlock;

    /// Every table. The first has the store's own words, the second the blocks by height.
    fn tables() -> &'static [TableSpec];

    /// Whether a chain has such rows.
    fn are_of(chain: &Chain) -> bool;

    /// Makes a store that is new this index's own, and refuses one that is another's.
    ///
    /// # Errors
    /// As [`Identity::claim`] says.
    fn claim(db: &Db, wanted: &Identity) -> Result<(), IndexError> {
        wanted.claim(db, |_| Ok(()))
    }

    /// What is held in memory, at a tip.
    ///
    /// # Errors
    /// A damaged index.
    fn read(
        db: &Db,
        chain: &Chain,
        network: &Network,
        tip: Option<Self::Tip>,
    ) -> Result<Self, IndexError>;

    /// The block at a height.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    fn block(reader: Reader<'_>, height: u32) -> Result<Option<BlockOf<Self>>, ReadError>;

    /// What the index says of itself besides its identity and its tip.
    fn words(_store: &Store<Self>) -> Vec<Word> {
        Vec::new()
    }

    /// Clears away what is of no use to a store that was just opened to be written.
    ///
    /// # Errors
    /// The disk.
    fn tidy(_store: &Store<Self>) -> Result<(), IndexError> {
        Ok(())
    }
}

/// A block of rows.
pub(crate) type BlockOf<R> = <<R as Schema>::Tip as LastBlock>::Block;

/// The name of a block of rows.
pub(crate) type HashOf<R> = <<R as Schema>::Tip as LastBlock>::Hash;

/// An index on disk.
pub struct Store<R: Schema> {
    pub(crate) db: Arc<Db>,
    chain: &'static Chain,
    network: &'static Network,
    pub(crate) tip: Option<R::Tip>,
    /// What its family holds in memory.
    pub(crate) own: R,
}

impl<R: Schema> Store<R> {
    /// Opens the index of a chain in `dir`, or begins one.
    ///
    /// # Errors
    /// The folder holds something else, is in use or damaged; the chain is of another family.
    pub fn open(
        dir: &Path,
        chain: &'static Chain,
        network: &'static Network,
        memory: &Memory,
    ) -> Result<Store<R>, IndexError> {
        Store::claimed(dir, chain, network, memory, R::claim)
    }

    /// The same with another way to claim the folder.
    pub(crate) fn claimed(
        dir: &Path,
        chain: &'static Chain,
        network: &'static Network,
        memory: &Memory,
        claim: impl FnOnce(&Db, &Identity) -> Result<(), IndexError>,
    ) -> Result<Store<R>, IndexError> {
        let wanted = wanted::<R>(dir, chain, network)?;
        let db = folder::open(dir, &wanted, R::tables(), memory)?;
        claim(&db, &wanted)?;
        let store = Store::on(db, chain, network)?;
        R::tidy(&store)?;
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
    ) -> Result<Store<R>, IndexError> {
        let wanted = wanted::<R>(dir, chain, network)?;
        let db = folder::open_read_only(dir, &wanted, R::tables(), memory)?;
        Store::on(db, chain, network)
    }

    fn on(
        db: Arc<Db>,
        chain: &'static Chain,
        network: &'static Network,
    ) -> Result<Store<R>, IndexError> {
        let row = db.latest().get(META, META_TIP)?;
        let tip = row.map(|row| R::Tip::read(&row).map_err(|bad| bad.of("meta"))).transpose()?;
        let own = R::read(&db, chain, network, tip)?;
        Ok(Store { db, chain, network, tip, own })
    }

    /// What the folder holds, without opening it as an index of a certain chain.
    ///
    /// # Errors
    /// As for `open`; an identity that cannot be read.
    pub fn identity(dir: &Path) -> Result<Option<Identity>, IndexError> {
        Identity::of_folder(dir, R::tables())
    }

    /// Whether a process has the index in a folder open, be it this one.
    pub fn is_open(dir: &Path) -> bool {
        folder::is_open(dir, R::tables())
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
    pub fn tip(&self) -> Option<R::Tip> {
        self.tip
    }

    pub(crate) fn db(&self) -> &Arc<Db> {
        &self.db
    }

    /// The block at a height of our chain.
    ///
    /// # Errors
    /// A damaged index.
    pub fn block(&self, height: u32) -> Result<Option<BlockOf<R>>, ReadError> {
        R::block(self.db.latest(), height)
    }

    /// A batch becomes rows, up to this tip.
    pub(crate) fn commit(
        &mut self,
        batch: Batch<'_>,
        tip: Option<R::Tip>,
    ) -> Result<(), IndexError> {
        self.db.commit(batch)?;
        self.tip = tip;
        Ok(())
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

    /// Every row as a line of text.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn dump(&self) -> Result<Vec<String>, ReadError> {
        let mut lines = Vec::new();
        self.rows(|table, key, value| {
            let (key, value) = (const_hex::encode(key), const_hex::encode(value));
            lines.push(format!("{table} {key} {value}"));
        })?;
        Ok(lines)
    }

    /// The first row that differs from another index's; none if all are the same. Two indexes of
    /// the same blocks have the same rows, however they came about.
    ///
    /// # Errors
    /// One of the stores cannot be read.
    pub fn same_rows(&self, other: &Store<R>) -> Result<Option<RowDifference>, ReadError> {
        first_difference(&self.db, &other.db)
    }
}

/// What a folder is to hold for a chain.
fn wanted<R: Schema>(dir: &Path, chain: &Chain, network: &Network) -> Result<Identity, IndexError> {
    if R::are_of(chain) { Ok(Identity::new(chain, network)) } else { Err(no_index(dir, chain)) }
}
