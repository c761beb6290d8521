//! Transactions of a view: one by its hash, or a part of a block's or the pool's list.
//!
//! Invariant: a list reads the records of its page and nothing else; rings are not resolved in it.

use std::sync::Arc;

use chain::ring::Hash;

use super::{Inclusion, TransactionView, View};
use crate::ring::block_row::BlockRow;
use crate::ring::hashes::find;
use crate::ring::mempool::Entry;
use crate::ring::record::TransactionRecord;
use crate::ring::schema::TX_BY_NUM;
use crate::row::u40;
use crate::{ReadError, Tier};

impl View {
    /// A transaction of the chain or the pool.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn transaction(&self, hash: &Hash) -> Result<Option<TransactionView>, ReadError> {
        self.transaction_within(Tier::Any, hash)
    }

    /// As [`View::transaction`], with reads that go as far as `tier` says.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn transaction_within(
        &self,
        tier: Tier,
        hash: &Hash,
    ) -> Result<Option<TransactionView>, ReadError> {
        if let Some(entry) = self.mempool.as_ref().and_then(|mempool| mempool.entry(hash)) {
            return Ok(Some(waiting(entry)));
        }
        let Some((txnum, record)) = find(self.reader(tier), hash)? else { return Ok(None) };
        let height = self.heights.height_of(txnum).ok_or_else(gone)?;
        let block = self.block(height, tier)?.ok_or_else(gone)?;
        Ok(Some(confirmed(record, &block)))
    }

    /// Transactions of a block in block order, the coinbase first, from the `from`th on.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn block_transactions(
        &self,
        block: &BlockRow,
        from: u64,
        count: u64,
        tier: Tier,
    ) -> Result<Vec<TransactionView>, ReadError> {
        let end = from.saturating_add(count).min(block.tx_count.into());
        let keys: Vec<[u8; 5]> = (from..end).map(|n| u40(block.first_txnum + n)).collect();
        let mut found = Vec::with_capacity(keys.len());
        for row in self.reader(tier).multi_get(TX_BY_NUM, &keys)? {
            let row = row.ok_or_else(gone)?;
            let record = TransactionRecord::read(&row).map_err(|bad| bad.of("tx_by_num"))?;
            found.push(confirmed(record, block));
        }
        Ok(found)
    }

    /// Waiting transactions, newest first seen first, from the `from`th on; none where the node is
    /// not heard.
    pub fn waiting(&self, from: u64, count: u64) -> Option<Vec<TransactionView>> {
        let mempool = self.mempool.as_ref()?;
        let (from, count) = (to_usize(from), to_usize(count));
        Some(mempool.in_order().skip(from).take(count).map(waiting).collect())
    }
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn confirmed(record: TransactionRecord, block: &BlockRow) -> TransactionView {
    let BlockRow { height, hash, time, .. } = *block;
    TransactionView { record: Arc::new(record), inclusion: Inclusion::Block { height, hash, time } }
}

fn waiting(entry: &Arc<Entry>) -> TransactionView {
    let record = Arc::clone(&entry.record);
    TransactionView { record, inclusion: Inclusion::Mempool { first_seen: entry.first_seen } }
}

fn gone() -> ReadError {
    ReadError::Damaged("a record of tx_by_num is gone".into())
}
