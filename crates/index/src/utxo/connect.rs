//! A block becomes rows.
//!
//! Leaves fetching to `sync`, what transactions do to `effects` and committing to `Store`.
//! Invariant: a block that spends what is not there changes nothing.

use std::collections::HashMap;

use chain::Hash32;
use chain::utxo::{Block, OutPoint, Transaction};

use super::block_row::BlockRow;
use super::changes::{Astray, Changes};
use super::decoded;
use super::effects::{Rules, SpentOutput, Step, Way, go};
use super::previous::PreviousRecords;
use super::record::row::is_named;
use super::record::{InputRecord, Spent, TransactionRecord};
use super::schema::{HEADER_BY_HEIGHT, HEIGHT_BY_HASH, LAST_VOUT, META, UnspentKey, hash_key};
use super::steps::{records, steps};
use super::tip::Tip;
use super::txids::latest_places;
use super::voided;
use crate::IndexError;
use crate::db::{Batch, Reader};
use crate::identity::META_TIP;
use crate::store::LastBlock;

/// What it takes to turn a block into rows.
pub(crate) struct Connect<'a> {
    /// The rows up to the block before.
    pub(crate) reader: Reader<'a>,
    /// Which outputs count.
    pub(crate) rules: Rules<'a>,
    /// Height of the block.
    pub(crate) height: u32,
    /// Place of its first transaction in the chain.
    pub(crate) first_txnum: u64,
    /// The block before, where this one's votes void its regular tree.
    pub(crate) voids: Option<&'a BlockRow>,
}

/// Where the outputs that a block spends are found.
struct Sources {
    /// The block's own transactions, by id.
    places: HashMap<Hash32, usize>,
    /// Earlier ones, by id.
    earlier: HashMap<Hash32, u64>,
    records: PreviousRecords,
}

impl Connect<'_> {
    /// Puts the rows of a block into a batch, and gives the new tip and the block's own row.
    pub(crate) fn block(
        &self,
        block: &Block<'_>,
        batch: &mut Batch<'_>,
    ) -> Result<(Tip, BlockRow), IndexError> {
        let mut changes = Changes::new(batch);
        if let Some(before) = self.voids {
            self.void(before, changes.going(Way::Back))?;
        }
        let steps = self.steps(block, &changes)?;
        let unknown = |astray| self.unknown(astray);
        go(&steps, self.rules, Way::Forward, changes.going(Way::Forward)).map_err(unknown)?;
        changes.finish(self.reader)?;
        Ok(self.put_block(block, batch))
    }

    /// Takes back the regular tree of the block before: its records stand apart from here on.
    fn void(&self, before: &BlockRow, changes: &mut Changes<'_, '_>) -> Result<(), IndexError> {
        let records = records(self.reader, before.regular_txnum(), before.next_txnum())?;
        voided::put(changes.batch(), before, &records);
        go(&steps(self.reader, records)?, self.rules, Way::Back, changes)
            .map_err(Astray::among_records)?;
        let voided = BlockRow { voided: true, ..before.clone() };
        changes.batch().put(HEADER_BY_HEIGHT, &before.height.to_be_bytes(), &voided.bytes());
        Ok(())
    }

    /// The block's transactions with what they spend.
    fn steps(&self, block: &Block<'_>, changes: &Changes<'_, '_>) -> Result<Vec<Step>, IndexError> {
        let sources = self.sources(block)?;
        let mut records = Vec::with_capacity(block.transactions.len());
        for (transaction, txid) in decoded::in_order(block) {
            if transaction.outputs().len() as u64 > u64::from(LAST_VOUT) {
                return Err(self.bad("a transaction has too many outputs"));
            }
            records.push(decoded::record(transaction, *txid));
        }
        let mut spent = Vec::with_capacity(records.len());
        for ((transaction, _), record) in decoded::in_order(block).zip(&records) {
            let found = decoded::spends_of(transaction, record.kind)
                .map(|input| self.find(&records, &sources, input.previous));
            spent.push(found.collect::<Result<Vec<SpentOutput>, IndexError>>()?);
        }
        let mut steps = Vec::with_capacity(records.len());
        let parts = records.into_iter().zip(spent).zip(decoded::in_order(block));
        for (((mut record, spent), (transaction, _)), txnum) in parts.zip(self.first_txnum..) {
            complete(&mut record, transaction, &spent);
            let twin = sources.earlier.get(&record.txid).copied();
            if let Some(twin) = twin {
                record.replaced = self.replaced(&record, txnum, twin, changes)?;
            }
            steps.push(Step { txnum, record, spent, twin });
        }
        Ok(steps)
    }

    fn sources(&self, block: &Block<'_>) -> Result<Sources, IndexError> {
        let ids = decoded::in_order(block).map(|(_, txid)| *txid).enumerate();
        let places: HashMap<Hash32, usize> = ids.map(|(place, txid)| (txid, place)).collect();
        if places.len() != block.txids.len() {
            return Err(self.bad("it has a transaction twice"));
        }
        let mut uses: HashMap<Hash32, usize> = HashMap::new();
        for (transaction, _) in decoded::in_order(block) {
            for input in decoded::spends(transaction) {
                let txid = input.previous.txid;
                if !places.contains_key(&txid) {
                    *uses.entry(txid).or_default() += 1;
                }
            }
        }
        // The block's own ids are looked for too: an earlier twin may have them.
        let wanted = uses.iter().map(|(txid, uses)| (txid, *uses));
        let wanted = wanted.chain(block.txids.iter().map(|txid| (txid, 1)));
        let (earlier, records) = latest_places(self.reader, self.first_txnum, wanted)?;
        Ok(Sources { places, earlier, records })
    }

    fn bad(&self, problem: impl Into<String>) -> IndexError {
        IndexError::Block { height: self.height, problem: problem.into() }
    }

    fn unknown(&self, Astray { txid, vout }: Astray) -> IndexError {
        IndexError::Unknown { height: self.height, txid, vout }
    }

    fn find(
        &self,
        records: &[TransactionRecord],
        sources: &Sources,
        OutPoint { txid, vout }: OutPoint,
    ) -> Result<SpentOutput, IndexError> {
        let found: Option<(u64, Spent)> = match sources.places.get(&txid) {
            Some(place) => {
                let own = records[*place].spent(vout);
                own.map(|own| (self.first_txnum + *place as u64, own))
            }
            None => match sources.earlier.get(&txid) {
                Some(txnum) => {
                    let earlier = sources.records.output(*txnum, vout)?;
                    earlier.map(|earlier| (*txnum, earlier))
                }
                None => None,
            },
        };
        found
            .filter(|(txnum, spent)| self.rules.counts(*txnum, &spent.output))
            .map(|(txnum, spent)| SpentOutput { txnum, vout, spent })
            .ok_or_else(|| self.unknown(Astray { txid, vout }))
    }

    /// The outputs that take the place of the same unspent one of an earlier twin.
    fn replaced(
        &self,
        record: &TransactionRecord,
        txnum: u64,
        twin: u64,
        changes: &Changes<'_, '_>,
    ) -> Result<Vec<u32>, IndexError> {
        let mut replaced = Vec::new();
        for (vout, output) in (0u32..).zip(&record.outputs) {
            if self.rules.counts(txnum, output) {
                let script = self.rules.script(output);
                let old = UnspentKey { script, value: output.value, txnum: twin, vout };
                if changes.is_unspent(self.reader, &old)? {
                    replaced.push(vout);
                }
            }
        }
        Ok(replaced)
    }

    fn put_block(&self, block: &Block<'_>, batch: &mut Batch<'_>) -> (Tip, BlockRow) {
        let row = BlockRow::of(block, self.height, self.first_txnum);
        let tip = Tip::of(&row);
        let height = self.height.to_be_bytes();
        batch.put(HEADER_BY_HEIGHT, &height, &row.bytes());
        batch.put(HEIGHT_BY_HASH, &hash_key(&row.hash), &height);
        batch.put(META, META_TIP, &tip.bytes());
        (tip, row)
    }
}

/// Adds what its inputs spend.
fn complete(record: &mut TransactionRecord, transaction: &Transaction<'_>, spent: &[SpentOutput]) {
    for (input, spent) in decoded::spends_of(transaction, record.kind).zip(spent) {
        let (txnum, vout, sequence) = (spent.txnum, spent.vout, input.sequence);
        record.inputs.push(InputRecord { txnum, vout, sequence });
    }
    record.count(spent.iter().map(|one| u128::from(one.spent.output.value)).sum());
    let inputs = decoded::spends_of(transaction, record.kind);
    record.names =
        is_named(inputs.len()).then(|| inputs.map(|input| input.previous.txid).collect());
}
