//! The chain that a stub node serves, and what it adds up to.
//!
//! Speaking about it is left to `methods`. Invariants: every block of the best chain names the one
//! below it; the unspent outputs are those that the best chain leaves, unspendable ones and the
//! first block's left out as nodes leave them out.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use chain::utxo::{Block, DecodeError, Format, Header, OutPoint, Transaction, is_unspendable};
use chain::{Chain, Hash32};

/// Why a stub node does not take a block or a transaction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// The block does not stand on the tip.
    #[error("the block stands on {0}, the tip is {1}")]
    NotOnTip(Hash32, Hash32),
    /// The first block of a branch stands on none that is in the best chain.
    #[error("the branch stands on {0}, which is not in the best chain")]
    NotInChain(Hash32),
    /// There are no blocks above the first one to take away.
    #[error("there are only {0} blocks above the first one")]
    TooFewBlocks(u32),
    /// An input spends what is not there.
    #[error("output {vout} of {txid} is not there to be spent", txid = .0.txid, vout = .0.vout)]
    NothingToSpend(OutPoint),
    /// The bytes are not what they should be.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] DecodeError),
}

/// A block that was ever taken.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) header: Header,
    pub(super) height: u32,
    pub(super) raw: Bytes,
}

/// An output that can be spent.
#[derive(Clone, Debug)]
pub(super) struct Coin {
    pub(super) value: u64,
    /// With its token prefix, where it has one.
    pub(super) script: Bytes,
}

/// What connecting a block took out of the unspent outputs.
#[derive(Debug, Default)]
struct Undo {
    /// In the order of the inputs.
    spent: Vec<(OutPoint, Coin)>,
    /// Outputs of an earlier transaction of the same id (BIP 30), which those of this block hid.
    hidden: Vec<(OutPoint, Coin)>,
}

/// The unspent outputs.
#[derive(Debug, Default)]
pub(super) struct Coins {
    unspent: HashMap<OutPoint, Coin>,
    total: u128,
    /// By height.
    undo: Vec<Undo>,
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
}

impl Ledger {
    /// With the first block alone.
    pub(super) fn new(
        chain: &Chain,
        genesis: Bytes,
        accounts: bool,
        index: bool,
    ) -> Result<Ledger, Misfit> {
        let format = chain.format.expect("a chain with a genesis block here has a format");
        let header = Block::decode(&genesis, &format)?.header;
        let mut ledger = Ledger {
            format,
            best: Vec::new(),
            known: HashMap::new(),
            coins: accounts.then(Coins::default),
            places: index.then(HashMap::new),
            pool: Vec::new(),
            pool_sequence: 1,
            pruned_below: 0,
        };
        if let Some(coins) = &mut ledger.coins {
            coins.undo.push(Undo::default());
        }
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
        if let Some((_, raw)) = waiting {
            return Some((None, raw.clone()));
        }
        let (block, raw) = self.places.as_ref()?.get(txid)?;
        Some((Some(*block), raw.clone()))
    }

    /// Replaces the transactions that wait.
    pub(super) fn set_pool(&mut self, transactions: Vec<Bytes>) -> Result<(), Misfit> {
        let mut pool = Vec::with_capacity(transactions.len());
        for raw in transactions {
            let txid = Transaction::decode(&raw, &self.format)?.txid();
            pool.push((txid, raw));
        }
        self.pool_sequence += (pool.len() + self.pool.len()) as u64;
        self.pool = pool;
        Ok(())
    }

    /// Takes the next block. What it has, and what it makes impossible, waits no longer.
    pub(super) fn extend(&mut self, raw: Bytes) -> Result<(), Misfit> {
        let block = Block::decode(&raw, &self.format)?;
        let (header, tip) = (block.header, self.tip().header.hash);
        if header.previous != tip {
            return Err(Misfit::NotOnTip(header.previous, tip));
        }
        if let Some(coins) = &mut self.coins {
            coins.connect(&raw, &block, &self.format)?;
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
        let spent: std::collections::HashSet<OutPoint> = block
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

impl Coins {
    /// How many outputs are unspent.
    pub(super) fn count(&self) -> usize {
        self.unspent.len()
    }

    /// Their sum in the smallest unit.
    pub(super) fn total(&self) -> u128 {
        self.total
    }

    /// How many transactions have unspent outputs.
    pub(super) fn transactions(&self) -> usize {
        let ids = self.unspent.keys().map(|place| place.txid);
        ids.collect::<std::collections::HashSet<_>>().len()
    }

    /// What the block of a height spent, in the order of its inputs.
    pub(super) fn spent_at(&self, height: u32) -> impl Iterator<Item = &Coin> {
        let undo = self.undo.get(height as usize);
        undo.into_iter().flat_map(|undo| undo.spent.iter().map(|(_, coin)| coin))
    }

    /// Outputs first and inputs then, so that transactions may stand in any order.
    fn connect(&mut self, raw: &Bytes, block: &Block<'_>, format: &Format) -> Result<(), Misfit> {
        let mut undo = Undo::default();
        let plain;
        let with_prefixes = match format.tokens {
            false => block,
            true => {
                plain = Block::decode(raw, &Format { tokens: false, ..*format })?;
                &plain
            }
        };
        for (place, script) in outputs(block).zip(scripts(with_prefixes)) {
            let Some((place, value)) = place else { continue };
            self.total += u128::from(value);
            let coin = Coin { value, script: raw.slice_ref(script) };
            if let Some(hidden) = self.unspent.insert(place, coin) {
                self.total -= u128::from(hidden.value);
                undo.hidden.push((place, hidden));
            }
        }
        let mut missing = None;
        let inputs = block.transactions[1..].iter().flat_map(Transaction::inputs);
        for input in inputs {
            let Some(coin) = self.unspent.remove(&input.previous) else {
                missing = Some(Misfit::NothingToSpend(input.previous));
                break;
            };
            self.total -= u128::from(coin.value);
            undo.spent.push((input.previous, coin));
        }
        self.undo.push(undo);
        match missing {
            None => Ok(()),
            Some(misfit) => {
                self.disconnect(block);
                Err(misfit)
            }
        }
    }

    /// Gives back what the last block took. Nodes do not bring back what a twin of an earlier
    /// transaction hid; here the unspent outputs are always those of the chain as it stands.
    fn disconnect(&mut self, block: &Block<'_>) {
        let undo = self.undo.pop().unwrap_or_default();
        let give = |coins: &mut Coins, (place, coin): (OutPoint, Coin)| {
            coins.total += u128::from(coin.value);
            coins.unspent.insert(place, coin);
        };
        undo.spent.into_iter().for_each(|coin| give(self, coin));
        for (place, value) in outputs(block).flatten() {
            if self.unspent.remove(&place).is_some() {
                self.total -= u128::from(value);
            }
        }
        undo.hidden.into_iter().for_each(|coin| give(self, coin));
    }
}

/// Place and value of each output of a block; `None` for one that nobody can spend.
fn outputs(block: &Block<'_>) -> impl Iterator<Item = Option<(OutPoint, u64)>> {
    block.txids.iter().zip(&block.transactions).flat_map(|(txid, transaction)| {
        transaction.outputs().enumerate().map(move |(vout, output)| {
            let place = OutPoint { txid: *txid, vout: vout as u32 };
            (!is_unspendable(output.script)).then_some((place, output.value))
        })
    })
}

/// The script of each output of a block.
fn scripts<'a>(block: &Block<'a>) -> impl Iterator<Item = &'a [u8]> {
    block.transactions.iter().flat_map(|transaction| transaction.outputs().map(|o| o.script))
}
