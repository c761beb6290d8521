//! The part of a RingCT signature that a pruned node leaves out: range proofs and ring signatures.
//!
//! It is stepped over, so that its end and its weight are known. Sources: monero,
//! src/ringct/rctTypes.h, `rctSigPrunable`; src/cryptonote_basic/cryptonote_format_utils.cpp,
//! `get_transaction_weight_clawback`.

use super::rct::RctKind;
use super::varint;
use crate::utxo::{ByteReader, DecodeError, Problem};

/// Bytes of a range proof of Borromean signatures: 64 bits with two scalars and a point each, and
/// one scalar.
const RANGE_SIGNATURE: usize = 64 * 3 * 32 + 32;

/// A range proof over `2^n` amounts has `6 + n` rounds, and `n` is 4 at most.
const ROUNDS: std::ops::RangeInclusive<usize> = 6..=10;

/// How many inputs, ring members of the first input, and outputs a transaction has.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub inputs: usize,
    pub ring: usize,
    pub outputs: usize,
}

/// Steps over the proofs; gives how many amounts the range proofs have room for, where they are
/// joined ones.
pub(super) fn skip(
    reader: &mut ByteReader<'_>,
    kind: RctKind,
    shape: Shape,
) -> Result<Option<u64>, DecodeError> {
    let room = skip_range_proofs(reader, kind, shape.outputs)?;
    let Shape { inputs, ring, .. } = shape;
    // Scalars and points of 32 bytes.
    let count = match kind {
        RctKind::Full => ring.saturating_mul(inputs.saturating_add(1)).saturating_add(1),
        RctKind::Simple => inputs.saturating_mul(2 * ring + 1),
        // One more for the commitment of each input.
        RctKind::Bulletproof | RctKind::Bulletproof2 => inputs.saturating_mul(2 * ring + 2),
        RctKind::Clsag | RctKind::BulletproofPlus => inputs.saturating_mul(ring + 3),
    };
    reader.take(count.saturating_mul(32))?;
    Ok(room)
}

fn skip_range_proofs(
    reader: &mut ByteReader<'_>,
    kind: RctKind,
    outputs: usize,
) -> Result<Option<u64>, DecodeError> {
    // Points and scalars before the rounds and behind them.
    let (before, behind) = match kind {
        RctKind::Full | RctKind::Simple => {
            reader.take(outputs.saturating_mul(RANGE_SIGNATURE))?;
            return Ok(None);
        }
        RctKind::Bulletproof | RctKind::Bulletproof2 | RctKind::Clsag => (6, 3),
        RctKind::BulletproofPlus => (6, 0),
    };
    let start = reader.clone();
    let count = match kind {
        RctKind::Bulletproof => reader.u32()?.into(),
        _ => varint::read(reader)?,
    };
    if count > outputs as u64 {
        return Err(start.fault(Problem::Proof));
    }
    let mut room = 0_u64;
    for _ in 0..count {
        reader.take(before * 32)?;
        let (left, right) = (read_rounds(reader)?, read_rounds(reader)?);
        if left != right || !ROUNDS.contains(&left) {
            return Err(start.fault(Problem::Proof));
        }
        reader.take(behind * 32)?;
        room += 1 << (left - ROUNDS.start());
    }
    match room < outputs as u64 {
        true => Err(start.fault(Problem::Proof)),
        false => Ok(Some(room)),
    }
}

fn read_rounds(reader: &mut ByteReader<'_>) -> Result<usize, DecodeError> {
    let rounds = varint::count(reader, 32)?;
    reader.take(rounds * 32)?;
    Ok(rounds)
}

/// What joining range proofs saves in bytes, of which four fifths count as weight all the same:
/// they take as long to verify.
pub(super) fn clawback(kind: RctKind, room: u64) -> u64 {
    if room <= 2 {
        return 0;
    }
    let fixed = if kind == RctKind::BulletproofPlus { 6 } else { 9 };
    let rounds = 6 + u64::from(room.next_power_of_two().trailing_zeros());
    // Half of a proof over two amounts.
    let one = 32 * (fixed + 2 * 7) / 2;
    let joined = 32 * (fixed + 2 * rounds);
    (one * room).saturating_sub(joined) * 4 / 5
}
