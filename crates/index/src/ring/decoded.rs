//! A block that was read, with all its transactions and what they do to the rows.
//!
//! Leaves fetching to `upstream` and rows to `connect`. Invariants: the block's hash is worked out
//! from its bytes, and so is each transaction's, which are those that the block names; only where a
//! later type of ring signatures hides that is the block's word taken for a transaction's hash.

use bytes::Bytes;
use chain::Network;
use chain::ring::{Block, BlockHeader, Hash, Input, Key, RingCt, Transaction};

use super::outputs::{Pool, counted};
use super::record::TransactionRecord;
use crate::{IndexError, ReadError};

/// A block as a node gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawBlock {
    /// Header, coinbase and hashes of the other transactions.
    pub block: Bytes,
    /// The other transactions, whole, in block order.
    pub transactions: Vec<Bytes>,
    /// Its weight, where the node says it.
    pub weight: Option<u64>,
    /// The places of all its outputs among those of their amounts, where the node says them.
    pub output_indices: Option<Vec<u64>>,
}

impl RawBlock {
    /// Bytes of all of it.
    pub fn size(&self) -> usize {
        self.block.len() + self.transactions.iter().map(Bytes::len).sum::<usize>()
    }
}

/// A block that was read.
pub(crate) struct DecodedBlock {
    pub(crate) height: u32,
    pub(crate) hash: Hash,
    pub(crate) header: BlockHeader,
    pub(crate) size: u64,
    pub(crate) reward: u64,
    /// The coinbase first.
    pub(crate) transactions: Vec<DecodedTransaction>,
    pub(crate) output_indices: Option<Vec<u64>>,
}

/// What a transaction does to the rows.
pub(crate) struct DecodedTransaction {
    pub(crate) record: TransactionRecord,
    /// What it spends.
    pub(crate) key_images: Vec<Key>,
    /// What it makes, and where each is counted.
    pub(crate) outputs: Vec<(Pool, Key)>,
}

impl DecodedTransaction {
    fn of(transaction: &Transaction<'_>, hash: Hash) -> DecodedTransaction {
        DecodedTransaction {
            record: TransactionRecord::of(transaction, hash),
            key_images: key_images(transaction),
            outputs: counted(transaction),
        }
    }

    /// The same of a record of the index.
    pub(crate) fn of_record(record: TransactionRecord) -> Result<DecodedTransaction, ReadError> {
        let transaction = record.decode()?;
        let (key_images, outputs) = (key_images(&transaction), counted(&transaction));
        Ok(DecodedTransaction { key_images, outputs, record })
    }
}

/// What a transaction spends, in the order of its inputs.
pub(crate) fn key_images(transaction: &Transaction<'_>) -> Vec<Key> {
    let image = |input: &Input| match input {
        Input::Key { key_image, .. } => Some(*key_image),
        Input::Coinbase { .. } => None,
    };
    transaction.inputs.iter().filter_map(image).collect()
}

/// Reads the block of a height. `network` is asked for its first block.
pub(crate) fn decode(
    raw: &RawBlock,
    height: u32,
    network: &Network,
) -> Result<DecodedBlock, IndexError> {
    let bad = |problem: String| IndexError::Block { height, problem };
    let block = Block::decode(&raw.block).map_err(|error| bad(error.to_string()))?;
    if block.height() != Some(height.into()) {
        return Err(bad("its coinbase is of another height".into()));
    }
    let unknown = || bad("its coinbase is of a type that this version does not know".into());
    let hash = block.hash().ok_or_else(unknown)?;
    let genesis = network.genesis.filter(|_| height == 0);
    if genesis.is_some_and(|genesis| genesis != hash.to_string()) {
        return Err(bad("it is not the first block of this network".into()));
    }
    let mut transactions =
        vec![DecodedTransaction::of(&block.coinbase, block.coinbase.hash().ok_or_else(unknown)?)];
    if raw.transactions.len() != block.transactions.len() {
        return Err(bad("it has another number of transactions than it names".into()));
    }
    let mut weight = block.coinbase.weight();
    for (bytes, named) in raw.transactions.iter().zip(&block.transactions) {
        let transaction = read(bytes, named).map_err(bad)?;
        weight = weight.zip(transaction.weight()).map(|(all, one)| all + one);
        transactions.push(DecodedTransaction::of(&transaction, *named));
    }
    let size = weight.or(raw.weight).ok_or_else(|| bad("its weight is not known".into()))?;
    let reward = u64::try_from(block.coinbase.visible_out());
    Ok(DecodedBlock {
        height,
        hash,
        header: block.header,
        size,
        reward: reward.map_err(|_| bad("its coinbase pays more than there can be".into()))?,
        transactions,
        output_indices: raw.output_indices.clone(),
    })
}

/// Reads a transaction that is no coinbase and has that hash, as far as that can be told; else
/// says what is wrong with it.
pub(crate) fn read<'a>(bytes: &'a [u8], hash: &Hash) -> Result<Transaction<'a>, String> {
    let unreadable = |error| format!("transaction {hash} cannot be read: {error}");
    let transaction = Transaction::decode(bytes).map_err(unreadable)?;
    if transaction.inputs.iter().any(|input| matches!(input, Input::Coinbase { .. })) {
        return Err(format!("transaction {hash} makes new coins and is not the first"));
    }
    let is_opaque = matches!(transaction.ring_ct, RingCt::Opaque(_));
    match transaction.hash() {
        Some(ours) if ours == *hash => Ok(transaction),
        None if is_opaque => Ok(transaction),
        _ => Err(format!("transaction {hash} has another hash")),
    }
}
