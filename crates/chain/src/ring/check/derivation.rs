//! What sender and receiver of a transaction share, and the one-time keys that it leads to.
//!
//! Source: monero, src/crypto/crypto.cpp, `generate_key_derivation`, `derivation_to_scalar`,
//! `derive_view_tag`, `derive_public_key`.

use curve25519_dalek::{EdwardsPoint, Scalar};
use zeroize::{Zeroize, Zeroizing};

use crate::ring::keccak::keccak;
use crate::ring::transaction::Output;
use crate::ring::varint;

/// The point that sender and receiver share.
pub(super) struct Derivation(Zeroizing<[u8; 32]>);

impl Derivation {
    /// Eight times the product: with a view key and a public key of the transaction, or with a
    /// transaction key and a public view key.
    pub(super) fn new(secret: &Scalar, public: &EdwardsPoint) -> Derivation {
        let mut product = secret * public;
        let mut shared = product.mul_by_cofactor();
        let bytes = Zeroizing::new(shared.compress().0);
        product.zeroize();
        shared.zeroize();
        Derivation(bytes)
    }

    /// The scalar of the output, if that belongs to whoever has this spend key.
    pub(super) fn opens(
        &self,
        index: usize,
        output: &Output,
        spend: &EdwardsPoint,
    ) -> Option<Zeroizing<Scalar>> {
        let place = varint::bytes(index as u64);
        if let Some(tag) = output.view_tag {
            let tags = Zeroizing::new(keccak(&[b"view_tag", &*self.0, &place]));
            if tags[0] != tag {
                return None;
            }
        }
        let scalar = hash_to_scalar(&[&*self.0, &place]);
        let key = EdwardsPoint::mul_base(&scalar) + spend;
        (key.compress().0 == output.key.0).then_some(scalar)
    }
}

/// Keccak-256 of the parts as a number below the order of the group.
pub(super) fn hash_to_scalar(parts: &[&[u8]]) -> Zeroizing<Scalar> {
    let hash = Zeroizing::new(keccak(parts));
    Zeroizing::new(Scalar::from_bytes_mod_order(*hash))
}
