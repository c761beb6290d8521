//! An input of a transaction, and the output that it spends.

use super::byte_reader::{ByteReader, DecodeError};
use crate::Hash32;

/// The output that an input spends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutPoint {
    /// Id of the transaction that made it.
    pub txid: Hash32,
    /// Its place in that transaction.
    pub vout: u32,
}

impl OutPoint {
    /// What an input names that spends no output: that of a coinbase, the stakebase of a vote,
    /// that of a treasurybase and of a treasury spend.
    pub const NULL: OutPoint = OutPoint { txid: Hash32::ZERO, vout: u32::MAX };
}

/// An input of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input<'a> {
    /// The output that it spends; [`OutPoint::NULL`] where it spends none.
    pub previous: OutPoint,
    /// The script that satisfies it; in a coinbase what the miner wrote.
    pub script: &'a [u8],
    /// Sequence number.
    pub sequence: u32,
    /// Coins in the smallest unit that it brings, where the transaction itself says so
    /// ([`super::Layout::Staked`]). Consensus holds it to the output that is spent; for an input that
    /// spends none it is what was created or drawn.
    pub amount: Option<u64>,
    /// Whether the output that it spends was made by a stake transaction.
    pub from_stake_tree: bool,
}

impl<'a> Input<'a> {
    /// Bytes of the shortest input: outpoint, empty script or the tree of the outpoint, sequence.
    pub(super) const LEAST_BYTES: usize = 41;

    pub(super) fn read(reader: &mut ByteReader<'a>) -> Result<Input<'a>, DecodeError> {
        let previous = OutPoint { txid: reader.hash()?, vout: reader.u32()? };
        let (script, sequence) = (reader.prefixed()?, reader.u32()?);
        Ok(Input { previous, script, sequence, amount: None, from_stake_tree: false })
    }
}
