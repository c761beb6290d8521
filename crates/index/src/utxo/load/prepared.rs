//! Decoding of blocks, on several threads: everything that needs no other block.

use bytes::Bytes;
use chain::Hash32;
use chain::utxo::{Block, Format, Transaction, is_unspendable};

use super::coin::{Coin, CoinName, Namer};
use crate::IndexError;
use crate::utxo::block_row::BlockRow;
use crate::utxo::connect::{head, names};
use crate::utxo::record::InputRecord;
use crate::utxo::record::{OutputRecord, TransactionRecord};
use crate::utxo::schema::LAST_VOUT;
use crate::utxo::script_id::HashKey;

/// A block that was decoded.
pub(super) struct Prepared {
    /// Its row; the first txnum is not known yet.
    pub(super) row: BlockRow,
    pub(super) previous: Hash32,
    pub(super) transactions: Vec<PreparedTx>,
    pub(super) size: u64,
}

/// A transaction of it.
pub(super) struct PreparedTx {
    /// Its record without inputs and fee.
    pub(super) record: TransactionRecord,
    /// Its outputs that count.
    pub(super) made: Vec<Made>,
    /// What its inputs spend; nothing of a coinbase.
    pub(super) spent: Vec<SpentName>,
}

/// An output that counts.
pub(super) struct Made {
    pub(super) name: CoinName,
    /// The txnum is not known yet.
    pub(super) coin: Coin,
}

/// An output that an input spends.
pub(super) struct SpentName {
    pub(super) name: CoinName,
    pub(super) vout: u32,
    pub(super) sequence: u32,
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
    let mut ids = block.txids.clone();
    ids.sort_unstable();
    if ids.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(bad("it has a transaction twice".into()));
    }
    let namer = Namer::new(key);
    let mut transactions = Vec::with_capacity(block.transactions.len());
    for (transaction, txid) in block.transactions.iter().zip(&block.txids) {
        if transaction.outputs().len() as u64 > u64::from(LAST_VOUT) {
            return Err(bad("a transaction has too many outputs".into()));
        }
        transactions.push(prepare_one(transaction, *txid, key, &namer));
    }
    let header = &block.header;
    let row = BlockRow {
        height,
        hash: header.hash,
        merkle_root: header.merkle_root,
        version: header.version,
        time: header.time,
        bits: header.bits,
        nonce: header.nonce,
        first_txnum: 0,
        tx_count: block.transactions.len() as u32,
        size: block.size as u64,
    };
    Ok(Prepared { row, previous: header.previous, transactions, size: raw.len() as u64 })
}

fn prepare_one(
    transaction: &Transaction<'_>,
    txid: Hash32,
    key: &HashKey,
    namer: &Namer,
) -> PreparedTx {
    let mut record = head(transaction, txid, Vec::new());
    let coinbase = transaction.is_coinbase();
    let mut spent = Vec::new();
    for input in transaction.inputs() {
        if coinbase {
            record.coinbase = Some(input.script.to_vec());
            let (txnum, vout, sequence) = (0, u32::MAX, input.sequence);
            record.inputs.push(InputRecord { txnum, vout, sequence });
        } else {
            let (vout, sequence) = (input.previous.vout, input.sequence);
            let name = namer.name(&input.previous.txid, vout);
            spent.push(SpentName { name, vout, sequence });
        }
    }
    if !coinbase {
        record.names = names(transaction);
    }
    let mut made = Vec::with_capacity(transaction.outputs().len());
    record.outputs.reserve_exact(transaction.outputs().len());
    for (vout, output) in (0u32..).zip(transaction.outputs()) {
        if !is_unspendable(output.script) {
            let script = key.script_id(output.script);
            let token = output.token.is_some();
            let coin = Coin { txnum: 0, vout, value: output.value, script, coinbase, token };
            made.push(Made { name: namer.name(&txid, vout), coin });
        }
        record.outputs.push(OutputRecord::of(&output));
    }
    PreparedTx { record, made, spent }
}
