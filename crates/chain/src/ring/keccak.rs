//! Keccak-256, the one hash of this family, of several parts in a row.

use sha3::{Digest, Keccak256};

/// Keccak-256 of the parts, one after the other.
pub(super) fn keccak(parts: &[&[u8]]) -> [u8; 32] {
    let mut state = Keccak256::new();
    for part in parts {
        state.update(part);
    }
    state.finalize().into()
}
