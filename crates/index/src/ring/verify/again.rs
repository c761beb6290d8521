//! Every block read from a node again, and the rows held against it.
//!
//! The audit of the rows proves what follows from the records; this proves blocks and records
//! themselves: also the bodies of transactions whose hashes cannot be worked out without their proofs.
//! Leaves choosing a node to its caller. Invariant: a block that the node does not give is counted as
//! not compared, never as a fault.

use std::sync::Arc;

use chain::ring::Hash;
use futures_util::{StreamExt, stream};
use node::{CallError, Node};

use crate::audit::{Again, Progress};
use crate::faults::Faults;
use crate::ring::block_row::BlockRow;
use crate::ring::decoded::{RawBlock, decode};
use crate::ring::record::TransactionRecord;
use crate::ring::schema::TX_BY_NUM;
use crate::ring::store::Store;
use crate::ring::upstream;
use crate::row::u40;
use crate::sync::UpstreamError;
use crate::{IndexError, ReadError};

/// Blocks that are fetched at once.
const WINDOW: usize = 8;

impl Store {
    /// Reads every block from a node again, and holds its row and its records against it.
    ///
    /// # Errors
    /// The engine cannot read; a node that cannot be asked any more.
    pub async fn read_again(
        &self,
        node: &Arc<Node>,
        mut progress: impl FnMut(Progress),
    ) -> Result<Again, IndexError> {
        let Some(tip) = self.tip() else { return Ok(Again::default()) };
        let (mut again, mut faults) = (Again::default(), Faults::default());
        let total = Some(u64::from(tip.height) + 1);
        let fetch = |height: u32| async move {
            Ok::<_, ReadError>(match self.block(height)? {
                Some(row) => {
                    let raw = upstream::block(node, &row.hash).await;
                    Some((row, raw))
                }
                None => None,
            })
        };
        let mut blocks = stream::iter(0..=tip.height).map(fetch).buffered(WINDOW);
        let (mut height, mut previous) = (0u64, Hash::ZERO);
        while let Some(fetched) = blocks.next().await {
            match fetched? {
                Some((row, raw)) => {
                    let before = std::mem::replace(&mut previous, row.hash);
                    match raw {
                        Ok(raw) => {
                            again.blocks += 1;
                            again.transactions += u64::from(row.tx_count);
                            self.hold(&row, before, &raw, &mut faults)?;
                        }
                        // It does not have it, or not any more.
                        Err(UpstreamError::Call(CallError::Rpc { .. })) => again.not_compared += 1,
                        Err(error) => return Err(IndexError::failed(error)),
                    }
                }
                None => faults.say(format_args!("block {height}: has no row")),
            }
            height += 1;
            progress(Progress { step: "node's blocks", done: height, total });
        }
        drop(blocks);
        (again.faults, again.fault_count) = faults.into_parts();
        Ok(again)
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
