//! The first load: blocks in order become sorted files that the store takes in whole.
//!
//! Leaves fetching to `sync`. A batch of blocks is decoded on other threads while the one before
//! is joined: outputs go into a table of unspent ones, inputs take them out again. Records stream
//! into files in key order; what comes in another order is sorted in runs, which are merged at the
//! end. Invariants: the rows are byte for byte those of `Store::connect` block by block; a kill
//! costs at most one segment; the tip is written last, so that a store either has a tip and all
//! rows up to it, or no tip.

mod coin;
mod coins;
mod finish;
pub(super) mod folder;
mod join;
mod manifest;
mod merged;
mod options;
mod prepared;
mod records;
mod run;
mod run_writer;
mod runs;
mod settle;
mod sort;
mod table_files;
mod twins;
mod voided;

use std::sync::Arc;

use bytes::Bytes;
use chain::Hash32;
use chain::utxo::Format;
use rayon::{ThreadPool, ThreadPoolBuilder};

use self::coins::Coins;
use self::folder::{Folder, file_error, folder};
use self::manifest::Manifest;
pub use self::options::LoadOptions;
use self::prepared::{Prepared, prepare_all};
use self::records::Records;
use self::runs::Runs;
use self::twins::Twins;
use super::schema::TX_BY_NUM;
use super::script_id::HashKey;
use super::store::Store;
use super::tip::Tip;
use crate::IndexError;
use crate::db::Db;
use crate::progress::LoadProgress;

/// A first load under way.
pub struct Loader {
    db: Arc<Db>,
    key: HashKey,
    format: Format,
    options: LoadOptions,
    /// What decodes and merges.
    pool: Arc<ThreadPool>,
    dir: Folder,
    manifest: Manifest,
    coins: Coins,
    twins: Twins,
    runs: Runs,
    records: Records,
    /// Decoded blocks that are joined while the next ones are decoded.
    waiting: Vec<Prepared>,
    /// The block that is joined next, where blocks are voted on: the one after it says how.
    held: Option<Prepared>,
    height: u32,
    next_txnum: u64,
    last: Option<Hash32>,
    last_voided: bool,
    /// What follows the waiting blocks.
    ahead: (u32, Option<Hash32>),
    segment_bytes: u64,
    progress: LoadProgress,
    /// Whether nothing was cut off in the middle.
    sound: bool,
}

impl Loader {
    /// Begins a load of an index without a tip, or goes on with one that was cut off.
    ///
    /// # Errors
    /// The index has a tip, or rows that no load vouches for; the folder cannot be used.
    pub fn open(store: &Store, options: LoadOptions) -> Result<Loader, IndexError> {
        let dir = folder(&store.dir());
        std::fs::create_dir_all(&dir).map_err(|error| file_error(&dir, &error))?;
        let dir = Folder::new(&dir);
        let manifest = Manifest::read(&dir, store.key())?;
        let has_rows = store.db().latest().rows(TX_BY_NUM).here()?.is_some();
        if store.tip().is_some() || (has_rows && manifest.tip.is_none()) {
            return Err(IndexError::damaged("it has rows before its first load; rebuild it"));
        }
        manifest.clear_others(&dir)?;
        let coins = Coins::open(&dir, options.table_bytes, &manifest)?;
        let twins = Twins::open(&dir, &manifest)?;
        let runs = Runs::new(&dir, options.run_bytes, &manifest);
        let records = Records::new(store.db(), &dir, &manifest);
        let (height, last) = (manifest.next_height, manifest.last_hash());
        let pool = ThreadPoolBuilder::new().num_threads(options.threads.max(1));
        let pool = pool.thread_name(|number| format!("load-{number}")).build();
        let pool =
            pool.map_err(|error| IndexError::failed(format!("a load's threads: {error}")))?;
        Ok(Loader {
            db: Arc::clone(store.db()),
            key: *store.key(),
            format: *store.format(),
            options,
            pool: Arc::new(pool),
            dir,
            coins,
            twins,
            runs,
            records,
            waiting: Vec::new(),
            held: None,
            height,
            next_txnum: manifest.next_txnum,
            last,
            last_voided: manifest.last_voided,
            ahead: (height, last),
            segment_bytes: 0,
            progress: LoadProgress {
                blocks: height.into(),
                transactions: manifest.next_txnum,
                bytes: 0,
            },
            manifest,
            sound: true,
        })
    }

    /// Whether a load of this index was begun and not ended.
    pub fn was_begun(store: &Store) -> bool {
        store.tip().is_none() && folder(&store.dir()).join(manifest::NAME).exists()
    }

    /// From now on no file is begun while less than that, in bytes, is free on the disk.
    pub fn keep_free(&self, bytes: u64) {
        self.dir.keep_free(bytes);
    }

    /// Whether it can go on from where it is. After an error that came in the middle of a block
    /// or of a file it cannot: it is to be opened again, and goes on from its last segment.
    pub fn is_sound(&self) -> bool {
        self.sound
    }

    /// Height of the block that is pushed next.
    pub fn next_height(&self) -> u32 {
        self.ahead.0
    }

    /// Hash of the last block that was pushed.
    pub fn last_hash(&self) -> Option<Hash32> {
        self.ahead.1
    }

    /// How far it is.
    pub fn progress(&self) -> LoadProgress {
        self.progress
    }

    /// Whether all rows are in files already and only the store has to take them.
    pub fn is_complete(&self) -> bool {
        self.manifest.tip.is_some()
    }

    /// Adds consecutive raw blocks.
    ///
    /// # Errors
    /// `Block` for bytes that are no block, `NotNext` for one that does not follow, `NoRoom`: none
    /// of these blocks counts, and the load can go on. `Block` for one pushed before that spends
    /// what is not there: the load goes on from that one. Any other error ends it, and so does
    /// `NoRoom` unless it [is sound](Loader::is_sound) all the same; it can be opened again.
    pub fn push(&mut self, blocks: Vec<Bytes>) -> Result<(), IndexError> {
        self.check_room(&blocks)?;
        self.sound = false;
        let joined = std::mem::take(&mut self.waiting);
        let (first, key, format) = (self.ahead.0, self.key, self.format);
        let (pool, mut prepared) = (Arc::clone(&self.pool), Ok(Vec::new()));
        pool.in_place_scope(|scope| {
            scope.spawn(|_| prepared = prepare_all(&blocks, first, &key, &format));
            self.join_all(joined)
        })?;
        self.close_segment_if_full()?;
        self.sound = true;
        let prepared = prepared?;
        let mut last = self.ahead.1.unwrap_or(Hash32::ZERO);
        for block in &prepared {
            if block.previous != last {
                return Err(IndexError::NotNext { hash: block.row.hash });
            }
            last = block.row.hash;
        }
        if let Some(block) = prepared.last() {
            self.ahead = (block.row.height + 1, Some(last));
        }
        self.waiting = prepared;
        Ok(())
    }

    /// Joins what was pushed so far.
    ///
    /// # Errors
    /// As for [`push`](Loader::push).
    pub fn join_pushed(&mut self) -> Result<(), IndexError> {
        self.check_room(&[])?;
        self.sound = false;
        let joined = std::mem::take(&mut self.waiting);
        self.join_all(joined)?;
        if let Some(last) = self.held.take() {
            self.check_spent(&last)?;
            self.held = Some(last);
        }
        self.sound = true;
        Ok(())
    }

    /// Whether there is room for what the next blocks may write, the end of a segment included.
    fn check_room(&self, blocks: &[Bytes]) -> Result<(), IndexError> {
        let coming: usize = blocks.iter().map(Bytes::len).sum();
        let waiting: u64 = self.waiting.iter().map(|block| block.size).sum();
        let runs = 2 * self.options.run_bytes as u64;
        let is_full = self.segment_bytes + waiting >= self.options.segment_bytes;
        let dump = if is_full { runs + self.coins.table_bytes() } else { 0 };
        self.dir.check_room(coming as u64 + runs + dump)
    }

    /// Makes what was pushed so far the point at which a load that is cut off goes on. Takes room
    /// that is to stay free, if it has to: it is what that is for.
    ///
    /// # Errors
    /// Files fail; the load ends, and can be opened again.
    pub fn checkpoint(&mut self) -> Result<(), IndexError> {
        let least = self.dir.least_free();
        self.sound = false;
        self.dir.keep_free(0);
        let joined = std::mem::take(&mut self.waiting);
        let done = self.join_all(joined).and_then(|()| self.close_segment());
        self.dir.keep_free(least);
        self.sound |= done.is_ok();
        done
    }

    fn close_segment_if_full(&mut self) -> Result<(), IndexError> {
        if self.segment_bytes >= self.options.segment_bytes {
            self.close_segment()?;
        }
        Ok(())
    }

    /// Makes what was joined so far the point at which a load that is cut off goes on.
    fn close_segment(&mut self) -> Result<(), IndexError> {
        if self.height == self.manifest.next_height {
            return Ok(());
        }
        self.settle()?;
        let manifest = &mut self.manifest;
        self.records.writer()?.close(manifest)?;
        self.runs.close(manifest)?;
        self.coins.dump(manifest)?;
        self.twins.close(manifest)?;
        manifest.next_height = self.height;
        manifest.next_txnum = self.next_txnum;
        manifest.last_voided = self.last_voided;
        manifest.last = self.last.map(|hash| hash.to_string());
        manifest.write(&self.dir)?;
        manifest.clear_others(&self.dir)?;
        self.segment_bytes = 0;
        Ok(())
    }

    /// Ends the load: merges, gives the files to the store, writes the tip.
    ///
    /// # Errors
    /// Nothing was pushed, or files or store fail; a load that was cut off here is ended by opening
    /// it again and ending it again.
    pub fn finish(mut self, store: &mut Store) -> Result<Tip, IndexError> {
        if !self.is_complete() {
            self.join_rest()?;
            self.close_segment()?;
            let tip = self.last.zip(self.height.checked_sub(1));
            let (hash, height) = tip.ok_or_else(|| IndexError::damaged("nothing was loaded"))?;
            let tip = Tip { height, hash, next_txnum: self.next_txnum };
            // Packed rows take about half of the runs that they are made of, which stay meanwhile.
            self.dir.check_room(self.manifest.run_bytes(&self.dir) / 2)?;
            self.merge(tip)?;
        }
        let tip = self.manifest.finished_tip()?;
        for (table, files) in self.manifest.finished(&self.dir) {
            self.db.ingest(table, files)?;
        }
        store.adopt(tip)?;
        std::fs::remove_dir_all(&*self.dir).map_err(|error| file_error(&self.dir, &error))?;
        Ok(tip)
    }
}

#[cfg(test)]
mod tests;
