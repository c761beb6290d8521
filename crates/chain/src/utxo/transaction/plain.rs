//! A transaction in Bitcoin's layout, with what relatives put between its parts.
//!
//! Sources: Bitcoin Core, src/primitives/transaction.h (BIP 144); Litecoin Core, the same file
//! (LIP 3). Invariant: witnesses and extension data are stepped over, and are outside of the id.

use super::{More, Origin, Transaction, extension};
use crate::Hash32;
use crate::utxo::byte_reader::{ByteReader, DecodeError, Problem};
use crate::utxo::format::Format;
use crate::utxo::input::Input;
use crate::utxo::items::step_through;
use crate::utxo::output::{Output, OutputForm};

const WITNESS: u8 = 1;
const EXTENSION: u8 = 8;

/// What stands beside inputs and outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plain<'a> {
    /// Inputs and outputs with their counts.
    body: &'a [u8],
    flags: u8,
    /// Bytes of extension data with their marks.
    extension_bytes: usize,
    /// What its peg-ins and peg-outs will take in the HogEx, in bytes.
    pegged_bytes: usize,
    pub(super) tokens: bool,
}

pub(super) fn read<'a>(
    reader: &mut ByteReader<'a>,
    format: &Format,
    origin: Origin,
) -> Result<Transaction<'a>, DecodeError> {
    let start = reader.offset();
    let version = reader.i32()?;
    let flags = read_flags(reader, format)?;
    let body = reader.offset();
    let (inputs, input_count) = step_through(reader, Input::LEAST_BYTES, Input::read)?;
    let (outputs, output_count) = Output::step_through(reader, OutputForm::Plain)?;
    let body = reader.since(body);
    if origin == Origin::Block && (input_count == 0 || output_count == 0) {
        return Err(reader.fault(Problem::Empty));
    }
    if flags & WITNESS != 0 {
        skip_witnesses(reader, input_count)?;
    }
    let extension =
        if flags & EXTENSION != 0 { read_extension(reader, origin)? } else { Extension::default() };
    let Extension { bytes: extension_bytes, pegged_bytes } = extension;
    let lock_time = reader.u32()?;
    let more =
        More::Plain(Plain { body, flags, extension_bytes, pegged_bytes, tokens: format.tokens });
    let (raw, counts) = (reader.since(start), (input_count, output_count));
    Ok(Transaction { version, lock_time, raw, inputs, outputs, counts, more })
}

impl Plain<'_> {
    pub(super) fn txid(&self, transaction: &Transaction<'_>) -> Hash32 {
        if self.flags == 0 {
            return Hash32::sha256d(&[transaction.raw]);
        }
        let lock_time = transaction.lock_time.to_le_bytes();
        Hash32::sha256d(&[&transaction.raw[..4], self.body, &lock_time])
    }

    /// As its node counts it, waiting or mined.
    pub(super) fn vsize(&self, transaction: &Transaction<'_>) -> usize {
        if transaction.is_extension_only() {
            return self.pegged_bytes;
        }
        let stripped = 4 + self.body.len() + 4;
        let marks = if self.flags == EXTENSION { 2 } else { 0 };
        let with_witnesses = transaction.raw.len() - self.extension_bytes - marks;
        (3 * stripped + with_witnesses).div_ceil(4) + self.pegged_bytes
    }

    pub(super) fn is_hogex(&self) -> bool {
        self.flags & EXTENSION != 0 && self.extension_bytes == 1
    }

    pub(super) fn has_extension(&self) -> bool {
        self.flags & EXTENSION != 0
    }
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

/// Extension data of a transaction.
#[derive(Default)]
struct Extension {
    /// Its bytes, with the byte that announces it.
    bytes: usize,
    pegged_bytes: usize,
}

/// Steps over extension data.
///
/// In a block only the HogEx has the byte, and nothing behind it. Alone, the data goes up to the
/// lock time, whatever its own version.
fn read_extension(reader: &mut ByteReader<'_>, origin: Origin) -> Result<Extension, DecodeError> {
    let start = reader.offset();
    let pegged_bytes = match (reader.u8()?, origin) {
        (0, _) => 0,
        (_, Origin::Alone) => {
            extension::pegged_bytes(reader.take(reader.remaining().saturating_sub(4))?)
        }
        _ => return Err(reader.fault(Problem::Extension)),
    };
    Ok(Extension { bytes: reader.offset() - start, pegged_bytes })
}
