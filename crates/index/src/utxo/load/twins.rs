//! Which transactions may have an earlier twin (BIP 30).
//!
//! A coinbase has one if the same coinbase stood in an earlier block. Any other transaction can
//! only have one if every output that it spends was made anew, which is: by a twin. Leaves looking
//! for the earlier outputs to `coins`. Invariant: no transaction that has an earlier twin is
//! missed.

use std::collections::HashSet;

use chain::utxo::Kind;

use super::coin::CoinName;
use super::folder::Folder;
use super::manifest::Manifest;
use super::prepared::{Prepared, PreparedTx};
use super::run::{RunFile, RunReader};
use crate::IndexError;

/// Bytes of a coinbase's name: the first of its first output that counts.
const NAME_BYTES: usize = 8;

/// What is known of twins.
pub(super) struct Twins {
    dir: Folder,
    /// The names of all coinbases so far.
    coinbases: HashSet<u64>,
    /// Those since the last manifest.
    fresh: Vec<u64>,
    /// Unspent outputs of transactions that may have an earlier twin.
    outputs: HashSet<CoinName>,
}

impl Twins {
    pub(super) fn open(dir: &Folder, manifest: &Manifest) -> Result<Twins, IndexError> {
        let mut coinbases = HashSet::new();
        for file in &manifest.coinbases {
            let mut names = RunReader::<NAME_BYTES>::open(dir, file)?;
            while let Some(name) = names.next()? {
                coinbases.insert(u64::from_be_bytes(name));
            }
        }
        let outputs = manifest.twins.iter().copied().collect();
        Ok(Twins { dir: dir.to_owned(), coinbases, fresh: Vec::new(), outputs })
    }

    /// Which of a block's transactions up to `standing` may have an earlier twin, by their places;
    /// empty: none.
    pub(super) fn of_block(&mut self, block: &Prepared, standing: usize) -> Vec<bool> {
        let mut may_be = Vec::new();
        let coinbases =
            block.transactions().enumerate().filter(|(_, it)| it.kind == Kind::Coinbase);
        for (place, transaction) in coinbases {
            // Of a transaction without outputs that count nothing can be replaced.
            let Some(first) = transaction.made.first() else { continue };
            let name = first.name.first_chunk().expect("a name has 12 bytes");
            let name = u64::from_be_bytes(*name);
            if self.coinbases.insert(name) {
                self.fresh.push(name);
            } else {
                may_be.resize(block.len(), false);
                may_be[place] = true;
                self.outputs.extend(transaction.made.iter().map(|made| made.name));
            }
        }
        if !self.outputs.is_empty() {
            let transactions: Vec<_> = block.transactions().take(standing).collect();
            self.follow(&transactions, &mut may_be);
        }
        may_be
    }

    /// Adds the transactions that only spend outputs of such ones, until there are no more: they
    /// stand in any order.
    fn follow(&mut self, transactions: &[PreparedTx<'_>], may_be: &mut Vec<bool>) {
        let mut more = true;
        while more {
            more = false;
            for (place, transaction) in transactions.iter().enumerate() {
                let known = may_be.get(place).copied().unwrap_or(false);
                let spent = &transaction.spent;
                let all = || spent.iter().all(|spent| self.outputs.contains(&spent.name));
                if !known && !spent.is_empty() && all() {
                    may_be.resize(transactions.len(), false);
                    may_be[place] = true;
                    self.outputs.extend(transaction.made.iter().map(|made| made.name));
                    more = true;
                }
            }
        }
    }

    /// An output is spent.
    pub(super) fn spend(&mut self, name: &CoinName) {
        if !self.outputs.is_empty() {
            self.outputs.remove(name);
        }
    }

    pub(super) fn close(&mut self, manifest: &mut Manifest) -> Result<(), IndexError> {
        let mut file = RunFile::create(&self.dir, "coinbases", manifest.coinbases.len() as u64)?;
        for name in std::mem::take(&mut self.fresh) {
            file.push(&name.to_be_bytes())?;
        }
        manifest.coinbases.push(file.finish()?);
        manifest.twins = self.outputs.iter().copied().collect();
        Ok(())
    }
}
