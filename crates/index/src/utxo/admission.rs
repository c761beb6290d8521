//! Raw transactions of the node's pool become entries of ours.
//!
//! Leaves asking for them to `pool_pass`. Invariant: an entry has every output that it spends,
//! from the pool or from the chain; one that has not yet waits for the next pass.

use std::collections::HashMap;

use chain::Hash32;
use chain::utxo::{Format, Transaction};

use super::decoded;
use super::effects::Rules;
use super::mempool::{Entry, Mempool, Touch};
use super::outputs::OutputRecord;
use super::previous::PreviousRecords;
use super::script_id::ScriptId;
use super::txids::latest_places;
use super::view::{InputView, View};
use crate::ReadError;

/// Bytes of memory that an entry, an input and an output take besides their scripts, estimated.
const ENTRY_BYTES: u64 = 600;
const PART_BYTES: u64 = 350;

/// Where the outputs that waiting transactions spend are found.
struct Chain {
    places: HashMap<Hash32, u64>,
    records: PreviousRecords,
}

/// Adds raw transactions to a pool, as far as the outputs that they spend are known; beyond
/// `limit` bytes of memory only their ids. Bytes that are no transaction are left out.
pub(crate) fn admit(
    mempool: &mut Mempool,
    view: &View,
    format: &Format,
    raw: &[(Hash32, Vec<u8>)],
    first_seen: u64,
    limit: u64,
) -> Result<(), ReadError> {
    let mut waiting = Vec::new();
    for (txid, bytes) in raw {
        match Transaction::decode(bytes, format) {
            Ok(transaction) => waiting.push((*txid, transaction)),
            Err(error) => tracing::debug!(%txid, %error, "a waiting transaction cannot be read"),
        }
    }
    let chain = chain_of(mempool, view, &waiting)?;
    let rules = Rules { key: view.key(), format };
    loop {
        let before = waiting.len();
        let mut left = Vec::new();
        for (txid, transaction) in waiting {
            if mempool.memory() >= limit {
                mempool.leave_unread(txid);
                continue;
            }
            match entry(mempool, &chain, rules, txid, &transaction, first_seen)? {
                Some(entry) => mempool.insert(entry),
                None => left.push((txid, transaction)),
            }
        }
        // A child may stand before its parent.
        if left.len() == before || left.is_empty() {
            return Ok(());
        }
        waiting = left;
    }
}

/// Reads what the transactions spend of the chain.
fn chain_of(
    mempool: &Mempool,
    view: &View,
    waiting: &[(Hash32, Transaction<'_>)],
) -> Result<Chain, ReadError> {
    let mut uses: HashMap<Hash32, usize> = HashMap::new();
    for input in waiting.iter().flat_map(|(_, transaction)| decoded::spends(transaction)) {
        if mempool.entry(&input.previous.txid).is_none() {
            *uses.entry(input.previous.txid).or_default() += 1;
        }
    }
    for (txid, _) in waiting {
        uses.remove(txid);
    }
    let wanted = uses.iter().map(|(txid, uses)| (txid, *uses));
    let (places, records) = latest_places(view.latest(), u64::MAX, wanted)?;
    Ok(Chain { places, records })
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
        None => Ok(None),
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
