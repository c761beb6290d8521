//! Points of the curve, as nodes and wallets read them.
//!
//! Source: monero, src/crypto/crypto-ops.c, `ge_frombytes_vartime`: points of small order are
//! points, other forms of a coordinate than its own are not.

use curve25519_dalek::EdwardsPoint;
use curve25519_dalek::edwards::CompressedEdwardsY;

use super::bytes32::Key;

/// The point that a key is; `None` where it is none, or not written in the one form.
pub(super) fn point(key: &Key) -> Option<EdwardsPoint> {
    let compressed = CompressedEdwardsY(key.0);
    // The library also reads coordinates above the field's prime and a negative zero.
    compressed.decompress().filter(|point| point.compress() == compressed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_one_form_of_a_point_is_read() {
        let is_point = |key: [u8; 32]| point(&Key(key)).is_some();
        let low = |byte: u8| {
            let mut key = [0; 32];
            key[0] = byte;
            key
        };
        // The neutral point, and one of order four.
        assert!(is_point(low(1)) && is_point([0; 32]));
        // y = 2 is on no point.
        assert!(!is_point(low(2)));
        // The neutral point again: with the sign of a zero, and with y = p + 1.
        let mut negative_zero = low(1);
        negative_zero[31] = 0x80;
        let mut above_prime = [0xff; 32];
        (above_prime[0], above_prime[31]) = (0xee, 0x7f);
        assert!(!is_point(negative_zero) && !is_point(above_prime));
    }
}
