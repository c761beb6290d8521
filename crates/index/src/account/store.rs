//! The index of a chain of accounts on disk: a run of blocks from its base to its tip.
//!
//! Leaves when to connect what to `sync`, `backfill` and `tracing`. Invariants: a folder of another
//! chain, network, genesis or format is refused; each change is one batch with the new ends in it,
//! a reorganisation too, so that a kill leaves the chain before it or after it; base and tip never
//! claim a block that is not there whole.

mod forks;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chain::account::{Hash, RewardForks};
use chain::{Chain, Hash32, Network};

use super::changes::{connect, disconnect, read_block, trace};
use super::facts::{Block, BlockFacts, Traced};
use super::rewards;
use super::rows::{End, Retry};
use super::schema::{META_BASE, META_BEGUN_AT, META_TIP, TABLES, UNTRACED, untraced_key};
use crate::db::{Batch, Db, Memory, Reader};
use crate::identity::META;
use crate::{Identity, IndexError, ReadError, folder};

/// An index on disk.
pub struct Store {
    db: Arc<Db>,
    chain: &'static Chain,
    network: &'static Network,
    forks: RewardForks,
    tip: Option<End>,
    base: Option<End>,
    begun_at: Option<u32>,
    skipped_logs: Arc<AtomicU64>,
}

impl Store {
    /// Opens the index of a chain in `dir`, or begins one.
    ///
    /// # Errors
    /// The folder holds something else, is in use or damaged.
    pub fn open(
        dir: &Path,
        chain: &'static Chain,
        network: &'static Network,
        memory: &Memory,
    ) -> Result<Store, IndexError> {
        let wanted = Identity::new(chain, network);
        let db = folder::open(dir, &wanted, &TABLES, memory)?;
        wanted.claim(&db, |_| Ok(()))?;
        Store::on(db, chain, network)
    }

    /// Opens the index of a chain for reading, as it is now; another process may go on with it.
    ///
    /// # Errors
    /// The folder holds no index or something else, or is damaged.
    pub fn open_read_only(
        dir: &Path,
        chain: &'static Chain,
        network: &'static Network,
        memory: &Memory,
    ) -> Result<Store, IndexError> {
        let wanted = Identity::new(chain, network);
        let db = folder::open_read_only(dir, &wanted, &TABLES, memory)?;
        Store::on(db, chain, network)
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

    fn on(
        db: Arc<Db>,
        chain: &'static Chain,
        network: &'static Network,
    ) -> Result<Store, IndexError> {
        let (tip, base) = (read_end(&db, META_TIP)?, read_end(&db, META_BASE)?);
        let (forks, begun_at) = (rewards::of_store(&db, network)?, read_begun_at(&db)?);
        let skipped_logs = Arc::default();
        let store = Store { db, chain, network, forks, tip, base, begun_at, skipped_logs };
        store.check_ends()?;
        Ok(store)
    }

    fn check_ends(&self) -> Result<(), IndexError> {
        match (self.tip, self.base) {
            (None, None) => Ok(()),
            (Some(tip), Some(base)) if base.height <= tip.height => {
                let top = self.block(tip.height)?.is_some_and(|block| block.hash == tip.hash);
                let low = self.block(base.height)?.is_some_and(|block| block.parent == base.hash);
                match top && low {
                    true => Ok(()),
                    false => Err(IndexError::damaged("block_by_height does not fit its ends")),
                }
            }
            _ => Err(IndexError::damaged("the ends in meta make no sense")),
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

    /// The heights from which its blocks are made by other rules.
    pub fn forks(&self) -> RewardForks {
        self.forks
    }

    /// The folder.
    pub fn dir(&self) -> PathBuf {
        self.db.dir().to_owned()
    }

    /// The last block: height and hash; none in an index that has just begun.
    pub fn tip(&self) -> Option<End> {
        self.tip
    }

    /// The first block that is held: height, and hash of the block before it.
    pub fn base(&self) -> Option<End> {
        self.base
    }

    /// The height of the node's tip when the index began.
    pub fn begun_at(&self) -> Option<u32> {
        self.begun_at
    }

    /// How many logs of the blocks that were added claimed to tell of tokens and were not of that
    /// shape; it counts on.
    pub(super) fn skipped_logs(&self) -> &Arc<AtomicU64> {
        &self.skipped_logs
    }

    fn count_skipped(&self, blocks: &[Block]) {
        let logs = blocks.iter().flat_map(|block| &block.transactions).flat_map(|(_, logs)| logs);
        let skipped = logs.filter(|log| log.is_malformed()).count();
        self.skipped_logs.fetch_add(skipped as u64, Ordering::Relaxed);
    }

    pub(crate) fn db(&self) -> &Arc<Db> {
        &self.db
    }

    pub(crate) fn reader(&self) -> Reader<'_> {
        self.db.latest()
    }

    /// The block at a height.
    ///
    /// # Errors
    /// A damaged index.
    pub fn block(&self, height: u32) -> Result<Option<BlockFacts>, ReadError> {
        read_block(self.db.latest(), height)
    }

    /// Adds the block after our tip; the first one of an empty index may be any.
    pub(crate) fn extend(&mut self, block: &Block) -> Result<(), IndexError> {
        self.replace(self.tip.map(|tip| tip.height), std::slice::from_ref(block))
    }

    /// Takes blocks back down to `fork`, which stays, and adds others after it, in one batch. No
    /// fork: nothing stays.
    pub(crate) fn replace(
        &mut self,
        fork: Option<u32>,
        blocks: &[Block],
    ) -> Result<(), IndexError> {
        let db = Arc::clone(&self.db);
        let mut batch = Batch::new(&db);
        let fork = match fork.filter(|fork| self.base.is_some_and(|base| base.height <= *fork)) {
            Some(fork) => self.block(fork)?,
            None => None,
        };
        if let (Some(tip), Some(base)) = (self.tip, self.base) {
            let lowest = fork.as_ref().map_or(base.height, |fork| fork.height + 1);
            for height in lowest..=tip.height {
                disconnect(self.db.latest(), &mut batch, height)?;
            }
        }
        let mut before = fork.as_ref().map(|fork| End { height: fork.height, hash: fork.hash });
        let mut base = self.base.filter(|_| before.is_some());
        for block in blocks {
            follows(before, block)?;
            connect(&mut batch, block);
            let facts = &block.facts;
            base = base.or(Some(End { height: facts.height, hash: facts.parent }));
            before = Some(End { height: facts.height, hash: facts.hash });
        }
        self.commit(batch, before, base)?;
        self.count_skipped(blocks);
        Ok(())
    }

    /// Adds blocks before our base, the highest first.
    pub(crate) fn prepend(&mut self, blocks: &[Block]) -> Result<(), IndexError> {
        let db = Arc::clone(&self.db);
        let mut batch = Batch::new(&db);
        let mut base = self.base;
        for block in blocks {
            let facts = &block.facts;
            let linked = base.is_some_and(|base| {
                base.hash == facts.hash && base.height.checked_sub(1) == Some(facts.height)
            });
            if !linked {
                return Err(misfit(block));
            }
            connect(&mut batch, block);
            base = Some(End { height: facts.height, hash: facts.parent });
        }
        self.commit(batch, self.tip, base)?;
        self.count_skipped(blocks);
        Ok(())
    }

    fn commit(
        &mut self,
        mut batch: Batch<'_>,
        tip: Option<End>,
        base: Option<End>,
    ) -> Result<(), IndexError> {
        for (key, end) in [(META_TIP, &tip), (META_BASE, &base)] {
            match end {
                Some(end) => batch.put(META, key, &end.bytes()),
                None => batch.delete(META, key),
            }
        }
        let begun_at = self.begun_at.or(tip.map(|tip| tip.height));
        if let Some(height) = begun_at {
            batch.put(META, META_BEGUN_AT, &height.to_be_bytes());
        }
        self.db.commit(batch)?;
        (self.tip, self.base, self.begun_at) = (tip, base, begun_at);
        Ok(())
    }

    /// Notes how high the chain was when the index began, which says how far back it goes.
    pub(crate) fn begin_at(&mut self, height: u32) {
        self.begun_at.get_or_insert(height);
    }

    /// Adds what traces tell of blocks, each with its height and hash, in one batch; gives how many
    /// of them are ours still.
    pub(crate) fn trace(
        &mut self,
        blocks: &[(u32, Hash, Vec<Traced>)],
    ) -> Result<usize, IndexError> {
        let mut batch = Batch::new(&self.db);
        let mut added = 0;
        for (height, hash, traces) in blocks {
            let ours = self.block(*height)?.filter(|block| block.hash == *hash);
            if ours.is_none_or(|block| block.tx_count as usize != traces.len()) {
                continue;
            }
            let decides = u64::from(*height) < self.forks.byzantium;
            trace(self.db.latest(), &mut batch, *height, traces, decides)?;
            added += 1;
        }
        self.db.commit(batch)?;
        Ok(added)
    }

    /// Notes that the traces of a block were asked for in vain.
    pub(crate) fn postpone(&mut self, height: u32, retry: Retry) -> Result<(), IndexError> {
        if self.db.latest().get(UNTRACED, &untraced_key(height))?.is_none() {
            return Ok(());
        }
        let mut batch = Batch::new(&self.db);
        batch.put(UNTRACED, &untraced_key(height), &retry.bytes());
        self.db.commit(batch)
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

    /// Every row of every table, as text, for a comparison of two indexes.
    ///
    /// # Errors
    /// A damaged index.
    pub fn dump(&self) -> Result<Vec<String>, ReadError> {
        let mut lines = Vec::new();
        for (table, name) in self.db.tables() {
            self.db.latest().scan_all(table, |key, value| {
                let (key, value) = (const_hex::encode(key), const_hex::encode(value));
                lines.push(format!("{name} {key} {value}"));
                std::ops::ControlFlow::Continue(())
            })?;
        }
        Ok(lines)
    }
}

fn follows(before: Option<End>, block: &Block) -> Result<(), IndexError> {
    let facts = &block.facts;
    let linked = before.is_none_or(|before| {
        before.hash == facts.parent && before.height.checked_add(1) == Some(facts.height)
    });
    if linked { Ok(()) } else { Err(misfit(block)) }
}

fn misfit(block: &Block) -> IndexError {
    // Hashes of this family are shown in the order of their bytes.
    let mut shown = block.facts.hash.0;
    shown.reverse();
    IndexError::NotNext { hash: Hash32::from_wire(shown) }
}

fn read_end(db: &Db, key: &[u8]) -> Result<Option<End>, IndexError> {
    let Some(row) = db.latest().get(META, key)? else { return Ok(None) };
    Ok(Some(End::read(&row).map_err(|bad| bad.of("meta"))?))
}

fn read_begun_at(db: &Db) -> Result<Option<u32>, IndexError> {
    let Some(row) = db.latest().get(META, META_BEGUN_AT)? else { return Ok(None) };
    let height = <[u8; 4]>::try_from(&row[..]).map(u32::from_be_bytes);
    height.map(Some).map_err(|_| IndexError::damaged("a row of meta makes no sense"))
}

#[cfg(test)]
mod tests;
