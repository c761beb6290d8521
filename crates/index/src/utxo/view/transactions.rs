//! Transactions of a view: one by its id, or a list, with the outputs that they spend.
//!
//! Invariant: a list reads at most [`LIST_OUTPUTS`] previous outputs, and besides at most the
//! records of the few inputs of the transactions that do not fit (decision U6).

use std::ops::ControlFlow;

use chain::Hash32;

use super::{Inclusion, TransactionView, View, gone};
use crate::db::Row;
use crate::row::{of_u40, u40};
use crate::utxo::block_row::BlockRow;
use crate::utxo::input_view::InputView;
use crate::utxo::mempool::Entry;
use crate::utxo::previous::PreviousRecords;
use crate::utxo::record::TransactionRecord;
use crate::utxo::schema::TX_BY_NUM;
use crate::utxo::txids::latest_row;
use crate::utxo::voided;
use crate::{ReadError, Tier};

/// A list resolves so many previous outputs, in page order (decision U6).
pub const LIST_OUTPUTS: usize = 1000;
/// What may only use memory is done at once, without waiting; more previous outputs than this are
/// too much work for that.
const CACHED_OUTPUTS: usize = 128;
/// So are transactions of more bytes.
const CACHED_BYTES: usize = 32 << 10;

/// A record and its place in the chain.
type Confirmed = (u64, TransactionRecord);

impl View {
    /// A transaction of the pool or the chain, with every input resolved; of twins the later one.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn transaction(&self, txid: &Hash32) -> Result<Option<TransactionView>, ReadError> {
        self.transaction_within(Tier::Any, txid)
    }

    /// As [`View::transaction`], with reads that go as far as `tier` says.
    ///
    /// # Errors
    /// As [`ReadError`] says; `Cold` also where [`Tier::Cached`] is too narrow for so much work.
    pub fn transaction_within(
        &self,
        tier: Tier,
        txid: &Hash32,
    ) -> Result<Option<TransactionView>, ReadError> {
        if let Some(entry) = self.mempool.as_ref().and_then(|mempool| mempool.entry(txid)) {
            at_once(tier, entry.record.size as usize)?;
            return Ok(Some(waiting(entry, true)));
        }
        let mut all = usize::MAX;
        self.by_id(tier, txid, &mut all)
    }

    /// A transaction of the chain, or a voided one, with the outputs that it spends if so many are
    /// left.
    fn by_id(
        &self,
        tier: Tier,
        txid: &Hash32,
        left: &mut usize,
    ) -> Result<Option<TransactionView>, ReadError> {
        let Some((txnum, row)) = latest_row(self.reader(tier), txid)? else {
            return self.voided(tier, txid, left);
        };
        at_once(tier, row.len())?;
        Ok(self.resolve(tier, vec![(txnum, read(txnum, &row)?)], left)?.pop())
    }

    /// A transaction that votes voided and that stands nowhere.
    fn voided(
        &self,
        tier: Tier,
        txid: &Hash32,
        left: &mut usize,
    ) -> Result<Option<TransactionView>, ReadError> {
        let reader = self.reader(tier);
        let Some((height, position)) = voided::find(reader, txid)? else { return Ok(None) };
        let block = self.block(height, tier)?.ok_or_else(gone)?;
        let own = |position| {
            let found = voided::some(reader, &block, position, position + 1)?;
            found.into_iter().next().map(|(_, record)| record).ok_or_else(gone)
        };
        let record = own(position)?;
        at_once(tier, record.size as usize)?;
        let (resolved, first) = (fits(left, record.inputs.len()), block.regular_txnum());
        // What stood in the same tree is found where that is now.
        let earlier = record.inputs.iter().map(|input| input.txnum);
        let mut previous = PreviousRecords::load(reader, earlier.filter(|txnum| *txnum < first))?;
        for input in record.inputs.iter().filter(|input| input.txnum >= first) {
            let position = u32::try_from(input.txnum - first).map_err(|_| gone())?;
            previous.add(input.txnum, own(position)?);
        }
        let inputs = inputs(&record, resolved, &previous)?;
        let inclusion = Inclusion::Voided { height, hash: block.hash, time: block.time };
        Ok(Some(TransactionView { record, inclusion, inputs }))
    }

    /// Transactions of a block in block order, from the `from`th on.
    ///
    /// # Errors
    /// As [`ReadError`] says.
    pub fn block_transactions(
        &self,
        block: &BlockRow,
        from: u64,
        count: u64,
    ) -> Result<Vec<TransactionView>, ReadError> {
        self.block_transactions_within(Tier::Any, block, from, count, &mut { LIST_OUTPUTS })
    }

    /// As [`View::block_transactions`], with reads that go as far as `tier` says. `left` previous
    /// outputs are resolved, [`LIST_OUTPUTS`] where a page begins, and what is left of them told.
    ///
    /// # Errors
    /// As [`ReadError`] says; `Cold` also where [`Tier::Cached`] is too narrow for so much work.
    pub fn block_transactions_within(
        &self,
        tier: Tier,
        block: &BlockRow,
        from: u64,
        count: u64,
        left: &mut usize,
    ) -> Result<Vec<TransactionView>, ReadError> {
        // The regular tree is listed before the stake tree, which stands before it in the chain.
        let regular = u64::from(block.regular_count());
        let to = from.saturating_add(count).min(block.tx_count.into());
        let mut page = Vec::new();
        if from < regular && block.voided {
            page = self.voided_part(tier, block, from, to.min(regular), left)?;
        } else if from < regular {
            let first = block.regular_txnum();
            let records = self.standing(tier, first + from, first + to.min(regular))?;
            page = self.resolve(tier, records, left)?;
        }
        if to > regular {
            let stake = |place: u64| block.first_txnum + place.saturating_sub(regular);
            let records = self.standing(tier, stake(from), stake(to))?;
            page.extend(self.resolve(tier, records, left)?);
        }
        Ok(page)
    }

    /// A part of a block's voided tree: each as it is by its id.
    fn voided_part(
        &self,
        tier: Tier,
        block: &BlockRow,
        from: u64,
        to: u64,
        left: &mut usize,
    ) -> Result<Vec<TransactionView>, ReadError> {
        let mut page = Vec::new();
        let mut bytes = 0;
        for (_, record) in voided::some(self.reader(tier), block, from as u32, to as u32)? {
            bytes += record.size as usize;
            at_once(tier, bytes)?;
            let waits = self.mempool.as_ref().and_then(|mempool| mempool.entry(&record.txid));
            page.push(match waits {
                Some(entry) => waiting(entry, fits(left, entry.record.inputs.len())),
                None => self.by_id(tier, &record.txid, left)?.ok_or_else(gone)?,
            });
        }
        Ok(page)
    }

    /// The records that stand from one place up to another.
    fn standing(&self, tier: Tier, start: u64, end: u64) -> Result<Vec<Confirmed>, ReadError> {
        if start >= end {
            return Ok(Vec::new());
        }
        let mut records = Vec::new();
        let mut problem = None;
        let mut bytes = 0;
        self.reader(tier).scan(TX_BY_NUM, &[], &u40(start), |key, row| {
            let txnum = key.try_into().map_or(u64::MAX, of_u40);
            if txnum >= end {
                return ControlFlow::Break(());
            }
            bytes += row.len();
            match at_once(tier, bytes).and_then(|()| read(txnum, row)) {
                Ok(record) => records.push((txnum, record)),
                Err(error) => problem = Some(error),
            }
            if problem.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        match problem {
            Some(problem) => Err(problem),
            None if records.len() as u64 != end - start => Err(gone()),
            None => Ok(records),
        }
    }

    /// A page of a history: first what waits, then what is confirmed.
    pub(super) fn page(
        &self,
        tier: Tier,
        waiting_ids: impl Iterator<Item = Hash32>,
        txnums: &[u64],
        left: &mut usize,
    ) -> Result<Vec<TransactionView>, ReadError> {
        let mut bytes = 0;
        let mut page = Vec::new();
        for txid in waiting_ids {
            let entry = self.mempool.as_ref().and_then(|mempool| mempool.entry(&txid));
            let Some(entry) = entry else { continue };
            bytes += entry.record.size as usize;
            at_once(tier, bytes)?;
            let fits = fits(left, entry.inputs.len());
            page.push(waiting(entry, fits));
        }
        page.extend(self.resolve(tier, self.records(tier, txnums)?, left)?);
        Ok(page)
    }

    fn records(&self, tier: Tier, txnums: &[u64]) -> Result<Vec<Confirmed>, ReadError> {
        let keys: Vec<[u8; 5]> = txnums.iter().map(|txnum| u40(*txnum)).collect();
        let rows = self.reader(tier).multi_get(TX_BY_NUM, &keys)?;
        at_once(tier, rows.iter().flatten().map(|row| row.len()).sum())?;
        let read = |(txnum, row): (&u64, Option<Row<'_>>)| {
            Ok((*txnum, read(*txnum, &row.ok_or_else(gone)?)?))
        };
        txnums.iter().zip(rows).map(read).collect()
    }

    /// Gives confirmed transactions their blocks and the outputs that they spend, as far as
    /// `left` outputs go.
    fn resolve(
        &self,
        tier: Tier,
        records: Vec<Confirmed>,
        left: &mut usize,
    ) -> Result<Vec<TransactionView>, ReadError> {
        let fitting: Vec<bool> =
            records.iter().map(|(_, record)| fits(left, record.inputs.len())).collect();
        let wanted = records.iter().zip(&fitting);
        let wanted = wanted.filter(|((_, record), fits)| **fits || record.names.is_none());
        let wanted = wanted.flat_map(|((_, record), _)| record.inputs.iter().map(|i| i.txnum));
        let wanted: Vec<u64> = wanted.collect();
        if tier == Tier::Cached && wanted.len() > CACHED_OUTPUTS {
            return Err(ReadError::Cold);
        }
        let previous = PreviousRecords::load(self.reader(tier), wanted)?;
        let blocks = self.inclusions(tier, records.iter().map(|(txnum, _)| *txnum))?;
        let mut views = Vec::with_capacity(records.len());
        for (((_, record), fits), inclusion) in records.into_iter().zip(fitting).zip(blocks) {
            let inputs = inputs(&record, fits, &previous)?;
            views.push(TransactionView { record, inclusion, inputs });
        }
        Ok(views)
    }
}

fn read(txnum: u64, row: &[u8]) -> Result<TransactionRecord, ReadError> {
    TransactionRecord::read(txnum, row).map_err(|bad| bad.of("tx_by_num"))
}

/// Transactions of so many bytes are too much for what is done at once.
fn at_once(tier: Tier, bytes: usize) -> Result<(), ReadError> {
    if tier == Tier::Cached && bytes > CACHED_BYTES { Err(ReadError::Cold) } else { Ok(()) }
}

/// Whether a transaction's previous outputs still fit; once one does not, none after it does.
fn fits(left: &mut usize, inputs: usize) -> bool {
    match left.checked_sub(inputs) {
        Some(rest) => {
            *left = rest;
            true
        }
        None => {
            *left = 0;
            false
        }
    }
}

/// A transaction of the pool, with or without the outputs that it spends.
fn waiting(entry: &Entry, resolved: bool) -> TransactionView {
    let mut inputs = entry.inputs.clone();
    if !resolved {
        for input in inputs.iter_mut().filter(|input| input.txid.is_some()) {
            (input.value, input.spent) = (None, None);
        }
    }
    let inclusion = Inclusion::Mempool { first_seen: entry.first_seen };
    TransactionView { record: entry.record.clone(), inclusion, inputs }
}

/// The inputs of a confirmed transaction.
fn inputs(
    record: &TransactionRecord,
    resolved: bool,
    previous: &PreviousRecords,
) -> Result<Vec<InputView>, ReadError> {
    let mut views = Vec::with_capacity(record.inputs.len() + 1);
    views.extend(record.base.as_ref().map(InputView::of_base));
    for (place, input) in record.inputs.iter().enumerate() {
        let (txid, spent) = if resolved {
            let found = previous.output(input.txnum, input.vout)?.ok_or_else(gone)?;
            (found.txid, Some(found.output))
        } else {
            let named = record.names.as_ref().and_then(|names| names.get(place)).copied();
            match named {
                Some(txid) => (txid, None),
                None => (previous.txid(input.txnum)?.ok_or_else(gone)?, None),
            }
        };
        let value = spent.as_ref().map(|spent| spent.value);
        let (txid, vout, sequence) = (Some(txid), input.vout, input.sequence);
        views.push(InputView { txid, vout, sequence, value, spent });
    }
    Ok(views)
}
