//! The shielded parts of a transaction, with their lengths.
//!
//! What they prove is left to the node. Invariant: each slice has the length that its count says,
//! so that splitting it into items cannot fail. Sources: as for the transaction.

use super::pools::Pools;
use crate::utxo::byte_reader::{ByteReader, DecodeError, Problem};

/// Bytes of a joinsplit with a proof of the first kind (PHGR13), and of the second (Groth16).
const JOINSPLIT_BYTES: usize = 1802;
const GROTH_JOINSPLIT_BYTES: usize = 1698;
/// The key and the signature behind joinsplits.
const JOINSPLIT_TAIL_BYTES: usize = 32 + 64;
/// A spend and an output of Sapling with their proofs, up to version 4.
const OLD_SPEND_BYTES: usize = 384;
const OLD_OUTPUT_BYTES: usize = 948;
/// The same without what stands apart from version 5 on.
pub(super) const SPEND_BYTES: usize = 96;
pub(super) const OUTPUT_BYTES: usize = 756;
const PROOF_BYTES: usize = 192;
const SIGNATURE_BYTES: usize = 64;
pub(super) const ACTION_BYTES: usize = 820;

/// The shielded parts of a transaction.
#[derive(Clone, Copy, Default)]
pub(super) struct Bundles<'a> {
    /// What joinsplits make public less what they hide.
    sprout: i128,
    pub(super) sapling: Sapling<'a>,
    pub(super) orchard: Actions<'a>,
    pub(super) ironwood: Actions<'a>,
}

/// Spends and outputs of Sapling; what version 4 has of them is only stepped over.
#[derive(Clone, Copy, Default)]
pub(super) struct Sapling<'a> {
    pub(super) spends: &'a [u8],
    pub(super) outputs: &'a [u8],
    pub(super) balance: i64,
    /// Empty where there are no spends.
    pub(super) anchor: &'a [u8],
}

/// Actions of Orchard or Ironwood.
#[derive(Clone, Copy, Default)]
pub(super) struct Actions<'a> {
    pub(super) actions: &'a [u8],
    pub(super) flags: u8,
    pub(super) balance: i64,
    /// Empty where there are no actions.
    pub(super) anchor: &'a [u8],
}

impl<'a> Bundles<'a> {
    pub(super) fn read(
        reader: &mut ByteReader<'a>,
        version: i32,
    ) -> Result<Bundles<'a>, DecodeError> {
        let mut bundles = Bundles::default();
        match version {
            2 | 3 => bundles.sprout = read_joinsplits(reader, JOINSPLIT_BYTES)?,
            4 => {
                let (balance, signed) = read_old_sapling(reader)?;
                bundles.sapling.balance = balance;
                bundles.sprout = read_joinsplits(reader, GROTH_JOINSPLIT_BYTES)?;
                reader.take(if signed { SIGNATURE_BYTES } else { 0 })?;
            }
            5.. => {
                bundles.sapling = Sapling::read(reader)?;
                bundles.orchard = Actions::read(reader)?;
                if version >= 6 {
                    bundles.ironwood = Actions::read(reader)?;
                }
            }
            _ => {}
        }
        Ok(bundles)
    }

    pub(super) fn pools(&self) -> Pools {
        Pools {
            sprout: self.sprout,
            sapling: self.sapling.balance,
            orchard: self.orchard.balance,
            ironwood: self.ironwood.balance,
        }
    }
}

fn read_balance(reader: &mut ByteReader<'_>) -> Result<i64, DecodeError> {
    reader.array().map(i64::from_le_bytes)
}

fn read_amount(reader: &mut ByteReader<'_>) -> Result<i128, DecodeError> {
    let fault = reader.fault(Problem::Amount);
    let amount = reader.u64()?;
    if amount > i64::MAX as u64 { Err(fault) } else { Ok(amount.into()) }
}

/// Joinsplits: each begins with what it hides and what it makes public.
fn read_joinsplits(reader: &mut ByteReader<'_>, bytes: usize) -> Result<i128, DecodeError> {
    let count = reader.count(bytes)?;
    let mut sum = 0;
    for _ in 0..count {
        let (hidden, public) = (read_amount(reader)?, read_amount(reader)?);
        reader.take(bytes - 16)?;
        sum += public - hidden;
    }
    reader.take(if count > 0 { JOINSPLIT_TAIL_BYTES } else { 0 })?;
    Ok(sum)
}

/// The value balance, and whether a signature stands at the end of the transaction.
fn read_old_sapling(reader: &mut ByteReader<'_>) -> Result<(i64, bool), DecodeError> {
    let balance = read_balance(reader)?;
    let spends = reader.count(OLD_SPEND_BYTES)?;
    reader.take(spends * OLD_SPEND_BYTES)?;
    let outputs = reader.count(OLD_OUTPUT_BYTES)?;
    reader.take(outputs * OLD_OUTPUT_BYTES)?;
    Ok((balance, spends + outputs > 0))
}

impl<'a> Sapling<'a> {
    fn read(reader: &mut ByteReader<'a>) -> Result<Sapling<'a>, DecodeError> {
        let mut sapling = Sapling::default();
        let spends = reader.count(SPEND_BYTES)?;
        sapling.spends = reader.take(spends * SPEND_BYTES)?;
        let outputs = reader.count(OUTPUT_BYTES)?;
        sapling.outputs = reader.take(outputs * OUTPUT_BYTES)?;
        if spends + outputs == 0 {
            return Ok(sapling);
        }
        sapling.balance = read_balance(reader)?;
        if spends > 0 {
            sapling.anchor = reader.take(32)?;
        }
        reader.take(spends * (PROOF_BYTES + SIGNATURE_BYTES))?;
        reader.take(outputs * PROOF_BYTES + SIGNATURE_BYTES)?;
        Ok(sapling)
    }
}

impl<'a> Actions<'a> {
    fn read(reader: &mut ByteReader<'a>) -> Result<Actions<'a>, DecodeError> {
        let count = reader.count(ACTION_BYTES)?;
        let mut bundle =
            Actions { actions: reader.take(count * ACTION_BYTES)?, ..Actions::default() };
        if count == 0 {
            return Ok(bundle);
        }
        bundle.flags = reader.u8()?;
        bundle.balance = read_balance(reader)?;
        bundle.anchor = reader.take(32)?;
        reader.prefixed()?; // the proof
        reader.take(count * SIGNATURE_BYTES + SIGNATURE_BYTES)?;
        Ok(bundle)
    }
}
