//! What one output script has at a tip: sums, transactions, unspent outputs.
//!
//! Leaves the transactions themselves to `transactions`. Invariant: a page and the sums beside it
//! are of one moment, and need a bounded number of rows however long the list is.

use std::ops::ControlFlow;

use chain::Hash32;
use chain::utxo::OutPoint;

use super::transactions::LIST_OUTPUTS;
use super::{TransactionView, View};
use crate::db::Reader;
use crate::utxo::history;
use crate::utxo::mempool::{Mempool, PoolScript, Turn};
use crate::utxo::schema::{TOTALS_BY_SCRIPT, UNSPENT_BY_SCRIPT, UnspentKey, UnspentRow};
use crate::utxo::script_id::ScriptId;
use crate::utxo::totals::Totals;
use crate::{ReadError, Tier};

/// So many waiting transactions are skipped at once.
const CACHED_SKIP: u64 = 2000;

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

/// A script that somebody used: what confirmed and waiting transactions do to it.
struct Used<'a> {
    id: ScriptId,
    totals: Totals,
    pool: Option<&'a PoolScript>,
}

impl View {
    fn used(&self, script: &[u8], tier: Tier) -> Result<Option<Used<'_>>, ReadError> {
        let id = self.key.script_id(0, script);
        let row = self.reader(tier).get(TOTALS_BY_SCRIPT, &id.0)?;
        let totals = row.map(|row| Totals::read(&row).map_err(|bad| bad.of("totals_by_script")));
        let totals = totals.transpose()?;
        let pool = self.mempool.as_ref().and_then(|mempool| mempool.script(id));
        let is_used = totals.is_some() || pool.is_some();
        Ok(is_used.then(|| Used { id, totals: totals.unwrap_or_default(), pool }))
    }

    /// What a script adds up to; none if nobody used it.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn address(&self, script: &[u8], tier: Tier) -> Result<Option<AddressTotals>, ReadError> {
        let Some(Used { totals, pool, .. }) = self.used(script, tier)? else { return Ok(None) };
        Ok(Some(AddressTotals {
            tx_count: totals.tx_count,
            unspent_count: totals.unspent_count,
            received: totals.received,
            sent: totals.sent,
            unconfirmed: pool.map(|pool| Unconfirmed {
                received: pool.received,
                sent: pool.sent,
                tx_count: pool.order.size() as u64,
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
        self.history_within(Tier::Any, script, from, count, &mut { LIST_OUTPUTS })
    }

    /// As [`View::history`], with reads that go as far as `tier` says. `left` previous outputs are
    /// resolved, [`LIST_OUTPUTS`] where a page begins, and what is left of them told.
    ///
    /// # Errors
    /// As [`ReadError`] says; `Cold` also where [`Tier::Cached`] is too narrow for so much work.
    pub fn history_within(
        &self,
        tier: Tier,
        script: &[u8],
        from: u64,
        count: u64,
        left: &mut usize,
    ) -> Result<Option<History>, ReadError> {
        let Some(Used { id, totals, pool }) = self.used(script, tier)? else { return Ok(None) };
        let in_pool = pool.map_or(0, |pool| pool.order.size() as u64);
        let first = from.min(in_pool);
        // They are walked through one by one.
        if tier == Tier::Cached && pool.is_some() && first > CACHED_SKIP {
            return Err(ReadError::Cold);
        }
        let shown = count.min(in_pool - first);
        let waiting = pool.into_iter().flat_map(|pool| pool.order.iter());
        let waiting = waiting.skip(first as usize).take(shown as usize).map(Turn::txid);
        let skipped = from.saturating_sub(in_pool);
        let txnums = self.txnums(self.reader(tier), id, &totals, skipped, count - shown)?;
        let transactions = self.page(tier, waiting, &txnums, left)?;
        Ok(Some(History { tx_count: totals.tx_count + in_pool, transactions }))
    }

    /// The places of a script's confirmed transactions, newest first, without the `skipped`
    /// newest ones.
    fn txnums(
        &self,
        reader: Reader<'_>,
        script: ScriptId,
        totals: &Totals,
        skipped: u64,
        wanted: u64,
    ) -> Result<Vec<u64>, ReadError> {
        let end = totals.tx_count.saturating_sub(skipped);
        let start = end.saturating_sub(wanted);
        let oldest_first = history::part(reader, script, totals, start, end)?;
        Ok(oldest_first.into_iter().rev().collect())
    }

    /// The largest confirmed unspent outputs of a script, at most `limit`; none if nobody used it.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn unspent(&self, script: &[u8], limit: usize) -> Result<Option<UnspentList>, ReadError> {
        let Some(Used { id, totals, pool }) = self.used(script, Tier::Any)? else {
            return Ok(None);
        };
        // Whatever spends an output touches its script.
        let pool = self.mempool.as_ref().filter(|_| pool.is_some());
        let count = totals.unspent_count;
        let mut items = Vec::new();
        let mut sound = true;
        if count > 0 && limit > 0 {
            self.latest().scan(UNSPENT_BY_SCRIPT, &id.0, &id.0, |key, row| {
                let item = self.unspent_output(pool, key, row);
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

    fn unspent_output(
        &self,
        pool: Option<&Mempool>,
        key: &[u8],
        row: &[u8],
    ) -> Option<UnspentOutput> {
        let (key, row) = (UnspentKey::read(key)?, UnspentRow::read(row)?);
        let output = OutPoint { txid: row.txid, vout: key.vout };
        let spender = pool.and_then(|pool| pool.spender(&output));
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
