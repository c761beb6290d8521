//! What a chain whose blocks are voted on has made, by the rule of its node.
//!
//! Source: dcrd, `calculateAddedSubsidy`, `calculateTreasuryBalance` and the share of fees that a
//! block with fewer than five votes may take. Invariant: nothing but records and headers is needed.

use std::collections::VecDeque;

use chain::NetworkKind;
use chain::utxo::Kind;

use crate::utxo::block_row::BlockRow;
use crate::utxo::record::TransactionRecord;
use crate::utxo::steps::Records;

/// Votes that a block can have at most.
const VOTES: i128 = 5;

/// Blocks that pass before what was given to the treasury counts as its balance.
fn maturity(kind: NetworkKind) -> usize {
    match kind {
        NetworkKind::Main => 256,
        NetworkKind::Test | NetworkKind::Regtest => 16,
    }
}

/// What is added up block by block.
pub(super) struct Supply {
    /// Fees that nobody got: those of the stake trees of voided blocks, and the part that a block
    /// without all its votes leaves.
    lost: i128,
    /// New coins in the coinbase of the last block, which nobody voted on yet.
    unsettled: i128,
    /// The treasury's, but for the last blocks.
    mature: i128,
    /// What the last blocks gave to the treasury or drew from it.
    recent: VecDeque<i128>,
    maturity: usize,
}

impl Supply {
    pub(super) fn of(kind: NetworkKind) -> Supply {
        Supply {
            lost: 0,
            unsettled: 0,
            mature: 0,
            recent: VecDeque::new(),
            maturity: maturity(kind),
        }
    }

    /// Adds the transactions of a block that stand.
    pub(super) fn block(&mut self, block: &BlockRow, records: &Records) {
        let Some(stake) = &block.stake else { return };
        let fees: i128 = records.values().filter_map(|record| record.fee).sum();
        let share = match stake.voters {
            // Nobody votes yet.
            0 => fees,
            voters => fees * i128::from(voters) / VOTES,
        };
        let coinbase = records.get(&block.regular_txnum()).filter(|record| record.is_coinbase());
        match coinbase {
            Some(coinbase) if block.height > 0 => {
                self.lost += fees - share;
                self.unsettled = coinbase.value_out() as i128 - share;
            }
            Some(_) => {}
            None => {
                self.lost += fees;
                self.unsettled = 0;
            }
        }
        self.recent.push_back(records.values().map(given).sum());
        if self.recent.len() > self.maturity {
            self.mature += self.recent.pop_front().unwrap_or_default();
        }
    }

    /// All coins that were made, if those that are unspent, burnt or the treasury's add up to this.
    pub(super) fn coins(&self, held: i128) -> i128 {
        held + self.lost - self.unsettled
    }

    /// What the treasury has and may spend.
    pub(super) fn treasury(&self) -> i128 {
        self.mature
    }
}

/// What a transaction gave to the treasury, less than nothing where it drew from it.
pub(super) fn given(record: &TransactionRecord) -> i128 {
    match record.kind {
        // The first output is that to the treasury.
        Kind::Treasurybase | Kind::TreasuryAdd => {
            record.outputs.first().map_or(0, |output| output.value.into())
        }
        Kind::TreasurySpend => -(record.value_in.unwrap_or_default() as i128),
        _ => 0,
    }
}
