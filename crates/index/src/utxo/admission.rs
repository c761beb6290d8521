//! Raw transactions of the node's pool become entries of ours.
//!
//! Leaves asking for them to `pool_pass`. Invariants: an entry has every output that it spends, from
//! the pool or unspent in the chain of the view, or in a tree that votes voided; nothing is admitted that the chain has, or whose
//! coins the chain has spent (decision U16); parents and children may come in any order.

use std::collections::{HashMap, HashSet};

use chain::Hash32;
use chain::utxo::{Format, Transaction};

use super::decoded;
use super::effects::Rules;
use super::input_view::InputView;
use super::mempool::{Entry, Mempool, Touch};
use super::orphans::Orphans;
use super::outputs::OutputRecord;
use super::previous::PreviousRecords;
use super::record::TransactionRecord;
use super::schema::{UNSPENT_BY_SCRIPT, UnspentKey};
use super::script_id::ScriptId;
use super::txids::{latest_places, latest_row};
use super::view::View;
use super::voided;
use crate::ReadError;
use crate::sync::Waiting;

/// Bytes of memory that an entry, an input and an output take besides their scripts, estimated.
const ENTRY_BYTES: u64 = 600;
const PART_BYTES: u64 = 350;

/// What transactions are admitted by.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    /// The chain that they stand on.
    pub(crate) view: &'a View,
    /// How they are written.
    pub(crate) format: &'a Format,
    /// Now, in seconds since 1970.
    pub(crate) first_seen: u64,
    /// Bytes of memory beyond which only ids are kept.
    pub(crate) limit: u64,
}

/// Raw transactions with their ids.
pub(crate) type Raw = Vec<(Hash32, Vec<u8>)>;

/// A pool, and what was fetched for it and is not in it.
#[derive(Default)]
pub(crate) struct Admission {
    pub(crate) mempool: Mempool,
    /// The chain of this tip has them already.
    confirmed: HashSet<Hash32>,
    /// The chain of this tip spent their coins, or those of what they spend.
    impossible: HashSet<Hash32>,
    /// Read, and wait for a parent.
    orphans: Orphans,
    /// Could not be read.
    unreadable: HashSet<Hash32>,
}

/// Where the outputs that waiting transactions spend are found.
struct Chain {
    places: HashMap<Hash32, u64>,
    records: PreviousRecords,
    /// Transactions that votes voided and that stand nowhere: a node's pool keeps what spends them.
    voided: HashMap<Hash32, TransactionRecord>,
}

/// What is known of all that a transaction spends.
enum Spends {
    /// Everything is there to be spent.
    Known,
    /// This transaction is neither in the pool nor in the chain.
    Unknown(Hash32),
    /// Something is not there, or spent already.
    Never,
}

impl Admission {
    /// With a pool that there was.
    pub(crate) fn of(mempool: Mempool) -> Admission {
        Admission { mempool, ..Admission::default() }
    }

    /// Whether a transaction was refused at this tip.
    pub(crate) fn has_refused(&self, txid: &Hash32) -> bool {
        self.confirmed.contains(txid) || self.impossible.contains(txid)
    }

    /// What was fetched and could be neither admitted nor refused; it is forgotten with that.
    pub(crate) fn take_unread(&mut self) -> HashSet<Hash32> {
        let mut unread = std::mem::take(&mut self.unreadable);
        unread.extend(std::mem::take(&mut self.orphans).into_ids());
        unread
    }

    /// Adds raw transactions to the pool, as far as what they spend is known and unspent; beyond
    /// the limit only their ids. Those that wait for one of them are added with it.
    pub(crate) fn admit(&mut self, terms: Terms<'_>, raw: Raw) -> Result<(), ReadError> {
        let mut coming = raw;
        while !coming.is_empty() {
            coming = self.admit_these(terms, &coming)?;
        }
        Ok(())
    }

    /// Notes ids without reading the transactions, for want of memory.
    pub(crate) fn leave(&mut self, view: &View, ids: Vec<Hash32>) -> Result<(), ReadError> {
        for txid in ids {
            if !self.is_confirmed(view, &txid)? {
                self.mempool.leave_beyond(txid);
            }
        }
        Ok(())
    }

    fn is_confirmed(&mut self, view: &View, txid: &Hash32) -> Result<bool, ReadError> {
        let confirmed = latest_row(view.latest(), txid)?.is_some();
        if confirmed {
            self.confirmed.insert(*txid);
        }
        Ok(confirmed)
    }

    /// Gives those that waited for one of these.
    fn admit_these(&mut self, terms: Terms<'_>, raw: &Raw) -> Result<Raw, ReadError> {
        let mut waiting = Vec::new();
        for (txid, bytes) in raw {
            if self.mempool.entry(txid).is_some() || self.is_confirmed(terms.view, txid)? {
                continue;
            }
            match Transaction::decode(bytes, terms.format) {
                Ok(transaction) => waiting.push((*txid, bytes, transaction)),
                Err(error) => {
                    tracing::debug!(%txid, %error, "a waiting transaction cannot be read");
                    self.unreadable.insert(*txid);
                }
            }
        }
        let chain = chain_of(&self.mempool, terms.view, &waiting)?;
        let mut freed = Vec::new();
        for (txid, bytes, transaction) in waiting {
            if self.mempool.memory() >= terms.limit {
                self.mempool.leave_beyond(txid);
                continue;
            }
            match self.spends(&chain, terms.view, &transaction)? {
                Spends::Never => self.rule_out(txid),
                Spends::Unknown(parent) if self.mempool.is_beyond(&parent) => {
                    self.mempool.leave_beyond(txid);
                }
                Spends::Unknown(parent) => self.orphans.keep(txid, bytes, parent),
                Spends::Known => {
                    let (rules, seen) = (terms.view.rules(), terms.first_seen);
                    let entry = entry(&self.mempool, &chain, rules, txid, &transaction, seen)?;
                    entry.into_iter().for_each(|entry| self.mempool.insert(entry));
                    freed.extend(self.orphans.freed(&txid));
                }
            }
        }
        Ok(freed)
    }

    /// A transaction can never be in a block after this tip, nor what waits for it.
    fn rule_out(&mut self, txid: Hash32) {
        let mut out = vec![txid];
        while let Some(txid) = out.pop() {
            out.extend(self.orphans.freed(&txid).into_iter().map(|(child, _)| child));
            self.impossible.insert(txid);
        }
    }

    fn spends(
        &self,
        chain: &Chain,
        view: &View,
        transaction: &Transaction<'_>,
    ) -> Result<Spends, ReadError> {
        let mut unknown = None;
        for input in decoded::spends(transaction) {
            let (txid, vout) = (input.previous.txid, input.previous.vout);
            let there = spent(&self.mempool, chain, &txid, vout)?;
            let in_pool = self.mempool.entry(&txid).is_some();
            match (there, chain.places.get(&txid)) {
                (Some(_), _) if in_pool => {}
                (Some(output), Some(txnum)) => {
                    if !is_unspent(view, *txnum, vout, &output)? {
                        return Ok(Spends::Never);
                    }
                }
                (Some(_), None) if chain.voided.contains_key(&txid) => {}
                (None, None) if !in_pool && !self.impossible.contains(&txid) => {
                    unknown = Some(txid)
                }
                _ => return Ok(Spends::Never),
            }
        }
        Ok(unknown.map_or(Spends::Known, Spends::Unknown))
    }
}

impl Waiting<View> for Mempool {
    fn count(&self) -> u64 {
        Mempool::count(self)
    }

    fn hold_against(&mut self, view: &View) -> Result<(), ReadError> {
        let entries: Vec<_> = self.entries().cloned().collect();
        let previous =
            entries.iter().flat_map(|entry| &entry.inputs).filter_map(|it| it.previous());
        let parents: HashSet<Hash32> =
            previous.map(|it| it.txid).filter(|txid| self.entry(txid).is_none()).collect();
        let (places, _) =
            latest_places(view.latest(), u64::MAX, parents.iter().map(|txid| (txid, 1)))?;
        for entry in entries {
            let txid = entry.record.txid;
            let mut sound = latest_row(view.latest(), &txid)?.is_none();
            for input in &entry.inputs {
                let (Some(previous), Some(output)) = (input.previous(), &input.spent) else {
                    continue;
                };
                if self.entry(&previous.txid).is_none() {
                    sound &= match places.get(&previous.txid) {
                        Some(txnum) => is_unspent(view, *txnum, previous.vout, output)?,
                        None => false,
                    };
                }
            }
            if !sound {
                self.remove_with_descendants(&txid);
            }
        }
        let beyond: Vec<Hash32> = self.beyond().copied().collect();
        for txid in beyond {
            if latest_row(view.latest(), &txid)?.is_some() {
                self.remove(&txid);
            }
        }
        Ok(())
    }
}

/// Whether an output of the transaction at that place is unspent in the chain of a view.
fn is_unspent(
    view: &View,
    txnum: u64,
    vout: u32,
    output: &OutputRecord,
) -> Result<bool, ReadError> {
    let (script, value) = (view.rules().script(output), output.value);
    let key = UnspentKey { script, value, txnum, vout }.bytes();
    Ok(view.latest().get(UNSPENT_BY_SCRIPT, &key)?.is_some())
}

/// Reads what the transactions spend of the chain.
fn chain_of(
    mempool: &Mempool,
    view: &View,
    waiting: &[(Hash32, &Vec<u8>, Transaction<'_>)],
) -> Result<Chain, ReadError> {
    let mut uses: HashMap<Hash32, usize> = HashMap::new();
    for input in waiting.iter().flat_map(|(_, _, transaction)| decoded::spends(transaction)) {
        if mempool.entry(&input.previous.txid).is_none() {
            *uses.entry(input.previous.txid).or_default() += 1;
        }
    }
    for (txid, _, _) in waiting {
        uses.remove(txid);
    }
    let wanted = uses.iter().map(|(txid, uses)| (txid, *uses));
    let (places, records) = latest_places(view.latest(), u64::MAX, wanted)?;
    let mut voided = HashMap::new();
    for txid in uses.keys().filter(|txid| !places.contains_key(txid)) {
        let found = voided::record(view.latest(), txid)?;
        voided.extend(found.map(|record| (*txid, record)));
    }
    Ok(Chain { places, records, voided })
}

fn spent(
    mempool: &Mempool,
    chain: &Chain,
    txid: &Hash32,
    vout: u32,
) -> Result<Option<OutputRecord>, ReadError> {
    if let Some(parent) = mempool.entry(txid) {
        return Ok(parent.record.outputs.get(vout as usize).cloned());
    }
    match chain.places.get(txid) {
        Some(txnum) => Ok(chain.records.output(*txnum, vout)?.map(|spent| spent.output)),
        None => {
            Ok(chain.voided.get(txid).and_then(|record| record.spent(vout)).map(|it| it.output))
        }
    }
}

/// The entry of a transaction; none while an output that it spends is unknown.
fn entry(
    mempool: &Mempool,
    chain: &Chain,
    rules: Rules<'_>,
    txid: Hash32,
    transaction: &Transaction<'_>,
    first_seen: u64,
) -> Result<Option<Entry>, ReadError> {
    let mut record = decoded::record(transaction, txid);
    let mut touches = Touches::default();
    let mut inputs = Vec::with_capacity(transaction.inputs().len());
    inputs.extend(record.base.as_ref().map(InputView::of_base));
    let mut value_in = 0u128;
    let mut memory = ENTRY_BYTES;
    for input in decoded::spends(transaction) {
        let previous = input.previous;
        let Some(output) = spent(mempool, chain, &previous.txid, previous.vout)? else {
            return Ok(None);
        };
        value_in += u128::from(output.value);
        memory += PART_BYTES + output.script.len() as u64;
        touches.of(rules.script(&output)).sent += u128::from(output.value);
        inputs.push(InputView {
            txid: Some(previous.txid),
            vout: previous.vout,
            sequence: input.sequence,
            value: Some(output.value),
            spent: Some(output),
        });
    }
    for output in &record.outputs {
        memory += PART_BYTES + output.script.len() as u64;
        if rules.can_be_spent(output) {
            touches.of(rules.script(output)).received += u128::from(output.value);
        }
    }
    record.count(value_in);
    // What it leaves is hidden with all else of it (decision U6).
    if transaction.is_extension_only() {
        record.fee = None;
    }
    Ok(Some(Entry {
        record,
        inputs,
        first_seen,
        touches: touches.0.into_values().collect(),
        memory,
    }))
}

/// What a transaction pays to and takes from each script.
#[derive(Default)]
struct Touches(HashMap<ScriptId, Touch>);

impl Touches {
    fn of(&mut self, script: ScriptId) -> &mut Touch {
        self.0.entry(script).or_insert(Touch { script, received: 0, sent: 0 })
    }
}
