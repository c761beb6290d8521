//! A block as `header_by_height` keeps it.
//!
//! A block lists transactions; those that stand have an ordinal in the chain. On chains whose
//! blocks have a stake tree that tree has the first ordinals and the regular one the last, so that
//! a later vote can void the regular tree: it stays listed and has no ordinals.

use chain::Hash32;
use chain::utxo::{Block, Format, Header, Nonce, StakeHeader};

use super::schema::HEADER_BY_HEIGHT;
use crate::ReadError;
use crate::db::Reader;
use crate::row::{BadRow, RowReader, put_varint, u40};

/// The regular tree was voided by the next block's votes.
const VOIDED: u8 = 1;
/// The chain's blocks are voted on: there is a stake tree, and more in the header.
const STAKE: u8 = 2;
/// The nonce has 32 bytes, not 4.
const LONG_NONCE: u8 = 4;

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
    pub nonce: Nonce,
    /// Place of its first transaction in the chain.
    pub first_txnum: u64,
    /// Number of its transactions, voided ones included.
    pub tx_count: u32,
    /// How many of them are of the stake tree.
    pub stake_count: u32,
    /// Whether the next block's votes voided its regular tree.
    pub voided: bool,
    /// Bytes in all, proof of a parent chain and extension block included.
    pub size: u64,
    /// What its header says of stakes, where blocks are voted on.
    pub stake: Option<StakeHeader>,
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
            nonce: header.nonce,
            first_txnum,
            tx_count: block.transactions.len() as u32,
            stake_count: (block.transactions.len() - block.regular) as u32,
            voided: false,
            size: block.size as u64,
            stake: header.stake,
        }
    }

    /// Place of the first transaction of its regular tree.
    pub(crate) fn regular_txnum(&self) -> u64 {
        self.first_txnum + u64::from(self.stake_count)
    }

    /// How many of its transactions are of the regular tree.
    pub(crate) fn regular_count(&self) -> u32 {
        self.tx_count - self.stake_count
    }

    /// Place of the first transaction of the block after it.
    pub(crate) fn next_txnum(&self) -> u64 {
        if self.voided { self.regular_txnum() } else { self.first_txnum + u64::from(self.tx_count) }
    }

    /// The hash of the header that the row was made from, worked out again, where the row has all
    /// of it.
    pub(crate) fn hash_again(&self, previous: Hash32, format: &Format) -> Option<Hash32> {
        let BlockRow { hash, merkle_root, version, time, bits, nonce, stake, .. } = *self;
        let header = Header { hash, version, previous, merkle_root, time, bits, nonce, stake };
        header.hash_of_fields(format)
    }

    /// `marks u8 ‖ hash [32] ‖ merkle root [32] ‖ version i32 ‖ time u32 ‖ bits u32 ‖ nonce u32 or
    /// [32] ‖ first txnum u40 ‖ tx count varint ‖ size varint`, and where blocks are voted on
    /// `stake count varint ‖ stake root [32] ‖ vote bits u16 ‖ voters u16 ‖ size u32 ‖ others
    /// [56]`.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(196);
        let mark = |on: bool, mark: u8| if on { mark } else { 0 };
        let long = matches!(self.nonce, Nonce::Long(_));
        out.push(
            mark(self.voided, VOIDED) | mark(self.stake.is_some(), STAKE) | mark(long, LONG_NONCE),
        );
        out.extend_from_slice(self.hash.wire());
        out.extend_from_slice(self.merkle_root.wire());
        out.extend_from_slice(&self.version.to_be_bytes());
        out.extend_from_slice(&self.time.to_be_bytes());
        out.extend_from_slice(&self.bits.to_be_bytes());
        match &self.nonce {
            Nonce::Short(number) => out.extend_from_slice(&number.to_be_bytes()),
            Nonce::Long(bytes) => out.extend_from_slice(bytes),
        }
        out.extend_from_slice(&u40(self.first_txnum));
        put_varint(&mut out, self.tx_count.into());
        put_varint(&mut out, self.size);
        if let Some(stake) = &self.stake {
            put_varint(&mut out, self.stake_count.into());
            put_stake(&mut out, stake);
        }
        out
    }

    pub(crate) fn read(height: u32, row: &[u8]) -> Result<BlockRow, BadRow> {
        let mut reader = RowReader::new(row);
        let marks = reader.u8()?;
        if marks & !(VOIDED | STAKE | LONG_NONCE) != 0 {
            return Err(BadRow);
        }
        let mut block = BlockRow {
            height,
            hash: Hash32::from_wire(reader.array()?),
            merkle_root: Hash32::from_wire(reader.array()?),
            version: reader.array().map(i32::from_be_bytes)?,
            time: reader.u32()?,
            bits: reader.u32()?,
            nonce: match marks & LONG_NONCE {
                0 => Nonce::Short(reader.u32()?),
                _ => Nonce::Long(reader.array()?),
            },
            first_txnum: reader.u40()?,
            tx_count: reader.small()?,
            stake_count: 0,
            voided: marks & VOIDED != 0,
            size: reader.varint()?,
            stake: None,
        };
        if marks & STAKE != 0 {
            block.stake_count = reader.small()?;
            block.stake = Some(read_stake(&mut reader, height)?);
        }
        reader.end()?;
        if block.stake_count > block.tx_count { Err(BadRow) } else { Ok(block) }
    }
}

fn put_stake(out: &mut Vec<u8>, stake: &StakeHeader) {
    out.extend_from_slice(stake.root.wire());
    out.extend_from_slice(&stake.vote_bits.to_be_bytes());
    out.extend_from_slice(&stake.voters.to_be_bytes());
    out.extend_from_slice(&stake.size.to_be_bytes());
    out.extend_from_slice(&stake.others);
}

fn read_stake(reader: &mut RowReader<'_>, height: u32) -> Result<StakeHeader, BadRow> {
    Ok(StakeHeader {
        root: Hash32::from_wire(reader.array()?),
        vote_bits: reader.array().map(u16::from_be_bytes)?,
        voters: reader.array().map(u16::from_be_bytes)?,
        height,
        size: reader.u32()?,
        others: reader.array()?,
    })
}

/// The block at a height.
pub(crate) fn read_block(reader: Reader<'_>, height: u32) -> Result<Option<BlockRow>, ReadError> {
    let Some(row) = reader.get(HEADER_BY_HEIGHT, &height.to_be_bytes())? else { return Ok(None) };
    BlockRow::read(height, &row).map(Some).map_err(|bad| bad.of("header_by_height"))
}
