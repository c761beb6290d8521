//! The hidden amount of an output, held against its commitment.
//!
//! Source: monero, src/ringct/rctOps.cpp, `ecdhDecode`, `genCommitmentMask`.

use std::sync::LazyLock;

use curve25519_dalek::{EdwardsPoint, Scalar};
use zeroize::Zeroizing;

use super::derivation::hash_to_scalar;
use crate::ring::bytes32::Key;
use crate::ring::keccak::keccak;
use crate::ring::point::point;
use crate::ring::rct::{EncryptedAmount, Rct};

/// The generator of amounts. Source: monero, src/ringct/rctTypes.h, `H`.
const GENERATOR: Key = Key([
    0x8b, 0x65, 0x59, 0x70, 0x15, 0x37, 0x99, 0xaf, 0x2a, 0xea, 0xdc, 0x9f, 0xf1, 0xad, 0xd0, 0xea,
    0x6c, 0x72, 0x51, 0xd5, 0x41, 0x54, 0xcf, 0xa9, 0x2c, 0x17, 0x3a, 0x0d, 0xd3, 0x9c, 0x1f, 0x94,
]);

static OF_AMOUNTS: LazyLock<EdwardsPoint> =
    LazyLock::new(|| point(&GENERATOR).expect("a test opens commitments with it"));

/// The amount of an output by its scalar; `None` where it does not open the commitment.
pub(super) fn open(rct: &Rct<'_>, index: usize, shared: &Scalar) -> Option<u64> {
    let commitment = point(&rct.commitment(index)?)?;
    let (mask, amount) = match rct.amount(index)? {
        EncryptedAmount::Short(hidden) => {
            let pad = Zeroizing::new(keccak(&[b"amount", shared.as_bytes()]));
            let pad = pad.first_chunk().expect("a hash has 32 bytes");
            let amount = u64::from_le_bytes(hidden) ^ u64::from_le_bytes(*pad);
            (hash_to_scalar(&[b"commitment_mask", shared.as_bytes()]), amount)
        }
        EncryptedAmount::Long { mask, amount } => {
            let of_mask = hash_to_scalar(&[shared.as_bytes()]);
            let of_amount = hash_to_scalar(&[of_mask.as_bytes()]);
            // What stands there may be no canonical scalar; the node reduces it as well.
            let mask = Zeroizing::new(Scalar::from_bytes_mod_order(mask) - *of_mask);
            let amount = Scalar::from_bytes_mod_order(amount) - *of_amount;
            let low = amount.as_bytes().first_chunk().expect("a scalar has 32 bytes");
            (mask, u64::from_le_bytes(*low))
        }
    };
    let opened = EdwardsPoint::mul_base(&mask) + Scalar::from(amount) * *OF_AMOUNTS;
    (opened == commitment).then_some(amount)
}
