//! The index of a chain of accounts on disk: a run of blocks from its base to its tip.
//!
//! Leaves when to connect what to `sync`, `backfill` and `tracing`. Invariants: a folder of another
//! chain, network, genesis or format is refused; each change is one batch with the new ends in it,
//! a reorganisation too, so that a kill leaves the chain before it or after it; base and tip never
//! claim a block that is not there whole.

mod forks;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chain::account::{Hash, RewardForks};
use chain::{Chain, Family, Hash32, Network};

use super::changes::{connect, disconnect, read_block, trace};
use super::facts::{Block, BlockFacts, Traced};
use super::rewards;
use super::rows::{End, Retry};
use super::schema::{META_BASE, META_BEGUN_AT, META_REWARD_FORKS, TABLES, UNTRACED, untraced_key};
use crate::db::{Batch, Db, Reader, TableSpec};
use crate::identity::{META, META_TIP};
use crate::store::{self, LastBlock, Schema, Word};
use crate::{IndexError, ReadError};

/// An index on disk.
pub type Store = store::Store<Accounts>;

/// What is held in memory of the rows of accounts.
pub struct Accounts {
    forks: RewardForks,
    base: Option<End>,
    begun_at: Option<u32>,
    skipped_logs: Arc<AtomicU64>,
}

impl Schema for Accounts {
    type Tip = End;

    fn tables() -> &'static [TableSpec] {
        &TABLES
    }

    fn are_of(chain: &Chain) -> bool {
        chain.family == Family::Account
    }

    fn read(
        db: &Db,
        _: &Chain,
        network: &Network,
        tip: Option<End>,
    ) -> Result<Accounts, IndexError> {
        let base = db.latest().get(META, META_BASE)?;
        let base = base.map(|row| End::read(&row).map_err(|bad| bad.of("meta"))).transpose()?;
        check_ends(db, tip, base)?;
        let (forks, begun_at) = (rewards::of_store(db, network)?, read_begun_at(db)?);
        Ok(Accounts { forks, base, begun_at, skipped_logs: Arc::default() })
    }

    fn block(reader: Reader<'_>, height: u32) -> Result<Option<BlockFacts>, ReadError> {
        read_block(reader, height)
    }

    fn words(store: &Store) -> Vec<Word> {
        let has_blocks = store.tip.is_some();
        let base = store.base().map(|base| (META_BASE, base.bytes(), true));
        let begun_at = store.begun_at();
        let begun_at = begun_at.map(|at| (META_BEGUN_AT, at.to_be_bytes().to_vec(), has_blocks));
        let forks = rewards::row(store.forks(), store.network());
        let forks = forks.map(|row| (META_REWARD_FORKS, row, true));
        [base, begun_at, forks].into_iter().flatten().collect()
    }
}

impl Store {
    /// The heights from which its blocks are made by other rules.
    pub fn forks(&self) -> RewardForks {
        self.own.forks
    }

    /// The first block that is held: height, and hash of the block before it.
    pub fn base(&self) -> Option<End> {
        self.own.base
    }

    /// The height of the node's tip when the index began.
    pub fn begun_at(&self) -> Option<u32> {
        self.own.begun_at
    }

    /// How many logs of the blocks that were added claimed to tell of tokens and were not of that
    /// shape; it counts on.
    pub(super) fn skipped_logs(&self) -> &Arc<AtomicU64> {
        &self.own.skipped_logs
    }

    fn count_skipped(&self, blocks: &[Block]) {
        let logs = blocks.iter().flat_map(|block| &block.transactions).flat_map(|(_, logs)| logs);
        let skipped = logs.filter(|log| log.is_malformed()).count();
        self.own.skipped_logs.fetch_add(skipped as u64, Ordering::Relaxed);
    }

    pub(crate) fn reader(&self) -> Reader<'_> {
        self.db.latest()
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
        let fork = match fork.filter(|fork| self.own.base.is_some_and(|base| base.height <= *fork))
        {
            Some(fork) => self.block(fork)?,
            None => None,
        };
        if let (Some(tip), Some(base)) = (self.tip, self.own.base) {
            let lowest = fork.as_ref().map_or(base.height, |fork| fork.height + 1);
            for height in lowest..=tip.height {
                disconnect(self.db.latest(), &mut batch, height)?;
            }
        }
        let mut before = fork.as_ref().map(End::of);
        let mut base = self.own.base.filter(|_| before.is_some());
        for block in blocks {
            follows(before, block)?;
            connect(&mut batch, block);
            let facts = &block.facts;
            base = base.or(Some(End { height: facts.height, hash: facts.parent }));
            before = Some(End::of(facts));
        }
        self.move_ends(batch, before, base)?;
        self.count_skipped(blocks);
        Ok(())
    }

    /// Adds blocks before our base, the highest first.
    pub(crate) fn prepend(&mut self, blocks: &[Block]) -> Result<(), IndexError> {
        let db = Arc::clone(&self.db);
        let mut batch = Batch::new(&db);
        let mut base = self.own.base;
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
        self.move_ends(batch, self.tip, base)?;
        self.count_skipped(blocks);
        Ok(())
    }

    fn move_ends(
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
        let begun_at = self.own.begun_at.or(tip.map(|tip| tip.height));
        if let Some(height) = begun_at {
            batch.put(META, META_BEGUN_AT, &height.to_be_bytes());
        }
        self.commit(batch, tip)?;
        (self.own.base, self.own.begun_at) = (base, begun_at);
        Ok(())
    }

    /// Notes how high the chain was when the index began, which says how far back it goes.
    pub(crate) fn begin_at(&mut self, height: u32) {
        self.own.begun_at.get_or_insert(height);
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
            let decides = u64::from(*height) < self.own.forks.byzantium;
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

fn check_ends(db: &Db, tip: Option<End>, base: Option<End>) -> Result<(), IndexError> {
    match (tip, base) {
        (None, None) => Ok(()),
        (Some(tip), Some(base)) if base.height <= tip.height => {
            let block = |height| read_block(db.latest(), height);
            let top = block(tip.height)?.is_some_and(|block| block.hash == tip.hash);
            let low = block(base.height)?.is_some_and(|block| block.parent == base.hash);
            match top && low {
                true => Ok(()),
                false => Err(IndexError::damaged("block_by_height does not fit its ends")),
            }
        }
        _ => Err(IndexError::damaged("the ends in meta make no sense")),
    }
}

fn read_begun_at(db: &Db) -> Result<Option<u32>, IndexError> {
    let Some(row) = db.latest().get(META, META_BEGUN_AT)? else { return Ok(None) };
    let height = <[u8; 4]>::try_from(&row[..]).map(u32::from_be_bytes);
    height.map(Some).map_err(|_| IndexError::damaged("a row of meta makes no sense"))
}

#[cfg(test)]
mod tests;
