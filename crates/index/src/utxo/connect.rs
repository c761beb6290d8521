//! A block becomes rows.
//!
//! Leaves fetching to `sync` and committing to `Store`. Invariants: all outputs of a block exist
//! before any is spent (decision U9); of a twin (BIP 30) the later one's outputs replace the
//! earlier one's (decision U5).

use std::collections::{HashMap, HashSet};

use chain::Hash32;
use chain::utxo::{Block, OutPoint, Transaction, is_unspendable};

use super::block_row::BlockRow;
use super::changes::{Changes, Direction};
use super::previous::PreviousRecords;
use super::record::{InputRecord, NAMED_ABOVE, OutputRecord, Spent, TransactionRecord};
use super::schema::{
    HEADER_BY_HEIGHT, HEIGHT_BY_HASH, LAST_VOUT, META, META_TIP, TX_BY_NUM, TXNUM_BY_TXID,
    UNSPENT_BY_SCRIPT, UnspentKey, UnspentRow, hash_key, txid_key,
};
use super::script_id::HashKey;
use super::tip::Tip;
use super::txids::latest_places;
use crate::IndexError;
use crate::db::{Batch, Reader};
use crate::row::u40;

/// What it takes to turn a block into rows.
pub(crate) struct Connect<'a> {
    /// The rows up to the block before.
    pub(crate) reader: Reader<'a>,
    /// The secret of the script ids.
    pub(crate) key: &'a HashKey,
    /// Height of the block.
    pub(crate) height: u32,
    /// Place of its first transaction in the chain.
    pub(crate) first_txnum: u64,
}

/// An output that an input spends, and where it stands.
struct Found {
    txnum: u64,
    spent: Spent,
}

/// Where the outputs that a block spends are found.
struct Sources<'b> {
    block: &'b Block<'b>,
    /// Outputs of the block's own transactions.
    own: Vec<Vec<OutputRecord>>,
    places: HashMap<Hash32, usize>,
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
        let sources = self.sources(block)?;
        let mut rows = Rows {
            connect: self,
            batch,
            changes: Changes::default(),
            created: HashMap::new(),
            deleted: HashSet::new(),
        };
        let replaced = rows.create(&sources)?;
        for (place, (transaction, replaced)) in block.transactions.iter().zip(replaced).enumerate()
        {
            rows.transaction(place, transaction, &sources, replaced)?;
        }
        rows.finish()?;
        Ok(self.put_block(block, batch))
    }

    fn sources<'b>(&self, block: &'b Block<'b>) -> Result<Sources<'b>, IndexError> {
        let places: HashMap<Hash32, usize> =
            block.txids.iter().enumerate().map(|(place, txid)| (*txid, place)).collect();
        if places.len() != block.txids.len() {
            return Err(self.bad("it has a transaction twice"));
        }
        let mut uses: HashMap<Hash32, usize> = HashMap::new();
        for transaction in block.transactions.iter().filter(|t| !t.is_coinbase()) {
            for input in transaction.inputs() {
                let txid = input.previous.txid;
                if !places.contains_key(&txid) {
                    *uses.entry(txid).or_default() += 1;
                }
            }
        }
        // The block's own ids are looked for too: an earlier twin may have them.
        let wanted = uses.iter().map(|(txid, uses)| (txid, *uses));
        let wanted = wanted.chain(block.txids.iter().map(|txid| (txid, 1)));
        let (earlier, records) = latest_places(self.reader, wanted)?;
        let own = block
            .transactions
            .iter()
            .map(|transaction| transaction.outputs().map(|o| OutputRecord::of(&o)).collect())
            .collect();
        Ok(Sources { block, own, places, earlier, records })
    }

    fn bad(&self, problem: impl Into<String>) -> IndexError {
        IndexError::Block { height: self.height, problem: problem.into() }
    }

    /// Whether an output counts: it can be spent, and is not of the genesis block, whose one
    /// transaction has the txnum 0 (decision U4).
    pub(super) fn counts(&self, txnum: u64, script: &[u8]) -> bool {
        txnum != 0 && !is_unspendable(script)
    }

    fn find(&self, sources: &Sources<'_>, previous: OutPoint) -> Result<Found, IndexError> {
        let OutPoint { txid, vout } = previous;
        let found = match sources.places.get(&txid) {
            Some(place) => {
                let output = sources.own[*place].get(vout as usize).cloned();
                let coinbase = sources.block.transactions[*place].is_coinbase();
                let spent = output.map(|output| Spent { txid, coinbase, output });
                spent.map(|spent| Found { txnum: self.first_txnum + *place as u64, spent })
            }
            None => match sources.earlier.get(&txid) {
                Some(txnum) => {
                    let spent = sources.records.output(*txnum, vout)?;
                    spent.map(|spent| Found { txnum: *txnum, spent })
                }
                None => None,
            },
        };
        found
            .filter(|found| self.counts(found.txnum, &found.spent.output.script))
            .ok_or(IndexError::Unknown { height: self.height, txid, vout })
    }

    fn put_block(&self, block: &Block<'_>, batch: &mut Batch<'_>) -> (Tip, BlockRow) {
        let header = &block.header;
        let row = BlockRow {
            height: self.height,
            hash: header.hash,
            merkle_root: header.merkle_root,
            version: header.version,
            time: header.time,
            bits: header.bits,
            nonce: header.nonce,
            first_txnum: self.first_txnum,
            tx_count: block.transactions.len() as u32,
            size: block.size as u64,
        };
        let next_txnum = self.first_txnum + block.transactions.len() as u64;
        let tip = Tip { height: self.height, hash: header.hash, next_txnum };
        let height = self.height.to_be_bytes();
        batch.put(HEADER_BY_HEIGHT, &height, &row.bytes());
        batch.put(HEIGHT_BY_HASH, &hash_key(&header.hash), &height);
        batch.put(META, META_TIP, &tip.bytes());
        (tip, row)
    }
}

/// The rows of a block while they come together.
struct Rows<'a, 'c, 'b> {
    connect: &'a Connect<'c>,
    batch: &'a mut Batch<'b>,
    changes: Changes,
    /// Unspent outputs of the block itself.
    created: HashMap<UnspentKey, UnspentRow>,
    /// Unspent outputs of earlier blocks that are no longer.
    deleted: HashSet<UnspentKey>,
}

impl Rows<'_, '_, '_> {
    /// Makes all outputs of the block, and gives for each transaction the places of those that
    /// replace an unspent one.
    fn create(&mut self, sources: &Sources<'_>) -> Result<Vec<Vec<u32>>, IndexError> {
        let mut replaced = Vec::with_capacity(sources.own.len());
        for (place, outputs) in sources.own.iter().enumerate() {
            if outputs.len() as u64 > u64::from(LAST_VOUT) {
                return Err(self.connect.bad("a transaction has too many outputs"));
            }
            let txid = sources.block.txids[place];
            let txnum = self.connect.first_txnum + place as u64;
            let coinbase = sources.block.transactions[place].is_coinbase();
            let twin = sources.earlier.get(&txid).copied();
            let mut of_twin = Vec::new();
            for (vout, output) in (0..).zip(outputs) {
                if !self.connect.counts(txnum, &output.script) {
                    continue;
                }
                let script = self.connect.key.script_id(&output.script);
                let key = UnspentKey { script, value: output.value, txnum, vout };
                if let Some(twin) = twin {
                    let old = UnspentKey { txnum: twin, ..key };
                    if self.connect.reader.get(UNSPENT_BY_SCRIPT, &old.bytes())?.is_some() {
                        self.deleted.insert(old);
                        of_twin.push(vout);
                    }
                }
                let token = output.token.is_some();
                self.created.insert(key, UnspentRow { txid, coinbase, token });
            }
            replaced.push(of_twin);
        }
        Ok(replaced)
    }

    fn transaction(
        &mut self,
        place: usize,
        transaction: &Transaction<'_>,
        sources: &Sources<'_>,
        replaced: Vec<u32>,
    ) -> Result<(), IndexError> {
        let txnum = self.connect.first_txnum + place as u64;
        for (vout, output) in (0u32..).zip(&sources.own[place]) {
            if self.connect.counts(txnum, &output.script) {
                let script = self.connect.key.script_id(&output.script);
                if replaced.contains(&vout) {
                    self.changes.replace(script, txnum);
                } else {
                    self.changes.pay(script, txnum, output.value);
                }
            }
        }
        let coinbase = transaction.is_coinbase();
        let mut record = head(transaction, sources.block.txids[place], replaced);
        record.outputs.clone_from(&sources.own[place]);
        let mut value_in = 0i128;
        for input in transaction.inputs() {
            if coinbase {
                record.coinbase = Some(input.script.to_vec());
                let (txnum, vout, sequence) = (0, u32::MAX, input.sequence);
                record.inputs.push(InputRecord { txnum, vout, sequence });
                continue;
            }
            let found = self.connect.find(sources, input.previous)?;
            value_in += i128::from(found.spent.output.value);
            record.inputs.push(InputRecord {
                txnum: found.txnum,
                vout: input.previous.vout,
                sequence: input.sequence,
            });
            self.spend(txnum, &found, input.previous)?;
        }
        if !coinbase {
            let value_out: i128 = record.outputs.iter().map(|o| i128::from(o.value)).sum();
            record.fee = Some(value_in - value_out);
            record.names = names(transaction);
        }
        self.batch.put(TX_BY_NUM, &u40(txnum), &record.bytes(txnum));
        self.batch.put(TXNUM_BY_TXID, &txid_key(&record.txid, txnum), &[]);
        Ok(())
    }

    fn spend(&mut self, txnum: u64, found: &Found, previous: OutPoint) -> Result<(), IndexError> {
        let OutPoint { txid, vout } = previous;
        let output = &found.spent.output;
        let script = self.connect.key.script_id(&output.script);
        let key = UnspentKey { script, value: output.value, txnum: found.txnum, vout };
        // Only a block that spends it twice finds it neither created nor yet to be deleted. That
        // an earlier block left it unspent is the node's to check: a read for each input would
        // double what a block costs.
        let own = found.txnum >= self.connect.first_txnum;
        let unspent =
            if own { self.created.remove(&key).is_some() } else { self.deleted.insert(key) };
        if !unspent {
            return Err(IndexError::Unknown { height: self.connect.height, txid, vout });
        }
        self.changes.spend(script, txnum, output.value);
        Ok(())
    }

    fn finish(self) -> Result<(), IndexError> {
        for key in &self.deleted {
            self.batch.delete(UNSPENT_BY_SCRIPT, &key.bytes());
        }
        for (key, row) in &self.created {
            self.batch.put(UNSPENT_BY_SCRIPT, &key.bytes(), &row.bytes());
        }
        self.changes.apply(self.connect.reader, self.batch, Direction::Connect)
    }
}

/// A record without inputs and outputs.
pub(crate) fn head(
    transaction: &Transaction<'_>,
    txid: Hash32,
    replaced: Vec<u32>,
) -> TransactionRecord {
    TransactionRecord {
        txid,
        version: transaction.version,
        lock_time: transaction.lock_time,
        size: transaction.size() as u32,
        vsize: transaction.vsize() as u32,
        fee: None,
        coinbase: None,
        outputs: Vec::new(),
        inputs: Vec::with_capacity(transaction.inputs().len()),
        names: None,
        replaced,
    }
}

/// The previous txids, where the record carries them.
pub(crate) fn names(transaction: &Transaction<'_>) -> Option<Vec<Hash32>> {
    let inputs = transaction.inputs();
    (inputs.len() > NAMED_ABOVE).then(|| inputs.map(|input| input.previous.txid).collect())
}
