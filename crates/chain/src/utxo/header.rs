//! The header at the front of a block: its length, its fields and its hash, by format.
//!
//! The work behind it is not checked here. Invariant: how long a header is and how its hash is
//! made is known in this file alone.

use std::fmt;

use super::byte_reader::{ByteReader, DecodeError};
use super::format::{Format, Layout};
use crate::Hash32;

/// Bytes of a header in Bitcoin's layout, without the parent chain's work that may follow it.
pub(super) const PLAIN_BYTES: usize = 80;
/// Bytes up to the length of the Equihash solution.
const SHIELDED_FIXED_BYTES: usize = 140;
const STAKED_BYTES: usize = 180;
/// Bytes of a staked header that have no field of their own.
const STAKE_OTHERS: usize = 12 + 8 + 36;

/// The header of a block.
///
/// Sources: Bitcoin Core, src/primitives/block.h; Zcash protocol specification, section 7.6;
/// dcrd, wire/blockheader.go. Relatives that work on other hashes (scrypt, Equihash, BLAKE3) or on
/// a parent chain's work still name a block by the hash of these bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Hash of the block.
    pub hash: Hash32,
    /// Version and signalling bits, signed as nodes print it.
    pub version: i32,
    /// Hash of the block before, all zero at genesis.
    pub previous: Hash32,
    /// Root of the tree of transactions; of the regular ones or of both trees where a block has
    /// two.
    pub merkle_root: Hash32,
    /// Seconds since 1970 as the miner claims.
    pub time: u32,
    /// Target in compact form; nodes print it as 8 hex digits.
    pub bits: u32,
    /// Nonce.
    pub nonce: Nonce,
    /// What a header says of stakes, where blocks are voted on.
    pub stake: Option<StakeHeader>,
}

/// What the miner varied until the work was done. It is printed as nodes do: a number in decimal
/// digits, or 64 hex digits of 32 bytes, last byte first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nonce {
    /// A number.
    Short(u32),
    /// 32 bytes in wire order.
    Long([u8; 32]),
}

impl Nonce {
    /// The number, where it is one.
    pub fn number(self) -> Option<u32> {
        match self {
            Nonce::Short(number) => Some(number),
            Nonce::Long(_) => None,
        }
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Nonce::Short(number) => number.fmt(f),
            Nonce::Long(bytes) => Hash32::from_wire(*bytes).fmt(f),
        }
    }
}

/// What a header says of stakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StakeHeader {
    /// Root of the tree of stake transactions; where the merkle root covers both trees, the root
    /// of a tree of other things.
    pub root: Hash32,
    /// What the votes in this block say of the block before; see [`StakeHeader::approves`].
    pub vote_bits: u16,
    /// Number of votes in the block.
    pub voters: u16,
    /// Height of the block.
    pub height: u32,
    /// Bytes of the block as the header says; 0 at genesis.
    pub size: u32,
    /// All that nothing here reads, as it stands: state of the lottery, new tickets, revocations,
    /// tickets that wait (12 bytes), price of a ticket (8), extra data and version of the votes
    /// (36).
    pub others: [u8; STAKE_OTHERS],
}

impl StakeHeader {
    /// Whether the regular transactions of the block before stand.
    ///
    /// Genesis has no votes, and the block after it cannot void it.
    pub fn approves(&self) -> bool {
        self.vote_bits & 1 != 0
    }
}

impl Header {
    /// Reads the header at the front of a block, and says how many bytes it takes.
    ///
    /// # Errors
    /// Bytes that end inside a header.
    pub fn at_front(block: &[u8], format: &Format) -> Result<(Header, usize), DecodeError> {
        let mut reader = ByteReader::new(block);
        let header = Header::read(&mut reader, format)?;
        Ok((header, reader.offset()))
    }

    /// Reads a header that stands alone.
    ///
    /// # Errors
    /// Fewer or more bytes than a header has.
    pub fn decode(bytes: &[u8], format: &Format) -> Result<Header, DecodeError> {
        let mut reader = ByteReader::new(bytes);
        let header = Header::read(&mut reader, format)?;
        reader.end()?;
        Ok(header)
    }

    /// The hash worked out from the fields again; `None` where the hashed bytes have more in them
    /// than the fields tell.
    pub fn hash_of_fields(&self, format: &Format) -> Option<Hash32> {
        let Nonce::Short(nonce) = self.nonce else { return None };
        match (format.layout, &self.stake) {
            (Layout::Plain, None) => Some(Hash32::sha256d(&[
                &self.version.to_le_bytes(),
                self.previous.wire(),
                self.merkle_root.wire(),
                &self.time.to_le_bytes(),
                &self.bits.to_le_bytes(),
                &nonce.to_le_bytes(),
            ])),
            (Layout::Staked, Some(stake)) => Some(self.hash_of_staked(stake, nonce)),
            _ => None,
        }
    }

    fn hash_of_staked(&self, stake: &StakeHeader, nonce: u32) -> Hash32 {
        let (state, rest) = stake.others.split_at(6);
        let (counts, rest) = rest.split_at(6);
        let (price, last) = rest.split_at(8);
        Hash32::blake256(&[
            &self.version.to_le_bytes(),
            self.previous.wire(),
            self.merkle_root.wire(),
            stake.root.wire(),
            &stake.vote_bits.to_le_bytes(),
            state,
            &stake.voters.to_le_bytes(),
            counts,
            &self.bits.to_le_bytes(),
            price,
            &stake.height.to_le_bytes(),
            &stake.size.to_le_bytes(),
            &self.time.to_le_bytes(),
            &nonce.to_le_bytes(),
            last,
        ])
    }

    pub(super) fn read(
        reader: &mut ByteReader<'_>,
        format: &Format,
    ) -> Result<Header, DecodeError> {
        match format.layout {
            Layout::Plain => Header::read_plain(reader),
            Layout::Shielded => Header::read_shielded(reader),
            Layout::Staked => Header::read_staked(reader),
        }
    }

    fn read_plain(reader: &mut ByteReader<'_>) -> Result<Header, DecodeError> {
        let hash = Hash32::sha256d(&[reader.clone().take(PLAIN_BYTES)?]);
        Ok(Header {
            hash,
            version: reader.i32()?,
            previous: reader.hash()?,
            merkle_root: reader.hash()?,
            time: reader.u32()?,
            bits: reader.u32()?,
            nonce: Nonce::Short(reader.u32()?),
            stake: None,
        })
    }

    /// The solution has 1344 bytes, or 36 on a private network; both come with their length.
    fn read_shielded(reader: &mut ByteReader<'_>) -> Result<Header, DecodeError> {
        let (start, mut rest) = (reader.offset(), reader.clone());
        rest.take(SHIELDED_FIXED_BYTES)?;
        rest.prefixed()?;
        let hash = Hash32::sha256d(&[rest.since(start)]);
        let (version, previous) = (reader.i32()?, reader.hash()?);
        let merkle_root = reader.hash()?;
        // A commitment to shielded state, whose meaning changed with the upgrades.
        reader.hash()?;
        let (time, bits) = (reader.u32()?, reader.u32()?);
        let nonce = Nonce::Long(reader.array()?);
        *reader = rest;
        Ok(Header { hash, version, previous, merkle_root, time, bits, nonce, stake: None })
    }

    fn read_staked(reader: &mut ByteReader<'_>) -> Result<Header, DecodeError> {
        let hash = Hash32::blake256(&[reader.clone().take(STAKED_BYTES)?]);
        let (version, previous) = (reader.i32()?, reader.hash()?);
        let (merkle_root, root) = (reader.hash()?, reader.hash()?);
        let vote_bits = reader.u16()?;
        let state = reader.take(6)?; // of the lottery
        let voters = reader.u16()?;
        let counts = reader.take(1 + 1 + 4)?; // new tickets, revocations, tickets that wait
        let bits = reader.u32()?;
        let price = reader.take(8)?; // of a ticket
        let (height, size, time) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let nonce = Nonce::Short(reader.u32()?);
        let last = reader.take(32 + 4)?; // extra data, version of the votes
        let mut others = [0; STAKE_OTHERS];
        let parts = [state, counts, price, last].into_iter().flatten();
        others.iter_mut().zip(parts).for_each(|(to, from)| *to = *from);
        let stake = Some(StakeHeader { root, vote_bits, voters, height, size, others });
        Ok(Header { hash, version, previous, merkle_root, time, bits, nonce, stake })
    }
}
