//! What a transaction that hides its amounts says of them for good: fee, hidden amounts,
//! commitments. Proofs are in `proofs`.
//!
//! Source: monero, src/ringct/rctTypes.h, `rctSigBase`.

use super::bytes32::Key;
use super::varint;
use crate::utxo::{ByteReader, DecodeError};

/// The kind of a RingCT signature, by its number on the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RctKind {
    /// 1: one signature over all inputs, range proofs of Borromean signatures.
    Full = 1,
    /// 2: a signature for each input, range proofs of Borromean signatures.
    Simple = 2,
    /// 3: the first Bulletproofs.
    Bulletproof = 3,
    /// 4: Bulletproofs, amounts of 8 bytes.
    Bulletproof2 = 4,
    /// 5: CLSAG signatures.
    Clsag = 5,
    /// 6: Bulletproofs+.
    BulletproofPlus = 6,
}

impl RctKind {
    /// The kind of this number; `None` for 0, which has no signature, and for later ones.
    pub fn of(number: u8) -> Option<RctKind> {
        Some(match number {
            1 => RctKind::Full,
            2 => RctKind::Simple,
            3 => RctKind::Bulletproof,
            4 => RctKind::Bulletproof2,
            5 => RctKind::Clsag,
            6 => RctKind::BulletproofPlus,
            _ => return None,
        })
    }

    /// Whether a hidden amount has 8 bytes, its mask none.
    pub(crate) fn has_short_amounts(self) -> bool {
        self >= RctKind::Bulletproof2
    }
}

/// The part of a RingCT signature that is never pruned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rct<'a> {
    /// Its kind.
    pub kind: RctKind,
    /// The fee in the smallest unit.
    pub fee: u64,
    amounts: &'a [u8],
    commitments: &'a [u8],
}

/// The amount of an output as it stands on the chain, hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncryptedAmount {
    /// Mask and amount, each a scalar: kinds up to [`RctKind::Bulletproof`].
    Long {
        /// The mask of the commitment.
        mask: [u8; 32],
        /// The amount.
        amount: [u8; 32],
    },
    /// The amount alone: kinds from [`RctKind::Bulletproof2`] on.
    Short([u8; 8]),
}

impl<'a> Rct<'a> {
    /// Reads what follows the kind.
    pub(super) fn read(
        reader: &mut ByteReader<'a>,
        kind: RctKind,
        inputs: usize,
        outputs: usize,
    ) -> Result<Rct<'a>, DecodeError> {
        let fee = varint::read(reader)?;
        if kind == RctKind::Simple {
            // Commitments of the inputs; later kinds have them among their proofs.
            reader.take(inputs.saturating_mul(32))?;
        }
        let each = if kind.has_short_amounts() { 8 } else { 64 };
        let amounts = reader.take(outputs.saturating_mul(each))?;
        let commitments = reader.take(outputs.saturating_mul(32))?;
        Ok(Rct { kind, fee, amounts, commitments })
    }

    /// The hidden amount of an output; `None` past the last.
    pub fn amount(&self, index: usize) -> Option<EncryptedAmount> {
        if self.kind.has_short_amounts() {
            return self.amounts.as_chunks().0.get(index).copied().map(EncryptedAmount::Short);
        }
        let [mask, amount] = self.amounts.as_chunks().0.as_chunks().0.get(index)?;
        Some(EncryptedAmount::Long { mask: *mask, amount: *amount })
    }

    /// The commitment to the amount of an output; `None` past the last.
    pub fn commitment(&self, index: usize) -> Option<Key> {
        self.commitments.as_chunks().0.get(index).copied().map(Key)
    }
}
