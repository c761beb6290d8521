//! A transaction of a chain whose holders of stakes vote on blocks: what it does stands in a
//! prefix, what proves that it may in a part behind.
//!
//! Sources: dcrd, wire/msgtx.go and blockchain/standalone/merkle.go. Invariant: there is one
//! witness for each input.

use super::{More, Transaction};
use crate::Hash32;
use crate::utxo::byte_reader::{ByteReader, DecodeError, Problem};
use crate::utxo::input::{Input, OutPoint};
use crate::utxo::items::step_through;
use crate::utxo::output::{Output, OutputForm};

/// How much of a transaction is written, in the upper half of its version.
const WHOLE: u32 = 0;
const PREFIX_ALONE: u32 = 1 << 16;
const WITNESS_ALONE: u32 = 2 << 16;

/// Bytes of the shortest witness: amount, height, place, empty script.
const WITNESS_LEAST_BYTES: usize = 17;

const STAKE_TREE: u8 = 1;

/// What stands beside inputs and outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Staked<'a> {
    /// Everything from the count of inputs up to the expiry.
    prefix: &'a [u8],
    /// The count of witnesses and the witnesses.
    witness: &'a [u8],
    /// The witnesses alone.
    witnesses: &'a [u8],
    expiry: u32,
}

pub(super) fn read<'a>(reader: &mut ByteReader<'a>) -> Result<Transaction<'a>, DecodeError> {
    let start = reader.offset();
    let fault = reader.fault(Problem::Version);
    let version = reader.u32()?;
    if version & 0xffff_0000 != WHOLE {
        return Err(fault);
    }
    let prefix = reader.offset();
    let (inputs, input_count) = step_through(reader, Input::LEAST_BYTES, read_prefix)?;
    let (outputs, output_count) = Output::step_through(reader, OutputForm::Versioned)?;
    let (lock_time, expiry) = (reader.u32()?, reader.u32()?);
    let prefix = reader.since(prefix);
    if input_count == 0 || output_count == 0 {
        return Err(reader.fault(Problem::Empty));
    }
    let fault = reader.fault(Problem::Count);
    let witness = reader.offset();
    let (witnesses, count) = step_through(reader, WITNESS_LEAST_BYTES, read_witness)?;
    if count != input_count {
        return Err(fault);
    }
    let witness = reader.since(witness);
    let more = More::Staked(Staked { prefix, witness, witnesses, expiry });
    let (version, raw) = (version as i32, reader.since(start));
    let counts = (input_count, output_count);
    Ok(Transaction { version, lock_time, raw, inputs, outputs, counts, more })
}

/// An input without its witness.
fn read_prefix<'a>(reader: &mut ByteReader<'a>) -> Result<Input<'a>, DecodeError> {
    let previous = OutPoint { txid: reader.hash()?, vout: reader.u32()? };
    let from_stake_tree = reader.u8()? == STAKE_TREE;
    Ok(Input { previous, script: &[], sequence: reader.u32()?, amount: None, from_stake_tree })
}

/// The amount, if it is one, and the script of a witness.
fn read_witness<'a>(reader: &mut ByteReader<'a>) -> Result<(Option<u64>, &'a [u8]), DecodeError> {
    let amount = reader.u64()?;
    reader.take(4 + 4)?; // height and place of the transaction that made the output
    // A negative amount says that there is none.
    Ok(((amount <= i64::MAX as u64).then_some(amount), reader.prefixed()?))
}

/// An input with the next witness.
pub(super) fn read_input<'a>(
    reader: &mut ByteReader<'a>,
    witnesses: &mut ByteReader<'a>,
) -> Result<Input<'a>, DecodeError> {
    let (amount, script) = read_witness(witnesses)?;
    Ok(Input { amount, script, ..read_prefix(reader)? })
}

impl<'a> Staked<'a> {
    pub(super) fn witnesses(&self) -> ByteReader<'a> {
        ByteReader::new(self.witnesses)
    }

    /// Zero is none.
    pub(super) fn expiry(&self) -> Option<u32> {
        (self.expiry != 0).then_some(self.expiry)
    }

    pub(super) fn txid(&self, version: i32) -> Hash32 {
        Hash32::blake256(&[&(version as u32 | PREFIX_ALONE).to_le_bytes(), self.prefix])
    }

    pub(super) fn leaf(&self, version: i32, txid: &Hash32) -> Hash32 {
        let marks = (version as u32 | WITNESS_ALONE).to_le_bytes();
        let witness = Hash32::blake256(&[&marks, self.witness]);
        Hash32::blake256(&[txid.wire(), witness.wire()])
    }
}
