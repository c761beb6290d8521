//! A block, read in place.

use super::aux_pow;
use super::byte_reader::{ByteReader, DecodeError, Problem};
use super::format::{Format, Layout};
use super::header::Header;
use super::merkle::{Tree, merkle_root};
use super::transaction::{Origin, Transaction};
use crate::Hash32;

/// A block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// The header.
    pub header: Header,
    /// The transactions in block order; where a block has two trees, the regular ones and then
    /// the stake ones.
    pub transactions: Vec<Transaction<'a>>,
    /// Their ids, in the same order.
    pub txids: Vec<Hash32>,
    /// How many of them are regular. The others are stake transactions, which stand even if the
    /// next block voids the regular ones.
    pub regular: usize,
    /// Bytes in all as the node gave them, proof of a parent chain and extension block included.
    ///
    /// A litecoind that is told `rpcserialversion=1` leaves the extension block out, and with 0
    /// the witnesses too; then its own `size` is larger than this.
    pub size: usize,
    /// The MimbleWimble extension block, as it stands.
    pub extension: Option<&'a [u8]>,
}

impl<'a> Block<'a> {
    /// Reads a block, as `getblock` with verbosity 0 or `/rest/block/….bin` gives it.
    ///
    /// # Errors
    /// Bytes that are no block of this format. Whether the block's transactions are those that
    /// its header commits to is left to [`Block::is_whole`].
    pub fn decode(raw: &'a [u8], format: &Format) -> Result<Block<'a>, DecodeError> {
        let mut reader = ByteReader::new(raw);
        let header = Header::read(&mut reader, format)?;
        if format.aux_pow && aux_pow::follows(header.version) {
            aux_pow::skip(&mut reader, format)?;
        }
        let mut transactions = Vec::new();
        read_list(&mut reader, format, &mut transactions)?;
        let regular = transactions.len();
        if regular == 0 {
            return Err(reader.fault(Problem::Empty));
        }
        if format.layout == Layout::Staked {
            read_list(&mut reader, format, &mut transactions)?;
        }
        let extension = read_extension(&mut reader, &transactions)?;
        reader.end()?;
        let txids = transactions.iter().map(Transaction::txid).collect();
        Ok(Block { header, transactions, txids, regular, size: raw.len(), extension })
    }

    /// Whether the transactions are those that the header commits to.
    pub fn is_whole(&self) -> bool {
        match self.header.stake {
            None => merkle_root(&self.txids) == Some(self.header.merkle_root),
            Some(stake) => {
                let leaves = self.transactions.iter().zip(&self.txids);
                let leaves: Vec<Hash32> = leaves.map(|(one, txid)| one.leaf(txid)).collect();
                let (regular, staked) = leaves.split_at(self.regular);
                let (regular, staked) = (Tree::Staked.root(regular), Tree::Staked.root(staked));
                let both = regular.zip(staked);
                // Once the header had a root of each tree; since DCP0005 it has one of both.
                both == Some((self.header.merkle_root, stake.root))
                    || both.is_some_and(|(regular, staked)| {
                        Tree::Staked.root(&[regular, staked]) == Some(self.header.merkle_root)
                    })
            }
        }
    }
}

/// Reads a list of transactions behind those that were read.
fn read_list<'a>(
    reader: &mut ByteReader<'a>,
    format: &Format,
    transactions: &mut Vec<Transaction<'a>>,
) -> Result<(), DecodeError> {
    let count = reader.count(Transaction::LEAST_BYTES)?;
    transactions.reserve_exact(count);
    for _ in 0..count {
        transactions.push(Transaction::read(reader, format, Origin::Block)?);
    }
    Ok(())
}

/// The extension block that follows a HogEx, up to the end of the bytes.
///
/// Source: Litecoin Core, src/primitives/block.h: one byte that says whether there is one, then
/// its header and body. A node may leave it out.
fn read_extension<'a>(
    reader: &mut ByteReader<'a>,
    transactions: &[Transaction<'_>],
) -> Result<Option<&'a [u8]>, DecodeError> {
    if reader.remaining() == 0 || !transactions.last().is_some_and(Transaction::is_hogex) {
        return Ok(None);
    }
    match reader.u8()? {
        0 => Ok(None),
        1 => reader.take(reader.remaining()).map(Some),
        _ => Err(reader.fault(Problem::Extension)),
    }
}
