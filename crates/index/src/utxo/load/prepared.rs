//! Decoding of blocks, on several threads: everything that needs no other block.

use bytes::Bytes;
use chain::Hash32;
use chain::utxo::{Block, Format, Transaction};

use super::coin::{Coin, CoinName, Namer, PackedCoin};
use crate::IndexError;
use crate::row::put_varint;
use crate::utxo::block_row::BlockRow;
use crate::utxo::effects::is_spendable;
use crate::utxo::outputs::TokenRecord;
use crate::utxo::record::{
    COINBASE, NAMED, NAMED_ABOVE, Start, TOKENS, put_coinbase, put_name, put_output, put_start,
};
use crate::utxo::schema::LAST_VOUT;
use crate::utxo::script_id::HashKey;

/// A block that was decoded. What its transactions have stands one after the other, so that a
/// block takes a handful of allocations.
pub(super) struct Prepared {
    /// Its row; the first txnum is not known yet.
    pub(super) row: BlockRow,
    pub(super) previous: Hash32,
    pub(super) size: u64,
    /// What its inputs spend; nothing of a coinbase.
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
    /// Sum of its outputs; none of a coinbase, which has no fee.
    value_out: Option<u128>,
    ends: Ends,
}

#[derive(Clone, Copy, Default)]
struct Ends {
    start: usize,
    outputs: usize,
    rest: usize,
    made: usize,
    spent: usize,
}

/// A transaction of a prepared block.
#[derive(Clone, Copy)]
pub(super) struct PreparedTx<'a> {
    pub(super) txid: &'a Hash32,
    /// Sum of its outputs; none of a coinbase, which has no fee.
    pub(super) value_out: Option<u128>,
    /// Its outputs that count.
    pub(super) made: &'a [Made],
    /// What its inputs spend.
    pub(super) spent: &'a [SpentName],
    /// Of its row what stands before the fee.
    pub(super) start: &'a [u8],
    /// Its outputs, their number before them.
    pub(super) outputs: &'a [u8],
    /// What stands behind the inputs: of a coinbase its input, else the previous txids if the row
    /// has them.
    pub(super) rest: &'a [u8],
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
        self.transactions.iter().map(move |Entry { txid, value_out, ends }| {
            let before = std::mem::replace(&mut from, *ends);
            PreparedTx {
                txid,
                value_out: *value_out,
                made: &self.made[before.made..ends.made],
                spent: &self.spent[before.spent..ends.spent],
                start: &self.bytes[before.rest..ends.start],
                outputs: &self.bytes[ends.start..ends.outputs],
                rest: &self.bytes[ends.outputs..ends.rest],
            }
        })
    }

    /// How many transactions it has.
    pub(super) fn len(&self) -> usize {
        self.transactions.len()
    }
}

/// Decodes consecutive blocks, the first at `first`.
pub(super) fn prepare_all(
    blocks: &[Bytes],
    first: u32,
    key: &HashKey,
    format: &Format,
    threads: usize,
) -> Result<Vec<Prepared>, IndexError> {
    let share = blocks.len().div_ceil(threads.max(1)).max(1);
    let prepare = |(place, raw): (usize, &Bytes)| prepare(raw, first + place as u32, key, format);
    if share >= blocks.len() {
        return blocks.iter().enumerate().map(prepare).collect();
    }
    std::thread::scope(|scope| {
        let mut parts = Vec::new();
        for (part, blocks) in blocks.chunks(share).enumerate() {
            let start = part * share;
            parts.push(scope.spawn(move || {
                let blocks = blocks.iter().enumerate();
                let one = |(place, raw): (usize, &Bytes)| {
                    self::prepare(raw, first + (start + place) as u32, key, format)
                };
                blocks.map(one).collect::<Result<Vec<_>, _>>()
            }));
        }
        let mut all = Vec::new();
        for part in parts {
            all.extend(part.join().map_err(|_| IndexError::damaged("decoding was cut off"))??);
        }
        Ok(all)
    })
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
    let mut prepared = Prepared {
        row,
        previous: block.header.previous,
        size: raw.len() as u64,
        spent: Vec::with_capacity(block.transactions.iter().map(|it| it.inputs().len()).sum()),
        made: Vec::with_capacity(block.transactions.iter().map(|it| it.outputs().len()).sum()),
        transactions: Vec::with_capacity(count),
        bytes: Vec::with_capacity(raw.len()),
    };
    let namer = Namer::new(key);
    for (transaction, txid) in block.transactions.iter().zip(&block.txids) {
        if transaction.outputs().len() as u64 > u64::from(LAST_VOUT) {
            return Err(bad("a transaction has too many outputs".into()));
        }
        prepared.add(transaction, *txid, key, &namer, format);
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

impl Prepared {
    fn add(
        &mut self,
        transaction: &Transaction<'_>,
        txid: Hash32,
        key: &HashKey,
        namer: &Namer,
        format: &Format,
    ) {
        let coinbase = transaction.is_coinbase();
        let tokens = format.tokens && transaction.outputs().any(|output| output.token.is_some());
        let named = !coinbase && transaction.inputs().len() > NAMED_ABOVE;
        let mark = |on: bool, mark: u8| if on { mark } else { 0 };
        let marks = mark(coinbase, COINBASE) | mark(named, NAMED) | mark(tokens, TOKENS);
        let start = Start {
            txid,
            version: transaction.version,
            lock_time: transaction.lock_time,
            size: transaction.size() as u32,
            vsize: transaction.vsize() as u32,
        };
        put_start(&mut self.bytes, marks, &start);
        let start = self.bytes.len();
        let value_out = self.add_outputs(transaction, &txid, key, namer, tokens);
        let outputs = self.bytes.len();
        for input in transaction.inputs() {
            if coinbase {
                put_coinbase(&mut self.bytes, input.script, input.sequence);
                break;
            }
            let (previous, sequence) = (input.previous, input.sequence);
            let name = namer.name(&previous.txid, previous.vout);
            self.spent.push(SpentName { name, vout: previous.vout, sequence });
            if named {
                put_name(&mut self.bytes, &previous.txid);
            }
        }
        let (rest, made, spent) = (self.bytes.len(), self.made.len(), self.spent.len());
        let value_out = (!coinbase).then_some(value_out);
        let ends = Ends { start, outputs, rest, made, spent };
        self.transactions.push(Entry { txid, value_out, ends });
    }

    /// Adds the outputs of a transaction, and gives their sum.
    fn add_outputs(
        &mut self,
        transaction: &Transaction<'_>,
        txid: &Hash32,
        key: &HashKey,
        namer: &Namer,
        tokens: bool,
    ) -> u128 {
        let (coinbase, mut sum) = (transaction.is_coinbase(), 0);
        put_varint(&mut self.bytes, transaction.outputs().len() as u64);
        for (vout, output) in (0u32..).zip(transaction.outputs()) {
            let token = output.token.as_ref();
            if is_spendable(output.script) {
                let script = key.script_id(output.script);
                let token = token.is_some();
                let coin = Coin { txnum: 0, vout, value: output.value, script, coinbase, token };
                // Packed where it stands: a copy right behind it would wait for its parts.
                self.made.push(Made { name: namer.name(txid, vout), coin: PackedCoin([0; 27]) });
                if let Some(made) = self.made.last_mut() {
                    coin.pack(&mut made.coin);
                }
            }
            let token = tokens.then(|| token.map(TokenRecord::of));
            let token = token.as_ref().map(Option::as_ref);
            put_output(&mut self.bytes, output.value, output.script, token);
            sum += u128::from(output.value);
        }
        sum
    }
}
