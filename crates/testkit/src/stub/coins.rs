//! What a stub node's chain adds up to: its unspent outputs, and how each block is undone.
//!
//! Invariant: the unspent outputs are those that the best chain leaves; unspendable ones and the
//! first block's are left out, as nodes leave them out.

use std::collections::{HashMap, HashSet};

use chain::utxo::{Block, OutPoint, Transaction, is_unspendable};

use super::misfit::Misfit;

/// What connecting a block took out of the unspent outputs.
#[derive(Debug, Default)]
struct Undo {
    /// In the order of the inputs.
    spent: Vec<(OutPoint, u64)>,
    /// Outputs of an earlier transaction of the same id (BIP 30), which those of this block hid.
    hidden: Vec<(OutPoint, u64)>,
}

/// The unspent outputs, with their values.
#[derive(Debug)]
pub(super) struct Coins {
    unspent: HashMap<OutPoint, u64>,
    total: u128,
    /// By height.
    undo: Vec<Undo>,
}

impl Coins {
    /// Nothing: the first block's output cannot be spent.
    pub(super) fn after_first_block() -> Coins {
        Coins { unspent: HashMap::new(), total: 0, undo: vec![Undo::default()] }
    }

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
        ids.collect::<HashSet<_>>().len()
    }

    /// Takes the next block: outputs first and inputs then, so that transactions may stand in any order.
    pub(super) fn connect(&mut self, block: &Block<'_>) -> Result<(), Misfit> {
        let mut undo = Undo::default();
        for (place, value) in outputs(block).flatten() {
            self.total += u128::from(value);
            if let Some(hidden) = self.unspent.insert(place, value) {
                self.total -= u128::from(hidden);
                undo.hidden.push((place, hidden));
            }
        }
        let mut missing = None;
        let inputs = block.transactions[1..].iter().flat_map(Transaction::inputs);
        for input in inputs {
            let Some(value) = self.unspent.remove(&input.previous) else {
                missing = Some(Misfit::NothingToSpend(input.previous));
                break;
            };
            self.total -= u128::from(value);
            undo.spent.push((input.previous, value));
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
    pub(super) fn disconnect(&mut self, block: &Block<'_>) {
        let undo = self.undo.pop().unwrap_or_default();
        let give = |coins: &mut Coins, (place, value): (OutPoint, u64)| {
            coins.total += u128::from(value);
            coins.unspent.insert(place, value);
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
