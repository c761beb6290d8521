//! What rows add up to, in parts, so that an audit keeps none of them in memory.
//!
//! Leaves which rows there are, and which part a row is in, to each family's audit. Invariant: the
//! same rows have the same sums whatever their order; other rows have others, but for a chance of 1
//! in 2^100 or so, because the hashes are keyed by a secret of the run.

use std::collections::BTreeSet;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher24};

use crate::IndexError;

/// So many parts there are of what is told apart by 12 bits of a key.
pub(crate) const BUCKETS: usize = 4096;

/// The first 12 bits of a key.
pub(crate) fn bucket(key: &[u8]) -> usize {
    match key {
        [first, second, ..] => usize::from(*first) << 4 | usize::from(*second) >> 4,
        _ => 0,
    }
}

/// Sums of all parts; a part may have several.
pub(crate) struct Sums<P = u128> {
    secret: [u8; 16],
    parts: Vec<P>,
}

impl<P: Clone + Default + PartialEq> Sums<P> {
    /// Nothing yet, in so many parts, with a new secret.
    pub(crate) fn draw(parts: usize) -> Result<Sums<P>, IndexError> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).map_err(IndexError::failed)?;
        Ok(Sums { secret, parts: vec![P::default(); parts] })
    }

    /// Nothing yet, with the same secret.
    pub(crate) fn empty(&self) -> Sums<P> {
        Sums { secret: self.secret, parts: vec![P::default(); self.parts.len()] }
    }

    /// The parts in which two differ.
    pub(crate) fn differing(&self, other: &Sums<P>) -> BTreeSet<usize> {
        let pairs = self.parts.iter().zip(&other.parts).enumerate();
        pairs.filter(|(_, (one, other))| one != other).map(|(part, _)| part).collect()
    }

    /// A hash of pieces of bytes.
    pub(crate) fn hash(&self, pieces: &[&[u8]]) -> u128 {
        let mut hasher = SipHasher24::new_with_key(&self.secret);
        for piece in pieces {
            hasher.write_usize(piece.len());
            hasher.write(piece);
        }
        hasher.finish128().as_u128()
    }

    /// A part, to be added to.
    pub(crate) fn part(&mut self, part: usize) -> &mut P {
        &mut self.parts[part]
    }
}

impl Sums {
    /// Adds a row to a part.
    pub(crate) fn add(&mut self, part: usize, pieces: &[&[u8]]) {
        let hash = self.hash(pieces);
        let sum = self.part(part);
        *sum = sum.wrapping_add(hash);
    }
}
