//! Every block read from a node again, and the rows held against it.
//!
//! The audit of the rows proves what follows from the records; this proves blocks and records
//! themselves: also the bodies of transactions whose hashes cannot be worked out without their proofs.
//! Leaves choosing a node to its caller, and the walk to `audit`.

use std::sync::Arc;

use chain::ring::Hash;
use node::{CallError, Node};

use crate::IndexError;
use crate::audit::{Again, Fetched, Progress, read_again};
use crate::faults::Faults;
use crate::ring::block_row::BlockRow;
use crate::ring::decoded::{RawBlock, decode};
use crate::ring::record::TransactionRecord;
use crate::ring::schema::TX_BY_NUM;
use crate::ring::store::Store;
use crate::ring::upstream;
use crate::row::u40;
use crate::sync::UpstreamError;

impl Store {
    /// Reads every block from a node again, and holds its row and its records against it.
    ///
    /// # Errors
    /// The engine cannot read; a node that cannot be asked any more.
    pub async fn read_again(
        &self,
        node: &Arc<Node>,
        progress: impl FnMut(Progress),
    ) -> Result<Again, IndexError> {
        let Some(tip) = self.tip() else { return Ok(Again::default()) };
        let fetch = |height: u32| async move {
            let Some(row) = self.block(height)? else { return Ok(None) };
            let raw = match upstream::block(node, &row.hash).await {
                Ok(raw) => Some(raw),
                // It does not have it, or not any more.
                Err(UpstreamError::Call(CallError::Rpc { .. })) => None,
                Err(error) => return Err(IndexError::failed(error)),
            };
            Ok(Some(Fetched { transactions: row.tx_count, row, raw }))
        };
        let mut previous = Hash::ZERO;
        let hold = |row: &BlockRow, raw: Option<RawBlock>, faults: &mut Faults| {
            let before = std::mem::replace(&mut previous, row.hash);
            raw.map_or(Ok(()), |raw| self.hold(row, before, &raw, faults))
        };
        read_again(tip.height, fetch, hold, progress).await
    }

    /// Holds a block's rows against its bytes and the node's own word on its weight.
    fn hold(
        &self,
        row: &BlockRow,
        previous: Hash,
        raw: &RawBlock,
        faults: &mut Faults,
    ) -> Result<(), IndexError> {
        let height = row.height;
        let block = match decode(raw, height, self.network()) {
            Ok(block) => block,
            Err(error) => {
                faults.say(format_args!("block {height}: the node's is none: {error}"));
                return Ok(());
            }
        };
        let own = BlockRow::of(&block, row.first_txnum, row.first_output);
        let follows = block.header.previous == previous;
        if own != *row || !follows || raw.weight.is_some_and(|weight| weight != row.size) {
            faults.say(format_args!("block {height}: its row is not that of its header"));
            return Ok(());
        }
        let keys: Vec<[u8; 5]> = (row.first_txnum..row.next_txnum()).map(u40).collect();
        let held = self.db().latest().multi_get(TX_BY_NUM, &keys)?;
        for (transaction, held) in block.transactions.iter().zip(held) {
            let held = held.and_then(|row| TransactionRecord::read(&row).ok());
            if held.as_ref() != Some(&transaction.record) {
                let hash = transaction.record.hash;
                faults.say(format_args!("block {height}: the record of {hash} is not as it is"));
            }
        }
        Ok(())
    }
}
