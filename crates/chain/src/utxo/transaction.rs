//! A transaction, read in place.
//!
//! Sources: Bitcoin Core, src/primitives/transaction.h (BIP 144); Litecoin Core, the same file
//! (LIP 3). Invariant: everything was stepped through once when it was read, so that walking
//! inputs and outputs later needs no allocation and cannot fail.

use super::byte_reader::{ByteReader, DecodeError, Problem};
use super::format::Format;
use super::output::Output;
use crate::Hash32;

const WITNESS: u8 = 1;
const EXTENSION: u8 = 8;
/// Inputs of at least 41 bytes: outpoint, empty script, sequence.
const INPUT_LEAST_BYTES: usize = 41;

/// A transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transaction<'a> {
    /// Version, signed as nodes print it.
    pub version: i32,
    /// Height or time before which it was not valid.
    pub lock_time: u32,
    raw: &'a [u8],
    /// Inputs and outputs with their counts.
    body: &'a [u8],
    inputs: &'a [u8],
    outputs: &'a [u8],
    /// How many inputs and outputs.
    counts: (usize, usize),
    flags: u8,
    /// Bytes of extension data with their marks.
    extension_bytes: usize,
    tokens: bool,
}

/// The output that an input spends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutPoint {
    /// Id of the transaction that made it.
    pub txid: Hash32,
    /// Its place in that transaction.
    pub vout: u32,
}

impl OutPoint {
    /// What the input of a coinbase names instead of an output.
    pub const NULL: OutPoint = OutPoint { txid: Hash32::ZERO, vout: u32::MAX };
}

/// An input of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input<'a> {
    /// The output that it spends; [`OutPoint::NULL`] in a coinbase.
    pub previous: OutPoint,
    /// The script that satisfies it; in a coinbase what the miner wrote.
    pub script: &'a [u8],
    /// Sequence number.
    pub sequence: u32,
}

impl<'a> Input<'a> {
    fn read(reader: &mut ByteReader<'a>) -> Result<Input<'a>, DecodeError> {
        let previous = OutPoint { txid: reader.hash()?, vout: reader.u32()? };
        Ok(Input { previous, script: reader.prefixed()?, sequence: reader.u32()? })
    }
}

/// Where a transaction is read from, which decides what it may carry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Among the transactions of a block.
    Block,
    /// Inside the proof of work of a parent chain.
    Foreign,
    /// On its own, up to the end of the bytes.
    Alone,
}

impl<'a> Transaction<'a> {
    /// Bytes of the shortest transaction: version, one input, one output, lock time.
    pub(super) const LEAST_BYTES: usize = 60;

    /// Reads a transaction that stands alone, as `getrawtransaction` gives it.
    ///
    /// # Errors
    /// Bytes that are no transaction of this format, or more than one.
    pub fn decode(raw: &'a [u8], format: &Format) -> Result<Transaction<'a>, DecodeError> {
        let mut reader = ByteReader::new(raw);
        let transaction = Transaction::read(&mut reader, format, Place::Alone)?;
        reader.end()?;
        Ok(transaction)
    }

    pub(super) fn read(
        reader: &mut ByteReader<'a>,
        format: &Format,
        place: Place,
    ) -> Result<Transaction<'a>, DecodeError> {
        let start = reader.offset();
        let version = reader.i32()?;
        let flags = read_flags(reader, format)?;
        let body = reader.offset();
        let (inputs, input_count) = step_through(reader, INPUT_LEAST_BYTES, Input::read)?;
        let (outputs, output_count) =
            step_through(reader, Output::LEAST_BYTES, |reader| Output::read(reader, false))?;
        let body = reader.since(body);
        if place == Place::Block && (input_count == 0 || output_count == 0) {
            return Err(reader.fault(Problem::Empty));
        }
        if flags & WITNESS != 0 {
            skip_witnesses(reader, input_count)?;
        }
        let extension_bytes =
            if flags & EXTENSION != 0 { skip_extension(reader, place)? } else { 0 };
        let lock_time = reader.u32()?;
        let raw = reader.since(start);
        let (tokens, counts) = (format.tokens, (input_count, output_count));
        Ok(Transaction {
            version,
            lock_time,
            raw,
            body,
            inputs,
            outputs,
            counts,
            flags,
            extension_bytes,
            tokens,
        })
    }

    /// The transaction's id: the double SHA-256 of everything but witnesses and extension data.
    ///
    /// A transaction that lives in the MimbleWimble extension alone has another id, which only
    /// its node knows; see [`Transaction::is_extension_only`].
    pub fn txid(&self) -> Hash32 {
        let lock_time = self.lock_time.to_le_bytes();
        Hash32::sha256d(&[&self.raw[..4], self.body, &lock_time])
    }

    /// All bytes as they were read, with witnesses and extension data.
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// Bytes in all, with witnesses and extension data.
    pub fn size(&self) -> usize {
        self.raw.len()
    }

    /// Bytes where one of a witness counts a quarter (BIP 141), without extension data.
    pub fn vsize(&self) -> usize {
        let stripped = 4 + self.body.len() + 4;
        let marks = if self.flags == EXTENSION { 2 } else { 0 };
        let with_witnesses = self.raw.len() - self.extension_bytes - marks;
        (3 * stripped + with_witnesses).div_ceil(4)
    }

    /// Whether it makes new coins: its only input spends nothing.
    pub fn is_coinbase(&self) -> bool {
        self.counts.0 == 1
            && self.inputs().next().is_some_and(|input| input.previous == OutPoint::NULL)
    }

    /// Whether it carries the sum of the MimbleWimble extension from block to block (HogEx).
    pub fn is_hogex(&self) -> bool {
        self.flags & EXTENSION != 0 && self.extension_bytes == 1
    }

    /// Whether all its inputs and outputs are in the MimbleWimble extension.
    pub fn is_extension_only(&self) -> bool {
        self.flags & EXTENSION != 0 && self.counts == (0, 0)
    }

    /// The inputs in order.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = Input<'a>> + use<'a> {
        Items::new(self.inputs, self.counts.0, Input::read)
    }

    /// The outputs in order.
    pub fn outputs(&self) -> impl ExactSizeIterator<Item = Output<'a>> + use<'a> {
        let tokens = self.tokens;
        Items::new(self.outputs, self.counts.1, move |reader| Output::read(reader, tokens))
    }

    /// The sum of the outputs in the smallest unit.
    pub fn value_out(&self) -> u128 {
        self.outputs().map(|output| u128::from(output.value)).sum()
    }
}

/// Steps through a counted list, and gives the bytes of its items and their number.
fn step_through<'a, T>(
    reader: &mut ByteReader<'a>,
    least_bytes: usize,
    read: impl Fn(&mut ByteReader<'a>) -> Result<T, DecodeError>,
) -> Result<(&'a [u8], usize), DecodeError> {
    let count = reader.count(least_bytes)?;
    let start = reader.offset();
    for _ in 0..count {
        read(reader)?;
    }
    Ok((reader.since(start), count))
}

/// Flags behind a marker of no inputs, or none.
fn read_flags(reader: &mut ByteReader<'_>, format: &Format) -> Result<u8, DecodeError> {
    let known = if format.witness { WITNESS } else { 0 } | if format.mweb { EXTENSION } else { 0 };
    if known == 0 || reader.peek() != Some(0) {
        return Ok(0);
    }
    reader.u8()?;
    let fault = reader.fault(Problem::Flags);
    let flags = reader.u8()?;
    if flags == 0 || flags & !known != 0 { Err(fault) } else { Ok(flags) }
}

/// Steps over one stack of witness items for each input.
fn skip_witnesses(reader: &mut ByteReader<'_>, inputs: usize) -> Result<(), DecodeError> {
    for _ in 0..inputs {
        for _ in 0..reader.count(1)? {
            reader.prefixed()?;
        }
    }
    Ok(())
}

/// Steps over extension data, and says how many bytes it took with the byte that announces it.
///
/// In a block only the HogEx has the byte, and nothing behind it. Alone, the data goes up to the
/// lock time, whatever its own version.
fn skip_extension(reader: &mut ByteReader<'_>, place: Place) -> Result<usize, DecodeError> {
    let start = reader.offset();
    match (reader.u8()?, place) {
        (0, _) => {}
        (_, Place::Alone) => {
            reader.take(reader.remaining().saturating_sub(4))?;
        }
        _ => return Err(reader.fault(Problem::Extension)),
    }
    Ok(reader.offset() - start)
}

/// Walks items that were stepped through before.
struct Items<'a, F> {
    reader: ByteReader<'a>,
    left: usize,
    read: F,
}

impl<'a, T, F: Fn(&mut ByteReader<'a>) -> Result<T, DecodeError>> Items<'a, F> {
    fn new(bytes: &'a [u8], left: usize, read: F) -> Items<'a, F> {
        Items { reader: ByteReader::new(bytes), left, read }
    }
}

impl<'a, T, F: Fn(&mut ByteReader<'a>) -> Result<T, DecodeError>> Iterator for Items<'a, F> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        (self.read)(&mut self.reader).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<'a, T, F: Fn(&mut ByteReader<'a>) -> Result<T, DecodeError>> ExactSizeIterator
    for Items<'a, F>
{
}

#[cfg(test)]
mod tests;
