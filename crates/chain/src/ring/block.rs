//! A block: its header, its coinbase, and the hashes of its other transactions.
//!
//! Source: monero, src/cryptonote_basic/cryptonote_basic.h and cryptonote_format_utils.cpp.

use super::bytes32::Hash;
use super::keccak::keccak;
use super::transaction::{Input, Transaction};
use super::tree_hash::tree_hash;
use super::varint;
use crate::utxo::{ByteReader, DecodeError, Problem};

/// The last version of the protocol of which everything is known here. What is not known in a block
/// of it or an earlier one is no block. Source: monero, src/hardforks/hardforks.cpp.
pub const LAST_VERSION: u8 = 16;

/// A block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// The header.
    pub header: BlockHeader,
    /// The transaction that makes new coins.
    pub coinbase: Transaction<'a>,
    /// The hashes of the other transactions, in block order.
    pub transactions: Vec<Hash>,
    raw: &'a [u8],
    /// Bytes of the header.
    header_end: usize,
}

/// What a block says before its transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHeader {
    /// Version of the protocol by whose rules it was made.
    pub major: u8,
    /// Version that its miner votes for.
    pub minor: u8,
    /// Unix seconds, as the miner says. In the genesis block 0.
    pub timestamp: u64,
    /// The block before; zero in the genesis block.
    pub previous: Hash,
    /// What the miner searched for.
    pub nonce: u32,
}

/// The one block whose hash is not that of its content: the hash of a tree of 514 leaves was once
/// computed wrongly. Source: `calculate_block_hash`.
struct Exception {
    height: u64,
    content: [u8; 32],
    hash: [u8; 32],
}

const EXCEPTION: Exception = Exception {
    height: 202_612,
    content: digits(b"3a8a2b3a29b50fc86ff73dd087ea43c6f0d6b8f936c849194d5c84c737903966"),
    hash: digits(b"bbd604d2ba11ba27935e006ed39c9bfdd99b76bf4a50654bc1e1e61217962698"),
};

const fn digits(text: &[u8; 64]) -> [u8; 32] {
    match const_hex::const_decode_to_array(text) {
        Ok(bytes) => bytes,
        Err(_) => panic!("64 hex digits"),
    }
}

impl<'a> Block<'a> {
    /// Reads a block, as `get_block` gives it in `blob`.
    ///
    /// # Errors
    /// Bytes that are no block.
    pub fn decode(raw: &'a [u8]) -> Result<Block<'a>, DecodeError> {
        let mut reader = ByteReader::new(raw);
        let header = BlockHeader {
            major: read_version(&mut reader)?,
            minor: read_version(&mut reader)?,
            timestamp: varint::read(&mut reader)?,
            previous: Hash(reader.array()?),
            nonce: reader.u32()?,
        };
        let header_end = reader.offset();
        let coinbase = Transaction::read(&mut reader, true)?;
        let count = varint::count(&mut reader, 32)?;
        let transactions: Result<_, _> = (0..count).map(|_| reader.array().map(Hash)).collect();
        let transactions = transactions?;
        reader.end()?;
        Ok(Block { header, coinbase, transactions, raw, header_end })
    }

    /// The version of the protocol by whose rules a block was made, from its first bytes; that stands
    /// there in every version.
    pub fn version_of(raw: &[u8]) -> Option<u8> {
        read_version(&mut ByteReader::new(raw)).ok()
    }

    /// All bytes as they were read.
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// The height that the coinbase names; `None` where that is no coinbase.
    pub fn height(&self) -> Option<u64> {
        match self.coinbase.inputs[..] {
            [Input::Coinbase { height }] => Some(height),
            _ => None,
        }
    }

    /// The hash; `None` where the coinbase is of a type that is not known.
    pub fn hash(&self) -> Option<Hash> {
        let mut leaves = vec![self.coinbase.hash()?];
        leaves.extend(&self.transactions);
        let count = varint::bytes(leaves.len() as u64);
        let root = tree_hash(leaves);
        let header = &self.raw[..self.header_end];
        let length = varint::bytes((header.len() + root.0.len() + count.len()) as u64);
        let hash = keccak(&[&length, header, &root.0, &count]);
        let is_exception =
            self.height() == Some(EXCEPTION.height) && keccak(&[self.raw]) == EXCEPTION.content;
        Some(Hash(if is_exception { EXCEPTION.hash } else { hash }))
    }
}

fn read_version(reader: &mut ByteReader<'_>) -> Result<u8, DecodeError> {
    let start = reader.clone();
    u8::try_from(varint::read(reader)?).map_err(|_| start.fault(Problem::Version))
}
