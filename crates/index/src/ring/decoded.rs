//! A block that was read, with all its transactions and what they do to the rows.
//!
//! Leaves fetching to `upstream` and rows to `connect`. Invariants: the block's hash is worked out
//! from its bytes, and so is each transaction's, which are those that the block names. Only in a block
//! of a later version of the protocol than is known here may something be unknown: there the node's
//! word is taken for what cannot be worked out, and its outputs must have the very places that we give
//! them (decision 18).

use std::borrow::Cow;

use bytes::Bytes;
use chain::Network;
use chain::ring::{Block, BlockHeader, Hash, Input, Key, LAST_VERSION, RingCt, Transaction};

use super::outputs::{Counted, counted};
use super::record::TransactionRecord;
use crate::row::BadRow;
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
    /// What the node says of it besides, where it is of a later version of the protocol than is known
    /// here.
    pub told: Option<Box<Told>>,
}

/// What a node says of a block, in the place of what may not be read from its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its hash.
    pub hash: Hash,
    /// Its header.
    pub header: BlockHeader,
    /// What its coinbase pays in all.
    pub reward: u64,
    /// Its coinbase, and the hash of that.
    pub coinbase: (Hash, Bytes),
    /// The hashes of the other transactions.
    pub hashes: Vec<Hash>,
    /// How many outputs each transaction has, the coinbase first; none where the node does not say.
    pub outputs: Option<Vec<u64>>,
}

impl RawBlock {
    /// Bytes of all of it.
    pub fn size(&self) -> usize {
        self.block.len() + self.transactions.iter().map(Bytes::len).sum::<usize>()
    }

    /// Whether it is of a later version of the protocol than is known here.
    pub(crate) fn is_later(&self) -> bool {
        Block::version_of(&self.block).is_some_and(|version| version > LAST_VERSION)
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
    pub(crate) outputs: Vec<Counted>,
}

impl DecodedTransaction {
    /// `outputs` is how many outputs the node says that it has, which is asked for where it is not
    /// known.
    fn of(
        transaction: &Transaction<'_>,
        hash: Hash,
        outputs: Option<u64>,
    ) -> Result<DecodedTransaction, String> {
        let unread = match transaction.ring_ct {
            RingCt::Unread => Some(outputs.ok_or_else(|| {
                format!(
                    "transaction {hash} is of a kind that this version does not know, and the node \
                     does not say which places its outputs have"
                )
            })?),
            _ => None,
        };
        Ok(DecodedTransaction {
            record: TransactionRecord::of(transaction, hash, unread),
            key_images: key_images(transaction),
            outputs: counted(transaction, unread),
        })
    }

    /// The same of a record of the index.
    pub(crate) fn of_record(record: TransactionRecord) -> Result<DecodedTransaction, ReadError> {
        let bad = |bad: BadRow| bad.of("tx_by_num");
        let unread = match record.unread().map_err(bad)? {
            Some(unread) => Some(unread.outputs.ok_or_else(|| bad(BadRow))?),
            None => None,
        };
        let transaction = record.decode()?;
        let (key_images, outputs) = (key_images(&transaction), counted(&transaction, unread));
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

/// A block as its bytes say it, or the node where they cannot be read.
struct Frame<'a> {
    hash: Hash,
    header: BlockHeader,
    coinbase: (Hash, Transaction<'a>),
    /// The hashes of the other transactions.
    hashes: Cow<'a, [Hash]>,
    /// What the coinbase pays, where its bytes do not say it.
    reward: Option<u64>,
}

impl<'a> Frame<'a> {
    fn of(raw: &'a RawBlock, height: u32) -> Result<Frame<'a>, String> {
        let problem = match Frame::read(&raw.block, height) {
            Ok(read) if raw.told.as_ref().is_none_or(|told| told.hash == read.hash) => {
                return Ok(read);
            }
            Ok(_) => "it has another hash than the node says".to_owned(),
            Err(problem) => problem,
        };
        match &raw.told {
            Some(told) if raw.is_later() => Frame::told(told, height),
            _ => Err(problem),
        }
    }

    fn read(bytes: &'a [u8], height: u32) -> Result<Frame<'a>, String> {
        let block = Block::decode(bytes).map_err(|error| error.to_string())?;
        if block.height() != Some(height.into()) {
            return Err("its coinbase is of another height".into());
        }
        let unknown = || "its coinbase is of a type that this version does not know".to_owned();
        Ok(Frame {
            hash: block.hash().ok_or_else(unknown)?,
            header: block.header,
            coinbase: (block.coinbase.hash().ok_or_else(unknown)?, block.coinbase),
            hashes: block.transactions.into(),
            reward: None,
        })
    }

    fn told(told: &'a Told, height: u32) -> Result<Frame<'a>, String> {
        let (hash, bytes) = &told.coinbase;
        let coinbase = Transaction::decode_later(bytes).map_err(|error| error.to_string())?;
        let other = |input: &Input| match input {
            Input::Coinbase { height: named } => *named != u64::from(height),
            Input::Key { .. } => true,
        };
        if coinbase.inputs.iter().any(other) {
            return Err("its coinbase is of another height".into());
        }
        if coinbase.hash().is_some_and(|ours| ours != *hash) {
            return Err(format!("transaction {hash} has another hash"));
        }
        Ok(Frame {
            hash: told.hash,
            header: told.header,
            coinbase: (*hash, coinbase),
            hashes: told.hashes.as_slice().into(),
            reward: Some(told.reward),
        })
    }
}

/// Reads the block of a height. `network` is asked for its first block.
pub(crate) fn decode(
    raw: &RawBlock,
    height: u32,
    network: &Network,
) -> Result<DecodedBlock, IndexError> {
    let bad = |problem: String| IndexError::Block { height, problem };
    let Frame { hash, header, coinbase, hashes, reward } = Frame::of(raw, height).map_err(bad)?;
    let genesis = network.genesis.filter(|_| height == 0);
    if genesis.is_some_and(|genesis| genesis != hash.to_string()) {
        return Err(bad("it is not the first block of this network".into()));
    }
    if raw.transactions.len() != hashes.len() {
        return Err(bad("it has another number of transactions than it names".into()));
    }
    let told = raw.told.as_deref().and_then(|told| told.outputs.as_deref()).unwrap_or_default();
    let (coinbase_hash, coinbase) = coinbase;
    let first = DecodedTransaction::of(&coinbase, coinbase_hash, told.first().copied());
    let mut transactions = vec![first.map_err(bad)?];
    let mut weight = coinbase.weight();
    for (place, (bytes, named)) in raw.transactions.iter().zip(hashes.iter()).enumerate() {
        let transaction = read(bytes, named, header.major > LAST_VERSION).map_err(bad)?;
        weight = weight.zip(transaction.weight()).map(|(all, one)| all + one);
        let outputs = told.get(place + 1).copied();
        transactions.push(DecodedTransaction::of(&transaction, *named, outputs).map_err(bad)?);
    }
    let size = weight.or(raw.weight).ok_or_else(|| bad("its weight is not known".into()))?;
    let paid = || u64::try_from(coinbase.visible_out()).ok();
    let reward = reward.or_else(paid);
    Ok(DecodedBlock {
        height,
        hash,
        header,
        size,
        reward: reward.ok_or_else(|| bad("its coinbase pays more than there can be".into()))?,
        transactions,
        output_indices: raw.output_indices.clone(),
    })
}

/// Reads a transaction that is no coinbase and has that hash, as far as that can be told; else
/// says what is wrong with it. Only where it may be of a later version of the protocol than is known
/// here may something of it be unknown.
pub(crate) fn read<'a>(
    bytes: &'a [u8],
    hash: &Hash,
    is_later: bool,
) -> Result<Transaction<'a>, String> {
    let unreadable = |error| format!("transaction {hash} cannot be read: {error}");
    let transaction = match is_later {
        true => Transaction::decode_later(bytes),
        false => Transaction::decode(bytes),
    };
    let transaction = transaction.map_err(unreadable)?;
    if transaction.inputs.iter().any(|input| matches!(input, Input::Coinbase { .. })) {
        return Err(format!("transaction {hash} makes new coins and is not the first"));
    }
    match transaction.hash() {
        Some(ours) if ours == *hash => Ok(transaction),
        None if is_later && !transaction.is_known() => Ok(transaction),
        None => Err(format!("transaction {hash} is of a type that its version does not have")),
        Some(_) => Err(format!("transaction {hash} has another hash")),
    }
}
