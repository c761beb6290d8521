//! A block as `block_by_height` keeps it.
//!
//! Invariant: ordinals of transactions and of hidden outputs go on from block to block without a
//! gap, so that what a block made is what stands between its own and the next one's.

use chain::ring::Hash;

use super::decoded::DecodedBlock;
use super::outputs::Pool;
use crate::row::{BadRow, RowReader, put_varint, u40};

/// A block of the main chain without its transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRow {
    /// Height.
    pub height: u32,
    /// Hash.
    pub hash: Hash,
    /// Seconds since 1970 as the miner claims; 0 in the genesis block.
    pub time: u64,
    /// The node's `block_size`: its weight (decision R7).
    pub size: u64,
    /// What the coinbase pays in all, in the smallest unit.
    pub reward: u64,
    /// Place of its first transaction, the coinbase, in the chain.
    pub first_txnum: u64,
    /// Number of its transactions, the coinbase included (decision R3).
    pub tx_count: u32,
    /// Place of its first output among those with hidden amounts.
    pub first_output: u64,
    /// Number of such outputs.
    pub output_count: u32,
    /// Major version: the rules of the network that it follows.
    pub version: u8,
    /// Minor version: the rules that its miner votes for.
    pub vote: u8,
    /// What its miner searched for.
    pub nonce: u32,
}

impl BlockRow {
    /// The row of a block, by the places that its first transaction and output have.
    pub(crate) fn of(block: &DecodedBlock, first_txnum: u64, first_output: u64) -> BlockRow {
        let outputs = block.transactions.iter().flat_map(|transaction| &transaction.outputs);
        let hidden = outputs.filter(|(pool, _)| *pool == Pool::Hidden).count();
        BlockRow {
            height: block.height,
            hash: block.hash,
            time: block.header.timestamp,
            size: block.size,
            reward: block.reward,
            first_txnum,
            tx_count: block.transactions.len() as u32,
            first_output,
            output_count: hidden as u32,
            version: block.header.major,
            vote: block.header.minor,
            nonce: block.header.nonce,
        }
    }

    /// Place of the first transaction of the block after it.
    pub(crate) fn next_txnum(&self) -> u64 {
        self.first_txnum + u64::from(self.tx_count)
    }

    /// Place of the first hidden output of the block after it.
    pub(crate) fn next_output(&self) -> u64 {
        self.first_output + u64::from(self.output_count)
    }

    /// `hash [32] ‖ version u8 ‖ vote u8 ‖ nonce u32 ‖ time varint ‖ size varint ‖ reward varint ‖
    /// first txnum u40 ‖ tx count varint ‖ first output u40 ‖ output count varint`.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(80);
        out.extend_from_slice(&self.hash.0);
        out.extend_from_slice(&[self.version, self.vote]);
        out.extend_from_slice(&self.nonce.to_be_bytes());
        put_varint(&mut out, self.time);
        put_varint(&mut out, self.size);
        put_varint(&mut out, self.reward);
        out.extend_from_slice(&u40(self.first_txnum));
        put_varint(&mut out, self.tx_count.into());
        out.extend_from_slice(&u40(self.first_output));
        put_varint(&mut out, self.output_count.into());
        out
    }

    pub(crate) fn read(height: u32, row: &[u8]) -> Result<BlockRow, BadRow> {
        let mut reader = RowReader::new(row);
        let block = BlockRow {
            height,
            hash: Hash(reader.array()?),
            version: reader.u8()?,
            vote: reader.u8()?,
            nonce: reader.u32()?,
            time: reader.varint()?,
            size: reader.varint()?,
            reward: reader.varint()?,
            first_txnum: reader.u40()?,
            tx_count: reader.small()?,
            first_output: reader.u40()?,
            output_count: reader.small()?,
        };
        reader.end()?;
        if block.tx_count == 0 { Err(BadRow) } else { Ok(block) }
    }
}
