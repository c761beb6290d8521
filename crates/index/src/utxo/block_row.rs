//! A block as `header_by_height` keeps it.

use chain::Hash32;
use chain::utxo::Block;

use crate::row::{BadRow, RowReader, put_varint, u40};

/// A block of the main chain without its transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRow {
    /// Height.
    pub height: u32,
    /// Hash.
    pub hash: Hash32,
    /// Root of the tree of transaction ids.
    pub merkle_root: Hash32,
    /// Version, signed as nodes print it.
    pub version: i32,
    /// Seconds since 1970 as the miner claims.
    pub time: u32,
    /// Target in compact form.
    pub bits: u32,
    /// Nonce.
    pub nonce: u32,
    /// Place of its first transaction in the chain.
    pub first_txnum: u64,
    /// Number of its transactions.
    pub tx_count: u32,
    /// Bytes in all, proof of a parent chain and extension block included.
    pub size: u64,
}

impl BlockRow {
    /// The row of a block whose first transaction has that place in the chain.
    pub(crate) fn of(block: &Block<'_>, height: u32, first_txnum: u64) -> BlockRow {
        let header = &block.header;
        BlockRow {
            height,
            hash: header.hash,
            merkle_root: header.merkle_root,
            version: header.version,
            time: header.time,
            bits: header.bits,
            nonce: header.nonce.number().unwrap_or_default(),
            first_txnum,
            tx_count: block.transactions.len() as u32,
            size: block.size as u64,
        }
    }

    /// Place of the first transaction of the block after it.
    pub(crate) fn next_txnum(&self) -> u64 {
        self.first_txnum + u64::from(self.tx_count)
    }

    /// `hash [32] ‖ merkle root [32] ‖ version i32 ‖ time u32 ‖ bits u32 ‖ nonce u32 ‖
    /// first txnum u40 ‖ tx count varint ‖ size varint`.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(96);
        out.extend_from_slice(self.hash.wire());
        out.extend_from_slice(self.merkle_root.wire());
        out.extend_from_slice(&self.version.to_be_bytes());
        out.extend_from_slice(&self.time.to_be_bytes());
        out.extend_from_slice(&self.bits.to_be_bytes());
        out.extend_from_slice(&self.nonce.to_be_bytes());
        out.extend_from_slice(&u40(self.first_txnum));
        put_varint(&mut out, self.tx_count.into());
        put_varint(&mut out, self.size);
        out
    }

    pub(crate) fn read(height: u32, row: &[u8]) -> Result<BlockRow, BadRow> {
        let mut reader = RowReader::new(row);
        let block = BlockRow {
            height,
            hash: Hash32::from_wire(reader.array()?),
            merkle_root: Hash32::from_wire(reader.array()?),
            version: reader.array().map(i32::from_be_bytes)?,
            time: reader.u32()?,
            bits: reader.u32()?,
            nonce: reader.u32()?,
            first_txnum: reader.u40()?,
            tx_count: reader.small()?,
            size: reader.varint()?,
        };
        reader.end()?;
        Ok(block)
    }
}
