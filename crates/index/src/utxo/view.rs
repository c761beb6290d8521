//! One tip with its mempool: what every answer is made from.
//!
//! Leaves JSON and addresses to the explorer. Invariants: a view never changes; a read needs a
//! bounded number of rows, whoever asks.

use std::ops::ControlFlow;
use std::sync::Arc;

use chain::Hash32;
use chain::utxo::OutPoint;

use super::block_row::BlockRow;
use super::heights::Heights;
use super::history::{CHUNK, INLINE, chunk_of, read_chunk};
use super::mempool::{Mempool, Turn};
use super::record::{OutputRecord, TransactionRecord};
use super::schema::{
    HEIGHT_BY_HASH, HISTORY_BY_SCRIPT, TOTALS_BY_SCRIPT, UNSPENT_BY_SCRIPT, UnspentKey, UnspentRow,
    chunk_key, hash_key,
};
use super::script_id::{HashKey, ScriptId};
use super::store::{Store, read_block};
use super::tip::Tip;
use super::totals::Totals;
use crate::db::{Reader, Snapshot};
use crate::{ReadError, Tier};

mod transactions;

/// One tip with its mempool.
pub struct View {
    tip: Tip,
    heights: Heights,
    snapshot: Arc<Snapshot>,
    key: HashKey,
    mempool: Option<Mempool>,
}

/// A transaction with what its place in the chain or the pool adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionView {
    /// The transaction.
    pub record: TransactionRecord,
    /// Where it stands.
    pub place: Place,
    /// Its inputs in order.
    pub inputs: Vec<InputView>,
}

/// Where a transaction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a block of the chain.
    Block {
        /// The block's height.
        height: u32,
        /// Its hash.
        hash: Hash32,
        /// Its time, in seconds since 1970.
        time: u32,
    },
    /// In the mempool.
    Mempool {
        /// When we saw it first, in seconds since 1970.
        first_seen: u64,
    },
}

/// An input of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputView {
    /// Id of the transaction whose output it spends; none of a coinbase.
    pub txid: Option<Hash32>,
    /// Place of the output there; `u32::MAX` of a coinbase.
    pub vout: u32,
    /// Sequence number.
    pub sequence: u32,
    /// The output; none of a coinbase, and where a list does not resolve it (decision U6).
    pub spent: Option<OutputRecord>,
}

impl InputView {
    /// The output that it spends.
    pub(crate) fn previous(&self) -> Option<OutPoint> {
        self.txid.map(|txid| OutPoint { txid, vout: self.vout })
    }
}

/// What an address adds up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressTotals {
    /// Confirmed transactions that touch it.
    pub tx_count: u64,
    /// Confirmed unspent outputs that pay it.
    pub unspent_count: u64,
    /// Sum of the confirmed outputs that ever paid it.
    pub received: u128,
    /// Sum of those that confirmed transactions spent.
    pub sent: u128,
    /// What the mempool adds, if it touches the address.
    pub unconfirmed: Option<Unconfirmed>,
}

/// What the mempool adds to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unconfirmed {
    /// Sum of the outputs that pay it.
    pub received: u128,
    /// Sum of the outputs of it that are spent.
    pub sent: u128,
    /// Waiting transactions that touch it.
    pub tx_count: u64,
}

/// A part of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// All transactions of the address, waiting ones included.
    pub tx_count: u64,
    /// The part, newest first.
    pub transactions: Vec<TransactionView>,
}

/// Unspent outputs of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnspentList {
    /// How many there are.
    pub count: u64,
    /// The largest, largest first.
    pub items: Vec<UnspentOutput>,
}

/// A confirmed unspent output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnspentOutput {
    /// Id of its transaction.
    pub txid: Hash32,
    /// Its place there.
    pub vout: u32,
    /// Coins in the smallest unit.
    pub value: u64,
    /// Height of the block.
    pub height: u32,
    /// Whether a coinbase made it.
    pub coinbase: bool,
    /// Whether it holds tokens.
    pub token: bool,
    /// The waiting transaction that spends it.
    pub unconfirmed_spend: Option<Hash32>,
}

impl View {
    /// What a store holds now, if it has a tip.
    pub fn of(store: &Store) -> Option<View> {
        let tip = store.tip()?;
        let snapshot = Arc::new(store.db().snapshot());
        let (heights, key) = (store.heights().clone(), *store.key());
        Some(View { tip, heights, snapshot, key, mempool: None })
    }

    /// The same tip with another mempool; none where the node is not heard.
    pub(crate) fn with_mempool(&self, mempool: Option<Mempool>) -> View {
        View {
            tip: self.tip,
            heights: self.heights.clone(),
            snapshot: Arc::clone(&self.snapshot),
            key: self.key,
            mempool,
        }
    }

    fn reader(&self, tier: Tier) -> Reader<'_> {
        self.snapshot.reader(tier)
    }

    pub(crate) fn latest(&self) -> Reader<'_> {
        self.reader(Tier::Any)
    }

    pub(crate) fn key(&self) -> &HashKey {
        &self.key
    }

    /// Height of the tip.
    pub fn height(&self) -> u32 {
        self.tip.height
    }

    /// Hash of the tip.
    pub fn hash(&self) -> Hash32 {
        self.tip.hash
    }

    /// The mempool; none where the node is not heard.
    pub fn mempool(&self) -> Option<&Mempool> {
        self.mempool.as_ref()
    }

    /// The block at a height; none above the tip.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn block(&self, height: u32, tier: Tier) -> Result<Option<BlockRow>, ReadError> {
        if height > self.tip.height {
            return Ok(None);
        }
        read_block(self.reader(tier), height)
    }

    /// The height of a block of our chain; none of a block that is not in it.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn block_height(&self, hash: &Hash32, tier: Tier) -> Result<Option<u32>, ReadError> {
        let row = self.reader(tier).get(HEIGHT_BY_HASH, &hash_key(hash))?;
        let Some(row) = row else { return Ok(None) };
        let height = <[u8; 4]>::try_from(&row[..]).map(u32::from_be_bytes);
        let height =
            height.map_err(|_| ReadError::Damaged("a row of height_by_hash is short".into()))?;
        let block = self.block(height, tier)?;
        Ok(block.filter(|block| block.hash == *hash).map(|block| block.height))
    }

    fn totals(&self, script: ScriptId, tier: Tier) -> Result<Option<Totals>, ReadError> {
        let row = self.reader(tier).get(TOTALS_BY_SCRIPT, &script.0)?;
        let Some(row) = row else { return Ok(None) };
        Totals::read(&row).map(Some).map_err(|bad| bad.of("totals_by_script"))
    }

    /// What a script adds up to; none if nobody used it.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn address(&self, script: &[u8], tier: Tier) -> Result<Option<AddressTotals>, ReadError> {
        let id = self.key.script_id(script);
        let totals = self.totals(id, tier)?;
        let pool = self.mempool.as_ref().and_then(|mempool| mempool.script(id));
        if totals.is_none() && pool.is_none() {
            return Ok(None);
        }
        let totals = totals.unwrap_or_default();
        Ok(Some(AddressTotals {
            tx_count: totals.tx_count,
            unspent_count: totals.unspent_count,
            received: totals.received,
            sent: totals.sent,
            unconfirmed: pool.map(|pool| Unconfirmed {
                received: pool.received,
                sent: pool.sent,
                tx_count: pool.order.len() as u64,
            }),
        }))
    }

    /// The transactions of a script from the `from`th newest on, newest first: those that wait,
    /// then the confirmed ones. None if nobody used it.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn history(
        &self,
        script: &[u8],
        from: u64,
        count: u64,
    ) -> Result<Option<History>, ReadError> {
        let id = self.key.script_id(script);
        let totals = self.totals(id, Tier::Any)?;
        let pool = self.mempool.as_ref().and_then(|mempool| mempool.script(id));
        if totals.is_none() && pool.is_none() {
            return Ok(None);
        }
        let totals = totals.unwrap_or_default();
        let waiting = pool.map_or(&[][..], |pool| &pool.order);
        let in_pool = waiting.len() as u64;
        let first = usize::try_from(from).unwrap_or(usize::MAX).min(waiting.len());
        let last = usize::try_from(from.saturating_add(count)).unwrap_or(usize::MAX);
        let waiting = &waiting[first..last.min(waiting.len())];
        let skipped = from.saturating_sub(in_pool);
        let wanted = count - waiting.len() as u64;
        let txnums = self.txnums(id, &totals, skipped, wanted)?;
        let transactions = self.page(waiting.iter().map(Turn::txid), &txnums)?;
        Ok(Some(History { tx_count: totals.tx_count + in_pool, transactions }))
    }

    /// The places of a script's confirmed transactions, newest first, without the `skipped`
    /// newest ones.
    fn txnums(
        &self,
        script: ScriptId,
        totals: &Totals,
        skipped: u64,
        wanted: u64,
    ) -> Result<Vec<u64>, ReadError> {
        let end = totals.tx_count.saturating_sub(skipped);
        let start = end.saturating_sub(wanted);
        if start == end {
            return Ok(Vec::new());
        }
        let oldest_first = if totals.tx_count <= INLINE as u64 {
            totals.inline[start as usize..end as usize].to_vec()
        } else {
            let mut txnums = Vec::new();
            for chunk in chunk_of(start)..=chunk_of(end - 1) {
                let row = self.latest().get(HISTORY_BY_SCRIPT, &chunk_key(script, chunk))?;
                let gone = || ReadError::Damaged("a chunk of history_by_script is gone".into());
                let all = read_chunk(&row.ok_or_else(gone)?);
                let all = all.map_err(|bad| bad.of("history_by_script"))?;
                let first = u64::from(chunk) * CHUNK;
                if all.len() as u64 != CHUNK.min(totals.tx_count - first) {
                    return Err(ReadError::Damaged("a chunk of history_by_script is short".into()));
                }
                let from = start.saturating_sub(first) as usize;
                let to = (end - first).min(all.len() as u64) as usize;
                txnums.extend_from_slice(&all[from..to]);
            }
            txnums
        };
        Ok(oldest_first.into_iter().rev().collect())
    }

    /// The largest confirmed unspent outputs of a script, at most `limit`; none if nobody used it.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn unspent(&self, script: &[u8], limit: usize) -> Result<Option<UnspentList>, ReadError> {
        let id = self.key.script_id(script);
        let totals = self.totals(id, Tier::Any)?;
        let pool = self.mempool.as_ref().and_then(|mempool| mempool.script(id));
        if totals.is_none() && pool.is_none() {
            return Ok(None);
        }
        let count = totals.map_or(0, |totals| totals.unspent_count);
        let mut items = Vec::new();
        let mut sound = true;
        if count > 0 && limit > 0 {
            self.latest().scan(UNSPENT_BY_SCRIPT, &id.0, &id.0, |key, row| {
                let item = self.unspent_output(key, row);
                sound = item.is_some();
                items.extend(item);
                if sound && items.len() < limit {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            })?;
        }
        if !sound {
            return Err(ReadError::Damaged("a row of unspent_by_script makes no sense".into()));
        }
        Ok(Some(UnspentList { count, items }))
    }

    fn unspent_output(&self, key: &[u8], row: &[u8]) -> Option<UnspentOutput> {
        let (key, row) = (UnspentKey::read(key)?, UnspentRow::read(row)?);
        let output = OutPoint { txid: row.txid, vout: key.vout };
        let spender = self.mempool.as_ref().and_then(|mempool| mempool.spender(&output));
        Some(UnspentOutput {
            txid: row.txid,
            vout: key.vout,
            value: key.value,
            height: self.heights.height_of(key.txnum)?,
            coinbase: row.coinbase,
            token: row.token,
            unconfirmed_spend: spender,
        })
    }
}
