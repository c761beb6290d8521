//! Decoding of blocks, on several threads: everything that needs no other block.

use bytes::Bytes;
use chain::Hash32;
use chain::utxo::{Block, Format, Kind, Layout, Transaction};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};

use super::coin::{Coin, CoinName, Namer, PackedCoin};
use crate::IndexError;
use crate::row::put_varint;
use crate::utxo::block_row::BlockRow;
use crate::utxo::decoded;
use crate::utxo::effects::Rules;
use crate::utxo::outputs::TokenRecord;
use crate::utxo::outputs::put_output;
use crate::utxo::record::row::{Head, Parts, is_named, put_base, put_head};
use crate::utxo::schema::LAST_VOUT;
use crate::utxo::script_id::HashKey;
use crate::utxo::voided::voids;

/// A block that was decoded. What its transactions have stands one after the other, so that a
/// block takes a handful of allocations.
pub(super) struct Prepared {
    /// Its row; the first txnum is not known yet.
    pub(super) row: BlockRow,
    pub(super) previous: Hash32,
    /// Whether its votes void the regular tree of the block before.
    pub(super) voids: bool,
    pub(super) size: u64,
    /// What its inputs spend.
    pub(super) spent: Vec<SpentName>,
    /// Its outputs that count.
    pub(super) made: Vec<Made>,
    transactions: Vec<Entry>,
    /// Parts of the rows of its records.
    bytes: Vec<u8>,
}

/// A transaction, and where that which it has ends.
struct Entry {
    txid: Hash32,
    kind: Kind,
    value: Option<i128>,
    ends: Ends,
}

#[derive(Clone, Copy, Default)]
struct Ends {
    head: usize,
    outputs: usize,
    names: usize,
    made: usize,
    spent: usize,
}

/// A transaction of a prepared block.
pub(super) struct PreparedTx<'a> {
    pub(super) txid: &'a Hash32,
    /// What it is for.
    pub(super) kind: Kind,
    /// What it makes itself less the sum of its outputs; none where its kind counts none.
    pub(super) value: Option<i128>,
    /// Its outputs that count.
    pub(super) made: &'a [Made],
    /// What its inputs spend.
    pub(super) spent: &'a [SpentName],
    /// What it gives of its row.
    pub(super) parts: Parts<'a>,
}

/// An output that counts.
pub(super) struct Made {
    pub(super) name: CoinName,
    /// The txnum is not known yet.
    pub(super) coin: PackedCoin,
}

/// An output that an input spends.
pub(super) struct SpentName {
    pub(super) name: CoinName,
    pub(super) vout: u32,
    pub(super) sequence: u32,
}

impl Prepared {
    /// Its transactions in order.
    pub(super) fn transactions(&self) -> impl Iterator<Item = PreparedTx<'_>> {
        let mut from = Ends::default();
        self.transactions.iter().map(move |Entry { txid, kind, value, ends }| {
            let before = std::mem::replace(&mut from, *ends);
            PreparedTx {
                txid,
                kind: *kind,
                value: *value,
                made: &self.made[before.made..ends.made],
                spent: &self.spent[before.spent..ends.spent],
                parts: Parts {
                    head: &self.bytes[before.names..ends.head],
                    outputs: &self.bytes[ends.head..ends.outputs],
                    names: &self.bytes[ends.outputs..ends.names],
                },
            }
        })
    }

    /// How many transactions it has.
    pub(super) fn len(&self) -> usize {
        self.transactions.len()
    }
}

/// Decodes consecutive blocks, the first at `first`, on all threads of the pool that this runs in.
pub(super) fn prepare_all(
    blocks: &[Bytes],
    first: u32,
    key: &HashKey,
    format: &Format,
) -> Result<Vec<Prepared>, IndexError> {
    let blocks = blocks.par_iter().enumerate();
    let prepared = blocks.map(|(place, raw)| prepare(raw, first + place as u32, key, format));
    // Of several errors the first block's is told.
    prepared.collect::<Vec<_>>().into_iter().collect()
}

fn prepare(
    raw: &[u8],
    height: u32,
    key: &HashKey,
    format: &Format,
) -> Result<Prepared, IndexError> {
    let bad = |problem: String| IndexError::Block { height, problem };
    let block = Block::decode(raw, format).map_err(|error| bad(error.to_string()))?;
    if !block.is_whole() {
        return Err(bad("its transactions are not those of its header".into()));
    }
    if has_twice(&block.txids) {
        return Err(bad("it has a transaction twice".into()));
    }
    let row = BlockRow::of(&block, height, 0);
    let count = block.transactions.len();
    let transactions = || decoded::in_order(&block).map(|(transaction, _)| transaction);
    let mut prepared = Prepared {
        row,
        previous: block.header.previous,
        voids: match (&block.header.stake, height.checked_sub(1)) {
            (Some(stake), Some(before)) => voids(stake, before),
            _ => false,
        },
        size: raw.len() as u64,
        spent: Vec::with_capacity(transactions().map(|it| it.inputs().len()).sum()),
        made: Vec::with_capacity(transactions().map(|it| it.outputs().len()).sum()),
        transactions: Vec::with_capacity(count),
        bytes: Vec::with_capacity(raw.len()),
    };
    let words = Words { rules: Rules { key, format }, namer: Namer::new(key) };
    for (transaction, txid) in decoded::in_order(&block) {
        if transaction.outputs().len() as u64 > u64::from(LAST_VOUT) {
            return Err(bad("a transaction has too many outputs".into()));
        }
        prepared.add(transaction, *txid, &words);
    }
    Ok(prepared)
}

/// Whether an id stands there twice.
fn has_twice(txids: &[Hash32]) -> bool {
    let first = |txid: &Hash32| txid.wire().first_chunk().map_or(0, |it| u64::from_le_bytes(*it));
    let mut firsts: Vec<u64> = txids.iter().map(first).collect();
    firsts.sort_unstable();
    if firsts.windows(2).all(|pair| pair[0] != pair[1]) {
        return false;
    }
    let mut ids = txids.to_vec();
    ids.sort_unstable();
    ids.windows(2).any(|pair| pair[0] == pair[1])
}

/// How outputs and scripts are named.
struct Words<'a> {
    rules: Rules<'a>,
    namer: Namer,
}

/// What all outputs of a transaction share.
struct Marks {
    coinbase: bool,
    tokens: bool,
    versions: bool,
}

impl Prepared {
    fn add(&mut self, transaction: &Transaction<'_>, txid: Hash32, words: &Words<'_>) {
        let (kind, format) = (transaction.kind(), words.rules.format);
        let tokens = format.tokens && transaction.outputs().any(|output| output.token.is_some());
        let versions = format.layout == Layout::Staked
            && transaction.outputs().any(|output| output.script_version != 0);
        let spends = decoded::spends_of(transaction, kind);
        let named = is_named(spends.len());
        put_head(
            &mut self.bytes,
            &Head {
                txid,
                kind,
                version: transaction.version,
                lock_time: transaction.lock_time,
                size: transaction.size() as u32,
                vsize: transaction.vsize() as u32,
                pools: &transaction.pools(),
                tokens,
                versions,
                named,
            },
        );
        let head = self.bytes.len();
        let coinbase = kind == Kind::Coinbase;
        let value_out =
            self.add_outputs(transaction, &txid, words, Marks { coinbase, tokens, versions });
        let mut value = None;
        if kind.has_value_in() {
            value = Some(-(value_out as i128));
        }
        if let Some(base) = decoded::base(transaction, kind) {
            put_base(&mut self.bytes, base.sequence, base.value, &base.script);
            value = value.map(|value| value + i128::from(base.value.unwrap_or(0)));
        }
        let outputs = self.bytes.len();
        for input in spends {
            let (previous, sequence) = (input.previous, input.sequence);
            let name = words.namer.name(&previous.txid, previous.vout);
            self.spent.push(SpentName { name, vout: previous.vout, sequence });
            if named {
                self.bytes.extend_from_slice(previous.txid.wire());
            }
        }
        let (names, made, spent) = (self.bytes.len(), self.made.len(), self.spent.len());
        let ends = Ends { head, outputs, names, made, spent };
        self.transactions.push(Entry { txid, kind, value, ends });
    }

    /// Adds the outputs of a transaction, and gives their sum.
    fn add_outputs(
        &mut self,
        transaction: &Transaction<'_>,
        txid: &Hash32,
        words: &Words<'_>,
        Marks { coinbase, tokens, versions }: Marks,
    ) -> u128 {
        let mut sum = 0;
        put_varint(&mut self.bytes, transaction.outputs().len() as u64);
        for (vout, output) in (0u32..).zip(transaction.outputs()) {
            let token = output.token.as_ref();
            let version = output.script_version;
            if words.rules.is_spendable(output.value, output.script) {
                let script = words.rules.script_id(version, output.script);
                let token = token.is_some();
                let coin = Coin { txnum: 0, vout, value: output.value, script, coinbase, token };
                // Packed where it stands: a copy right behind it would wait for its parts.
                let name = words.namer.name(txid, vout);
                self.made.push(Made { name, coin: PackedCoin([0; 27]) });
                if let Some(made) = self.made.last_mut() {
                    coin.pack(&mut made.coin);
                }
            }
            let token = tokens.then(|| token.map(TokenRecord::of));
            let token = token.as_ref().map(Option::as_ref);
            let version = versions.then_some(version);
            put_output(&mut self.bytes, output.value, output.script, token, version);
            sum += u128::from(output.value);
        }
        sum
    }
}
