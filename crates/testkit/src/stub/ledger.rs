//! The chain that a stub node serves, and the transactions that wait for a block.
//!
//! What it adds up to is left to `coins`, speaking about it to `methods`. Invariant: every block of
//! the best chain names the one below it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use chain::utxo::{Block, Format, Header, OutPoint, Transaction};
use chain::{Chain, Hash32};

use super::coins::Coins;
use super::misfit::Misfit;

/// A block that was ever taken.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) header: Header,
    pub(super) height: u32,
    pub(super) raw: Bytes,
}

/// The chain and the transactions that wait for a block.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) format: Format,
    best: Vec<Arc<Stored>>,
    known: HashMap<Hash32, Arc<Stored>>,
    /// `None`: accounts are not kept.
    coins: Option<Coins>,
    /// Where each transaction of the best chain stands, if that is kept.
    places: Option<HashMap<Hash32, (Hash32, Bytes)>>,
    pool: Vec<(Hash32, Bytes)>,
    /// Grows with every transaction that came or went.
    pub(super) pool_sequence: u64,
    pruned_below: u32,
    /// Blocks whose bytes are given with the last one wrong.
    spoilt: HashSet<u32>,
    /// Waiting transactions that are listed and not given.
    withheld: HashSet<Hash32>,
    /// Ids that are listed with those that wait, of which there is nothing.
    made_up: Vec<Hash32>,
}

impl Ledger {
    /// With the first block alone.
    pub(super) fn new(
        chain: &Chain,
        genesis: Bytes,
        accounts: bool,
        index: bool,
    ) -> Result<Ledger, Misfit> {
        let format = *chain.format().expect("a chain with a genesis block here has a format");
        let header = Block::decode(&genesis, &format)?.header;
        let mut ledger = Ledger {
            format,
            best: Vec::new(),
            known: HashMap::new(),
            coins: accounts.then(Coins::after_first_block),
            places: index.then(HashMap::new),
            pool: Vec::new(),
            pool_sequence: 1,
            pruned_below: 0,
            spoilt: HashSet::new(),
            withheld: HashSet::new(),
            made_up: Vec::new(),
        };
        ledger.push(header, genesis);
        Ok(ledger)
    }

    /// Height of the tip.
    pub(super) fn height(&self) -> u32 {
        self.best.len() as u32 - 1
    }

    /// The last block.
    pub(super) fn tip(&self) -> &Arc<Stored> {
        &self.best[self.best.len() - 1]
    }

    /// A block of the best chain.
    pub(super) fn at(&self, height: u32) -> Option<&Arc<Stored>> {
        self.best.get(height as usize)
    }

    /// Any block that was ever taken.
    pub(super) fn block(&self, hash: &Hash32) -> Option<&Arc<Stored>> {
        self.known.get(hash)
    }

    /// Whether a block is in the best chain.
    pub(super) fn is_best(&self, block: &Stored) -> bool {
        self.at(block.height).is_some_and(|best| best.header.hash == block.header.hash)
    }

    /// Whether a block's bytes are gone.
    pub(super) fn is_pruned(&self, block: &Stored) -> bool {
        block.height < self.pruned_below
    }

    /// The lowest block whose bytes are there, if others are gone.
    pub(super) fn pruned_below(&self) -> Option<u32> {
        Some(self.pruned_below).filter(|height| *height > 0)
    }

    /// Forgets the bytes of the blocks below a height.
    pub(super) fn prune(&mut self, below: u32) {
        self.pruned_below = below;
    }

    /// Gives the bytes of these blocks with the last one wrong from now on.
    pub(super) fn spoil(&mut self, heights: &[u32]) {
        self.spoilt = heights.iter().copied().collect();
    }

    /// Lists these waiting transactions and does not give them, from now on.
    pub(super) fn withhold(&mut self, txids: &[Hash32]) {
        self.withheld = txids.iter().copied().collect();
    }

    /// Lists these ids with those that wait, from now on.
    pub(super) fn make_up(&mut self, txids: &[Hash32]) {
        self.made_up = txids.to_vec();
    }

    /// The ids of the mempool as they are listed.
    pub(super) fn listed(&self) -> impl Iterator<Item = &Hash32> {
        self.pool.iter().map(|(txid, _)| txid).chain(&self.made_up)
    }

    /// The bytes of a block as they are given.
    pub(super) fn given(&self, block: &Stored) -> Bytes {
        if !self.spoilt.contains(&block.height) {
            return block.raw.clone();
        }
        let mut raw = block.raw.to_vec();
        raw.last_mut().into_iter().for_each(|last| *last ^= 1);
        raw.into()
    }

    /// The unspent outputs, if accounts are kept.
    pub(super) fn coins(&self) -> Option<&Coins> {
        self.coins.as_ref()
    }

    /// Whether transactions of the chain can be found by their ids.
    pub(super) fn has_index(&self) -> bool {
        self.places.is_some()
    }

    /// Ids and bytes of the transactions that wait.
    pub(super) fn pool(&self) -> &[(Hash32, Bytes)] {
        &self.pool
    }

    /// A transaction, and the block that it is in.
    pub(super) fn transaction(&self, txid: &Hash32) -> Option<(Option<Hash32>, Bytes)> {
        let waiting = self.pool.iter().find(|(id, _)| id == txid);
        let waiting = waiting.filter(|(id, _)| !self.withheld.contains(id));
        if let Some((_, raw)) = waiting {
            return Some((None, raw.clone()));
        }
        let (block, raw) = self.places.as_ref()?.get(txid)?;
        Some((Some(*block), raw.clone()))
    }

    /// Replaces the transactions that wait, and gives the ids of those that are new.
    pub(super) fn set_pool(&mut self, transactions: Vec<Bytes>) -> Result<Vec<Hash32>, Misfit> {
        let mut pool = Vec::with_capacity(transactions.len());
        for raw in transactions {
            let txid = Transaction::decode(&raw, &self.format)?.txid();
            pool.push((txid, raw));
        }
        self.pool_sequence += (pool.len() + self.pool.len()) as u64;
        let before: HashSet<Hash32> = self.pool.iter().map(|(txid, _)| *txid).collect();
        let ids = pool.iter().map(|(txid, _)| *txid);
        let came = ids.filter(|txid| !before.contains(txid)).collect();
        self.pool = pool;
        Ok(came)
    }

    /// Takes the next block. What it has, and what it makes impossible, waits no longer.
    pub(super) fn extend(&mut self, raw: Bytes) -> Result<(), Misfit> {
        let block = Block::decode(&raw, &self.format)?;
        let (header, tip) = (block.header, self.tip().header.hash);
        if header.previous != tip {
            return Err(Misfit::NotOnTip(header.previous, tip));
        }
        if let Some(coins) = &mut self.coins {
            coins.connect(&block)?;
        }
        if let Some(places) = &mut self.places {
            let items = block.txids.iter().zip(&block.transactions);
            places.extend(items.map(|(txid, transaction)| {
                (*txid, (header.hash, raw.slice_ref(transaction.raw())))
            }));
        }
        self.clear_pool(&block)?;
        self.push(header, raw);
        Ok(())
    }

    /// Takes the next block without a look at its transactions. Only for a chain whose accounts
    /// are not kept.
    pub(super) fn push(&mut self, header: Header, raw: Bytes) {
        let stored = Arc::new(Stored { header, height: self.best.len() as u32, raw });
        self.known.insert(header.hash, Arc::clone(&stored));
        self.best.push(stored);
    }

    /// Takes the last blocks away.
    pub(super) fn rewind(&mut self, blocks: u32) -> Result<(), Misfit> {
        if blocks > self.height() {
            return Err(Misfit::TooFewBlocks(self.height()));
        }
        for _ in 0..blocks {
            let Some(stored) = self.best.pop() else { break };
            let block = Block::decode(&stored.raw, &self.format)?;
            if let Some(coins) = &mut self.coins {
                coins.disconnect(&block);
            }
            if let Some(places) = &mut self.places {
                for txid in &block.txids {
                    if places.get(txid).is_some_and(|place| place.0 == block.header.hash) {
                        places.remove(txid);
                    }
                }
            }
        }
        Ok(())
    }

    /// Replaces what lies above the block that a branch stands on by the branch.
    pub(super) fn switch(&mut self, branch: Vec<Bytes>) -> Result<(), Misfit> {
        let Some(first) = branch.first() else { return Ok(()) };
        let parent = Block::decode(first, &self.format)?.header.previous;
        let fork = self.known.get(&parent).filter(|fork| self.is_best(fork));
        let fork = fork.ok_or(Misfit::NotInChain(parent))?.height;
        self.rewind(self.height() - fork)?;
        branch.into_iter().try_for_each(|raw| self.extend(raw))
    }

    fn clear_pool(&mut self, block: &Block<'_>) -> Result<(), Misfit> {
        if self.pool.is_empty() {
            return Ok(());
        }
        let spent: HashSet<OutPoint> = block
            .transactions
            .iter()
            .flat_map(|transaction| transaction.inputs().map(|input| input.previous))
            .collect();
        let before = self.pool.len();
        let mut left = Vec::with_capacity(before);
        for (txid, raw) in self.pool.drain(..) {
            let transaction = Transaction::decode(&raw, &self.format)?;
            if !transaction.inputs().any(|input| spent.contains(&input.previous)) {
                left.push((txid, raw));
            }
        }
        self.pool_sequence += (before - left.len()) as u64;
        self.pool = left;
        Ok(())
    }
}
