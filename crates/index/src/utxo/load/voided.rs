//! Regular trees that votes voided, in a load: they are kept and change nothing.
//!
//! Invariant: an output that a voided transaction spends stays where it is.

use std::collections::HashMap;

use super::Loader;
use super::coin::CoinName;
use super::prepared::Prepared;
use crate::IndexError;

impl Loader {
    /// Finds what the transactions of a block's voided tree spend, and notes their ids.
    pub(super) fn look_at_voided(
        &mut self,
        block: &Prepared,
        previous: &mut Vec<u64>,
        values: &mut Vec<(Option<i128>, bool)>,
    ) -> Result<(), IndexError> {
        let (row, first) = (&block.row, block.row.regular_txnum());
        let tree = || block.transactions().skip(row.stake_count as usize);
        let mut own: HashMap<CoinName, (u64, u64)> = HashMap::new();
        for (txnum, transaction) in (first..).zip(tree()) {
            own.extend(transaction.made.iter().map(|it| (it.name, (txnum, it.coin.value()))));
        }
        for (position, transaction) in (0u32..).zip(tree()) {
            let mut value_in = 0u128;
            for input in transaction.spent {
                let (txnum, value) = match own.get(&input.name) {
                    Some(own) => *own,
                    None => self.coins.look(&input.name, row.height)?,
                };
                previous.push(txnum);
                value_in += u128::from(value);
            }
            values.push((transaction.value.map(|value| value + value_in as i128), false));
            self.runs.voided(transaction.txid, row.height, position)?;
        }
        Ok(())
    }
}
