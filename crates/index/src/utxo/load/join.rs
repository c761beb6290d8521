//! Decoded blocks meet what they spend, one after the other.
//!
//! Leaves reading and segments to `load`. Invariants: a block that spends what is not there changes
//! nothing; one that is voted on is joined once the next one is known.

use super::folder::file_error;
use super::prepared::{Prepared, PreparedTx};
use super::records::Joined;
use super::runs::EventKind;
use super::{Loader, manifest};
use crate::IndexError;
use crate::utxo::effects::makes_coins;

/// The block after the last one that was joined is another by now.
const CUT_BADLY: &str =
    "a load was cut off where votes decide, and other votes follow by now; it begins again";

impl Loader {
    /// Joins blocks; where blocks are voted on, up to the last but one: the votes in the one after
    /// it say how a block is joined. One that spends what is not there changes nothing, and those
    /// behind it do not count.
    pub(super) fn join_all(&mut self, blocks: Vec<Prepared>) -> Result<(), IndexError> {
        for block in blocks {
            if block.row.stake.is_none() {
                self.check_spent(&block)?;
                self.join(block, false)?;
                continue;
            }
            match self.held.take() {
                Some(before) => {
                    self.check_spent(&before)?;
                    self.join(before, block.voids)?;
                }
                None if block.voids == self.last_voided => {}
                None => return Err(self.begin_again()),
            }
            self.held = Some(block);
        }
        Ok(())
    }

    /// Forgets what was loaded: the last block was joined as votes said that are no longer there.
    fn begin_again(&mut self) -> IndexError {
        match std::fs::remove_file(self.dir.join(manifest::NAME)) {
            Err(error) => file_error(&self.dir, &error),
            Ok(()) => IndexError::failed(CUT_BADLY),
        }
    }

    /// Joins all that waits; nothing follows that could void.
    pub(super) fn join_rest(&mut self) -> Result<(), IndexError> {
        let joined = std::mem::take(&mut self.waiting);
        self.join_all(joined)?;
        match self.held.take() {
            Some(last) => {
                self.check_spent(&last)?;
                self.join(last, false)
            }
            None if self.last_voided => Err(self.begin_again()),
            None => Ok(()),
        }
    }

    /// Whether what a block spends is there; else the load goes on from that block.
    pub(super) fn check_spent(&mut self, block: &Prepared) -> Result<(), IndexError> {
        if self.coins.touch(block) {
            return Ok(());
        }
        self.ahead = (self.height, self.last);
        self.sound = true;
        let problem = "it spends an output that is not in the index".into();
        Err(IndexError::Block { height: block.row.height, problem })
    }

    /// Joins a block with what it spends; of one whose regular tree is voided only the stake tree.
    fn join(&mut self, mut block: Prepared, voided: bool) -> Result<(), IndexError> {
        let first = self.next_txnum;
        block.row.first_txnum = first;
        block.row.voided = voided;
        let standing = (block.row.next_txnum() - first) as usize;
        let twins = self.twins.of_block(&block, standing);
        if !twins.is_empty() && self.coins.has_questions() {
            // What was asked for must have left the files before twins are looked for there.
            self.settle()?;
        }
        let mut replaced = Vec::new();
        for (place, transaction) in block.transactions().enumerate().take(standing) {
            let twin = twins.get(place).copied().unwrap_or(false);
            let vouts = self.create(first + place as u64, &transaction, twin)?;
            if !vouts.is_empty() {
                replaced.push((place, vouts));
            }
        }
        let mut previous = Vec::with_capacity(block.spent.len());
        let mut values = Vec::with_capacity(block.len());
        for (txnum, transaction) in (first..).zip(block.transactions().take(standing)) {
            values.push(self.spend(txnum, &transaction, &mut previous)?);
        }
        if voided {
            self.look_at_voided(&block, &mut previous, &mut values)?;
        }
        let row = &block.row;
        self.runs.hash(&row.hash, row.height)?;
        self.next_txnum = row.next_txnum();
        self.height = row.height + 1;
        self.last = Some(row.hash);
        self.last_voided = voided;
        self.segment_bytes += block.size;
        self.progress.blocks += 1;
        self.progress.transactions += u64::from(row.tx_count);
        self.progress.bytes += block.size;
        self.records.put(Joined { block, previous, values, replaced })
    }

    /// Makes the outputs of a transaction; gives the places of those that replace an unspent one.
    fn create(
        &mut self,
        txnum: u64,
        transaction: &PreparedTx<'_>,
        twin: bool,
    ) -> Result<Vec<u32>, IndexError> {
        let mut replaced = Vec::new();
        for made in transaction.made {
            if !makes_coins(txnum) {
                break;
            }
            let kind = if self.coins.create(made, txnum, twin)? {
                replaced.push(made.coin.vout());
                EventKind::Replace
            } else {
                EventKind::Pay
            };
            self.runs.event(&made.coin, txnum, kind)?;
        }
        self.runs.txid(transaction.txid, txnum)?;
        Ok(replaced)
    }

    /// Spends what a transaction spends; gives its inputs less its outputs, where that counts, and
    /// whether something is not known yet.
    fn spend(
        &mut self,
        txnum: u64,
        transaction: &PreparedTx<'_>,
        previous: &mut Vec<u64>,
    ) -> Result<(Option<i128>, bool), IndexError> {
        let (mut value_in, mut waits) = (0u128, false);
        for (place, input) in (0u32..).zip(transaction.spent) {
            self.twins.spend(&input.name);
            match self.coins.spend(&input.name) {
                Some(coin) => {
                    value_in += u128::from(coin.value());
                    self.runs.event(&coin, txnum, EventKind::Spend)?;
                    previous.push(coin.txnum());
                }
                None => {
                    waits = true;
                    self.coins.ask(input.name, txnum, place, self.height)?;
                    previous.push(txnum);
                }
            }
        }
        Ok((transaction.value.map(|value| value + value_in as i128), waits))
    }
}
