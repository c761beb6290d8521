//! One tip of a chain of accounts: what every answer is made from.
//!
//! Leaves JSON to the explorer, and what only a node knows (balances, the pool) to `questions` and
//! `pool`. Invariants: a view never changes; a read needs a bounded number of rows, whoever asks;
//! coverage never claims more than was seen (decision A7).

use std::ops::ControlFlow;
use std::sync::Arc;

use chain::account::{Address, Hash};

use super::changes::{creation_of, logs_at, newest_untraced, operations_at, read_block, read_tx};
use super::facts::{BlockFacts, Creation, Log, Operation, Transaction};
use super::rows::End;
use super::schema::{
    HEIGHT_BY_HASH, HISTORY_BY_ADDRESS, PLACE_BY_TX, TxPlace, UNTRACED, address_key, hash_prefix,
    untraced_key,
};
use super::store::Store;
use crate::db::{Reader, Snapshot};
use crate::{ReadError, Tier};

/// One tip.
pub struct View {
    tip: BlockFacts,
    base: End,
    snapshot: Arc<Snapshot>,
}

/// How far the index has seen (decision A7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// The first block that is held.
    pub from_height: u32,
    /// The last one.
    pub to_height: u32,
    /// The first block is that of the chain.
    pub complete: bool,
    /// Every block from the first to the last was traced.
    pub traces: bool,
    /// From here to the tip every block was traced; none where the tip was not.
    pub traces_from_height: Option<u32>,
}

/// A transaction with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Where it stands.
    pub place: TxPlace,
    /// Its block.
    pub block: Arc<BlockFacts>,
    /// The transaction.
    pub transaction: Transaction,
}

/// A part of a history, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryPage {
    /// Its transactions.
    pub transactions: Vec<Placed>,
    /// Where the next part begins; none at the end of what is held.
    pub next: Option<TxPlace>,
}

impl View {
    /// What a store holds now, if it holds a block.
    ///
    /// # Errors
    /// A damaged index.
    pub fn of(store: &Store) -> Result<Option<View>, ReadError> {
        let (Some(tip), Some(base)) = (store.tip(), store.base()) else { return Ok(None) };
        let snapshot = Arc::new(store.db().snapshot());
        let block = read_block(snapshot.reader(Tier::Any), tip.height)?;
        let gone = || ReadError::Damaged("the row of the tip is gone".into());
        Ok(Some(View { tip: block.ok_or_else(gone)?, base, snapshot }))
    }

    fn reader(&self, tier: Tier) -> Reader<'_> {
        self.snapshot.reader(tier)
    }

    /// The last block.
    pub fn tip(&self) -> &BlockFacts {
        &self.tip
    }

    /// The first block that is held.
    pub fn base(&self) -> u32 {
        self.base.height
    }

    /// The block at a height; none outside of what is held.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn block(&self, height: u32, tier: Tier) -> Result<Option<BlockFacts>, ReadError> {
        if height == self.tip.height {
            return Ok(Some(self.tip.clone()));
        }
        read_block(self.reader(tier), height)
    }

    /// The block of a hash; none of one that is not in our chain.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn block_of(&self, hash: &Hash, tier: Tier) -> Result<Option<BlockFacts>, ReadError> {
        let prefix = hash_prefix(hash);
        let mut heights = Vec::new();
        self.reader(tier).scan(HEIGHT_BY_HASH, &prefix, &prefix, |key, _| {
            heights.extend(key.last_chunk::<4>().map(|height| u32::from_be_bytes(*height)));
            ControlFlow::Continue(())
        })?;
        for height in heights {
            let block = self.block(height, tier)?;
            if let Some(block) = block.filter(|block| block.hash == *hash) {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// The transaction of a hash; none of one that is not in our chain.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn transaction(&self, hash: &Hash, tier: Tier) -> Result<Option<Placed>, ReadError> {
        let prefix = hash_prefix(hash);
        let mut places = Vec::new();
        self.reader(tier).scan(PLACE_BY_TX, &prefix, &prefix, |key, _| {
            places.extend(key.last_chunk::<7>().and_then(|place| TxPlace::read(place)));
            ControlFlow::Continue(())
        })?;
        for place in places {
            let tx = read_tx(self.reader(tier), place)?.filter(|tx| tx.hash == *hash);
            if let Some(transaction) = tx {
                let block = Arc::new(self.block_at(place, tier)?);
                return Ok(Some(Placed { place, block, transaction }));
            }
        }
        Ok(None)
    }

    fn block_at(&self, place: TxPlace, tier: Tier) -> Result<BlockFacts, ReadError> {
        let gone = || ReadError::Damaged("a row of block_by_height is gone".into());
        self.block(place.height, tier)?.ok_or_else(gone)
    }

    /// Transactions of a block from a place in it on, in its order.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn transactions(
        &self,
        block: &Arc<BlockFacts>,
        from: u32,
        limit: usize,
        tier: Tier,
    ) -> Result<Vec<Placed>, ReadError> {
        let end = block.tx_count.min(from.saturating_add(limit as u32));
        let places = (from..end).map(|index| TxPlace { height: block.height, index });
        places.map(|place| self.placed(place, Arc::clone(block), tier)).collect()
    }

    fn placed(
        &self,
        place: TxPlace,
        block: Arc<BlockFacts>,
        tier: Tier,
    ) -> Result<Placed, ReadError> {
        let gone = || ReadError::Damaged("a row of tx_by_place is gone".into());
        let transaction = read_tx(self.reader(tier), place)?.ok_or_else(gone)?;
        Ok(Placed { place, block, transaction })
    }

    /// The logs of a transaction.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn logs(&self, placed: &Placed, tier: Tier) -> Result<Vec<Log>, ReadError> {
        match placed.transaction.log_count {
            0 => Ok(Vec::new()),
            _ => logs_at(self.reader(tier), placed.place),
        }
    }

    /// What a transaction's calls did; none where its block was not traced.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn operations(
        &self,
        place: TxPlace,
        tier: Tier,
    ) -> Result<Option<Vec<Operation>>, ReadError> {
        let reader = self.reader(tier);
        match reader.get(UNTRACED, &untraced_key(place.height))? {
            Some(_) => Ok(None),
            None => operations_at(reader, place).map(Some),
        }
    }

    /// A part of an address's history: its `limit` newest transactions at `from` and before.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn history(
        &self,
        address: &Address,
        from: TxPlace,
        limit: usize,
        tier: Tier,
    ) -> Result<HistoryPage, ReadError> {
        let mut places = Vec::with_capacity(limit + 1);
        let start = address_key(address, from);
        self.reader(tier).scan(HISTORY_BY_ADDRESS, &address.0, &start, |key, _| {
            places.extend(TxPlace::read_newest(key));
            match places.len() > limit {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        let next = if places.len() > limit { places.pop() } else { None };
        let mut block: Option<Arc<BlockFacts>> = None;
        let mut transactions = Vec::with_capacity(places.len());
        for place in places {
            let known = block.take().filter(|block| block.height == place.height);
            let own = match known {
                Some(known) => known,
                None => Arc::new(self.block_at(place, tier)?),
            };
            transactions.push(self.placed(place, Arc::clone(&own), tier)?);
            block = Some(own);
        }
        Ok(HistoryPage { transactions, next })
    }

    /// The latest creation of a contract in what is held, with its transaction.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn creation(
        &self,
        contract: &Address,
        tier: Tier,
    ) -> Result<Option<(Creation, Hash)>, ReadError> {
        let Some(creation) = creation_of(self.reader(tier), contract)? else { return Ok(None) };
        let place = TxPlace { height: creation.height, index: creation.index };
        let gone = || ReadError::Damaged("a row of tx_by_place is gone".into());
        let tx = read_tx(self.reader(tier), place)?.ok_or_else(gone)?;
        Ok(Some((creation, tx.hash)))
    }

    /// How far the index has seen.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn coverage(&self, tier: Tier) -> Result<Coverage, ReadError> {
        let hole = newest_untraced(self.reader(tier), u32::MAX)?.map(|(height, _)| height);
        let traced_from = hole.map_or(self.base.height, |hole| hole.saturating_add(1));
        Ok(Coverage {
            from_height: self.base.height,
            to_height: self.tip.height,
            complete: self.base.height == 0,
            traces: hole.is_none(),
            traces_from_height: (traced_from <= self.tip.height).then_some(traced_from),
        })
    }
}
