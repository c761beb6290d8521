//! Keccak-256, the hash of this family: SHA-3 as it was before its padding was standardised.

use sha3::{Digest, Keccak256};

/// Keccak-256 of bytes.
pub fn keccak256(bytes: &[u8]) -> [u8; 32] {
    Keccak256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_and_an_event_have_their_known_hashes() {
        let hex = |bytes: [u8; 32]| const_hex::encode(bytes);
        assert!(hex(keccak256(b"")).starts_with("c5d2460186f7233c927e7db2dcc703c0"));
        let event = keccak256(b"Transfer(address,address,uint256)");
        assert!(hex(event).starts_with("ddf252ad1be2c89b69c2b068fc378daa"));
    }
}
