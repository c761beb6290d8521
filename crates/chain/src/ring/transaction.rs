//! A transaction, read in place.
//!
//! Source: monero, src/cryptonote_basic/cryptonote_basic.h. Invariant: a transaction that was read
//! whole has exactly the bytes that it was read from; its hash is `None` where those bytes do not
//! suffice for it, never a wrong one. What a later version of the protocol brought may be unknown
//! here: [`RingCt::Opaque`] and [`RingCt::Unread`] say how far such a transaction was read.

mod digest;
mod parts;
mod prefix;

use super::bytes32::Hash;
use super::extra::Extra;
use super::proofs::{self, Shape};
use super::rct::{Rct, RctKind};
use crate::utxo::{ByteReader, DecodeError};

pub use parts::{Input, Output};

/// A transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction<'a> {
    /// 1: amounts are public; 2: they are hidden but for a coinbase.
    pub version: u8,
    /// Height or time before which its outputs cannot be spent.
    pub unlock_time: u64,
    /// The inputs in order.
    pub inputs: Vec<Input>,
    /// The outputs in order.
    pub outputs: Vec<Output>,
    /// What miner or wallet wrote, unread; see [`Extra`].
    pub extra: &'a [u8],
    /// What is said of hidden amounts.
    pub ring_ct: RingCt<'a>,
    raw: &'a [u8],
    /// Bytes of the prefix, and where the proofs or the signatures of version 1 begin.
    ends: (usize, usize),
    /// Whether proofs and signatures are there.
    is_whole: bool,
    /// How many amounts its joined range proofs have room for.
    room: Option<u64>,
    /// How many inputs and outputs it says that it has.
    counts: [Option<usize>; 2],
}

/// What a transaction says of its hidden amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingCt<'a> {
    /// Version 1: nothing is hidden.
    Absent,
    /// Type 0, of a coinbase: nothing is hidden.
    Null,
    /// A type that is known.
    Known(Rct<'a>),
    /// A later type. Only inputs and outputs are known, neither fee nor hash.
    Opaque(u8),
    /// Something before it is of a kind that is not known: there are the inputs and outputs in front
    /// of that, and nothing else.
    Unread,
}

impl<'a> Transaction<'a> {
    /// Reads a whole transaction.
    ///
    /// # Errors
    /// Bytes that are no transaction, or more than one. A RingCT type that is not known is no
    /// error: see [`RingCt::Opaque`].
    pub fn decode(raw: &'a [u8]) -> Result<Transaction<'a>, DecodeError> {
        Transaction::alone(raw, true)
    }

    /// Reads a transaction without its proofs or signatures, as pruned nodes and indexes keep it.
    /// A whole coinbase is its own pruned form.
    ///
    /// # Errors
    /// As [`Transaction::decode`].
    pub fn decode_pruned(raw: &'a [u8]) -> Result<Transaction<'a>, DecodeError> {
        Transaction::alone(raw, false)
    }

    /// Reads what can be read of a transaction of a later version of the protocol than
    /// [`LAST_VERSION`](super::LAST_VERSION): up to the first thing that is not known here, see
    /// [`RingCt::Unread`].
    ///
    /// # Errors
    /// Bytes that do not even have a version, or an earlier one than there is.
    pub fn decode_later(raw: &'a [u8]) -> Result<Transaction<'a>, DecodeError> {
        if let Ok(known) = Transaction::decode(raw) {
            return Ok(known);
        }
        let mut reader = ByteReader::new(raw);
        let mut transaction = Transaction::empty();
        let read = prefix::read(&mut reader, &mut transaction);
        if let (0, Err(error)) = (transaction.version, read) {
            return Err(error);
        }
        Ok(Transaction { raw, extra: &[], ring_ct: RingCt::Unread, ..transaction })
    }

    fn empty() -> Transaction<'a> {
        Transaction {
            version: 0,
            unlock_time: 0,
            inputs: Vec::new(),
            outputs: Vec::new(),
            extra: &[],
            ring_ct: RingCt::Absent,
            raw: &[],
            ends: (0, 0),
            is_whole: false,
            room: None,
            counts: [None, None],
        }
    }

    fn alone(raw: &'a [u8], whole: bool) -> Result<Transaction<'a>, DecodeError> {
        let mut reader = ByteReader::new(raw);
        let transaction = Transaction::read(&mut reader, whole)?;
        reader.end()?;
        Ok(transaction)
    }

    /// Reads a transaction from the front of what may be more; an opaque one takes all there is.
    pub(super) fn read(
        reader: &mut ByteReader<'a>,
        whole: bool,
    ) -> Result<Transaction<'a>, DecodeError> {
        let start = reader.offset();
        let mut transaction = Transaction::empty();
        prefix::read(reader, &mut transaction)?;
        let (inputs, outputs) = (transaction.inputs.len(), transaction.outputs.len());
        transaction.ends.0 = reader.offset() - start;
        transaction.ring_ct = match transaction.version {
            1 => RingCt::Absent,
            _ => match reader.u8()? {
                0 => RingCt::Null,
                number => match RctKind::of(number) {
                    Some(kind) => RingCt::Known(Rct::read(reader, kind, inputs, outputs)?),
                    None => RingCt::Opaque(number),
                },
            },
        };
        transaction.ends.1 = reader.offset() - start;
        transaction.is_whole = whole;
        match (whole, transaction.ring_ct) {
            (_, RingCt::Opaque(_)) => drop(reader.take(reader.remaining())?),
            (true, RingCt::Absent) => transaction.skip_signatures(reader)?,
            (true, RingCt::Known(rct)) => {
                transaction.room = proofs::skip(reader, rct.kind, transaction.shape())?;
            }
            (_, RingCt::Null | RingCt::Unread) | (false, _) => {}
        }
        transaction.raw = reader.since(start);
        Ok(transaction)
    }

    /// Signatures of version 1: two scalars for each member of a ring.
    fn skip_signatures(&self, reader: &mut ByteReader<'_>) -> Result<(), DecodeError> {
        for input in &self.inputs {
            reader.take(input.ring().len().saturating_mul(64))?;
        }
        Ok(())
    }

    /// The ring of the first input is that of all, as far as proofs are concerned; a coinbase
    /// counts as a ring of one.
    fn shape(&self) -> Shape {
        let ring = match self.inputs.first() {
            Some(Input::Key { ring, .. }) => ring.len(),
            Some(Input::Coinbase { .. }) | None => 1,
        };
        Shape { inputs: self.inputs.len(), ring, outputs: self.outputs.len() }
    }

    /// All bytes as they were read.
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// The bytes without proofs and signatures: what [`Transaction::decode_pruned`] reads. Of a
    /// transaction that is not known to its end all bytes.
    pub fn pruned(&self) -> &'a [u8] {
        match self.ring_ct {
            RingCt::Opaque(_) | RingCt::Unread => self.raw,
            _ => &self.raw[..self.ends.1],
        }
    }

    /// Bytes in all that were read.
    pub fn size(&self) -> usize {
        self.raw.len()
    }

    /// Whether the only input makes new coins.
    pub fn is_coinbase(&self) -> bool {
        self.counts[0] == Some(1) && matches!(self.inputs[..], [Input::Coinbase { .. }])
    }

    /// Whether all of it is known; of what is not, neither hash nor fee can be worked out.
    pub fn is_known(&self) -> bool {
        !matches!(self.ring_ct, RingCt::Opaque(_) | RingCt::Unread)
    }

    /// How many inputs it has; `None` where that was not read.
    pub fn input_count(&self) -> Option<usize> {
        self.counts[0]
    }

    /// How many outputs it has; `None` where that was not read.
    pub fn output_count(&self) -> Option<usize> {
        self.counts[1]
    }

    /// The number of the RingCT type; 0 in version 1, `None` where it was not read.
    pub fn rct_type(&self) -> Option<u8> {
        Some(match self.ring_ct {
            RingCt::Absent | RingCt::Null => 0,
            RingCt::Known(rct) => rct.kind as u8,
            RingCt::Opaque(number) => number,
            RingCt::Unread => return None,
        })
    }

    /// How many members the ring of the first input has; `None` for a coinbase.
    pub fn ring_size(&self) -> Option<usize> {
        match self.inputs.first()? {
            Input::Key { ring, .. } => Some(ring.len()),
            Input::Coinbase { .. } => None,
        }
    }

    /// The fee in the smallest unit; `None` for a coinbase, for a transaction that is not known to
    /// its end, and where the outputs of version 1 are more than the inputs.
    pub fn fee(&self) -> Option<u64> {
        match self.ring_ct {
            _ if self.is_coinbase() => None,
            RingCt::Known(rct) => Some(rct.fee),
            RingCt::Absent => {
                let brought: u128 =
                    self.inputs.iter().map(|input| u128::from(input.amount())).sum();
                brought.checked_sub(self.visible_out()).and_then(|fee| u64::try_from(fee).ok())
            }
            RingCt::Null | RingCt::Opaque(_) | RingCt::Unread => None,
        }
    }

    /// The sum of the public amounts of the outputs that were read.
    pub fn visible_out(&self) -> u128 {
        self.outputs.iter().map(|output| u128::from(output.amount)).sum()
    }

    /// Whether the amounts of the outputs are public: version 1, or a coinbase.
    pub fn has_public_amounts(&self) -> bool {
        matches!(self.ring_ct, RingCt::Absent | RingCt::Null) || self.is_coinbase()
    }

    /// What `extra` says.
    pub fn parse_extra(&self) -> Extra<'a> {
        Extra::parse(self.extra)
    }

    /// What a block's room and the fee are counted by: bytes, and what joined range proofs save.
    /// `None` where proofs are missing or not known.
    pub fn weight(&self) -> Option<u64> {
        let size = self.raw.len() as u64;
        match self.ring_ct {
            RingCt::Absent | RingCt::Null => Some(size),
            RingCt::Known(rct) if self.is_whole => {
                Some(size + self.room.map_or(0, |room| proofs::clawback(rct.kind, room)))
            }
            RingCt::Known(_) | RingCt::Opaque(_) | RingCt::Unread => None,
        }
    }

    /// The hash; `None` where proofs or signatures are missing, or the type is not known.
    pub fn hash(&self) -> Option<Hash> {
        digest::hash(self)
    }

    /// The hash of a transaction that was read without its proofs, with the hash of those from
    /// whoever has them. `None` for version 1 and for a type that is not known.
    pub fn hash_with(&self, proofs: &Hash) -> Option<Hash> {
        digest::hash_with(self, proofs)
    }
}

#[cfg(test)]
mod tests;
