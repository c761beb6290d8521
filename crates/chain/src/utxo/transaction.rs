//! A transaction, read in place.
//!
//! What each layout has beside inputs and outputs stands in the files of this folder. Invariant:
//! everything was stepped through once when it was read, so that walking inputs and outputs later
//! needs no allocation and cannot fail.

mod bundles;
mod digest;
mod extension;
mod kind;
mod plain;
mod pools;
mod shielded;
mod staked;

pub use kind::{Kind, Vote};
pub use pools::Pools;

pub(super) use kind::is_commitment;

use super::byte_reader::{ByteReader, DecodeError};
use super::format::{Format, Layout};
use super::input::{Input, OutPoint};
use super::items::Items;
use super::output::{Output, OutputForm};
use crate::Hash32;
use plain::Plain;
use shielded::Shielded;
use staked::Staked;

/// A transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transaction<'a> {
    /// Version as the node prints it, without marks that share its bytes. Where a node prints it
    /// unsigned, these are the same bits.
    pub version: i32,
    /// Height or time before which it was not valid.
    pub lock_time: u32,
    raw: &'a [u8],
    inputs: &'a [u8],
    outputs: &'a [u8],
    /// How many inputs and outputs.
    counts: (usize, usize),
    more: More<'a>,
}

/// What a layout has beside inputs and outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum More<'a> {
    Plain(Plain<'a>),
    Shielded(Shielded<'a>),
    Staked(Staked<'a>),
}

/// Where a transaction is read from, which decides what it may carry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// Among the transactions of a block.
    Block,
    /// Inside the proof of work of a parent chain.
    ParentChain,
    /// On its own, up to the end of the bytes.
    Alone,
}

impl<'a> Transaction<'a> {
    /// Bytes of the shortest transaction of a block: version, one input, one output, lock time.
    /// One without inputs or outputs has shielded parts, which are longer.
    pub(super) const LEAST_BYTES: usize = 60;

    /// Reads a transaction that stands alone, as `getrawtransaction` gives it.
    ///
    /// # Errors
    /// Bytes that are no transaction of this format, or more than one.
    pub fn decode(raw: &'a [u8], format: &Format) -> Result<Transaction<'a>, DecodeError> {
        let mut reader = ByteReader::new(raw);
        let transaction = Transaction::read(&mut reader, format, Origin::Alone)?;
        reader.end()?;
        Ok(transaction)
    }

    pub(super) fn read(
        reader: &mut ByteReader<'a>,
        format: &Format,
        origin: Origin,
    ) -> Result<Transaction<'a>, DecodeError> {
        match format.layout {
            Layout::Plain => plain::read(reader, format, origin),
            Layout::Shielded => shielded::read(reader),
            Layout::Staked => staked::read(reader),
        }
    }

    /// The transaction's id: a hash of what it does, without what only proves that it may. Before
    /// BIP 144 and its like everything was hashed.
    ///
    /// A transaction that lives in the MimbleWimble extension alone has another id, which only
    /// its node knows; see [`Transaction::is_extension_only`].
    pub fn txid(&self) -> Hash32 {
        match &self.more {
            More::Plain(plain) => plain.txid(self),
            More::Shielded(shielded) => shielded.txid(self),
            More::Staked(staked) => staked.txid(self.version),
        }
    }

    /// The leaf of the transaction in the tree whose root a header commits to: the hash of what
    /// it does and of what proves that it may where votes are, else the id.
    pub(super) fn leaf(&self, txid: &Hash32) -> Hash32 {
        match &self.more {
            More::Plain(_) | More::Shielded(_) => *txid,
            More::Staked(staked) => staked.leaf(self.version, txid),
        }
    }

    /// All bytes as they were read, with witnesses and extension data.
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// Bytes in all, with witnesses and extension data.
    pub fn size(&self) -> usize {
        self.raw.len()
    }

    /// Bytes where one of a witness counts a quarter (BIP 141). Of extension data only what it
    /// will take outside of the extension, as the node has it. Where there are no such witnesses,
    /// all bytes.
    pub fn vsize(&self) -> usize {
        match &self.more {
            More::Plain(plain) => plain.vsize(self),
            More::Shielded(_) | More::Staked(_) => self.raw.len(),
        }
    }

    /// What kind of transaction it is.
    pub fn kind(&self) -> Kind {
        match &self.more {
            More::Staked(_) => kind::of_staked(self),
            _ if self.spends_nothing() => Kind::Coinbase,
            _ => Kind::Regular,
        }
    }

    /// Whether it makes new coins: its only input spends nothing. A treasurybase and a treasury
    /// spend are no coinbase.
    pub fn is_coinbase(&self) -> bool {
        self.spends_nothing() && self.kind() == Kind::Coinbase
    }

    /// Whether it has one input, and that spends no output.
    fn spends_nothing(&self) -> bool {
        self.counts.0 == 1
            && self.inputs().next().is_some_and(|input| input.previous == OutPoint::NULL)
    }

    /// What a vote says; `None` where this is no vote.
    pub fn vote(&self) -> Option<Vote> {
        Vote::of(self)
    }

    /// What it takes out of each shielded pool.
    pub fn pools(&self) -> Pools {
        match &self.more {
            More::Shielded(shielded) => shielded.pools(self.version),
            More::Plain(_) | More::Staked(_) => Pools::default(),
        }
    }

    /// The consensus branch that it was made for, where it says so (ZIP 225).
    pub fn branch(&self) -> Option<u32> {
        match &self.more {
            More::Shielded(shielded) => shielded.branch(),
            More::Plain(_) | More::Staked(_) => None,
        }
    }

    /// The height from which on it may not be mined any more; `None` where there is no such.
    pub fn expiry(&self) -> Option<u32> {
        match &self.more {
            More::Plain(_) => None,
            More::Shielded(shielded) => shielded.expiry(),
            More::Staked(staked) => staked.expiry(),
        }
    }

    /// Whether it carries the sum of the MimbleWimble extension from block to block (HogEx).
    pub fn is_hogex(&self) -> bool {
        matches!(&self.more, More::Plain(plain) if plain.is_hogex())
    }

    /// Whether all its inputs and outputs are in the MimbleWimble extension.
    pub fn is_extension_only(&self) -> bool {
        matches!(&self.more, More::Plain(plain) if plain.has_extension()) && self.counts == (0, 0)
    }

    /// The inputs in order.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = Input<'a>> + use<'a> {
        let mut witnesses = match &self.more {
            More::Staked(staked) => Some(staked.witnesses()),
            More::Plain(_) | More::Shielded(_) => None,
        };
        Items::new(self.inputs, self.counts.0, move |reader: &mut ByteReader<'a>| {
            match &mut witnesses {
                Some(witnesses) => staked::read_input(reader, witnesses),
                None => Input::read(reader),
            }
        })
    }

    /// The outputs in order.
    pub fn outputs(&self) -> impl ExactSizeIterator<Item = Output<'a>> + use<'a> {
        let form = match &self.more {
            More::Plain(plain) if plain.tokens => OutputForm::WithTokens,
            More::Plain(_) | More::Shielded(_) => OutputForm::Plain,
            More::Staked(_) => OutputForm::Versioned,
        };
        Items::new(self.outputs, self.counts.1, move |reader: &mut ByteReader<'a>| {
            Output::read(reader, form)
        })
    }

    /// The sum of the outputs in the smallest unit.
    pub fn value_out(&self) -> u128 {
        self.outputs().map(|output| u128::from(output.value)).sum()
    }
}

#[cfg(test)]
mod tests;
