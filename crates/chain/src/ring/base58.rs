//! Base58 in blocks of 8 bytes, each 11 digits, the last one shorter.
//!
//! Source: monero, src/common/base58.cpp. Invariant: a text is read only if it is the one that its
//! bytes are written as.

const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// Bytes of a full block, and its digits.
const BLOCK: (usize, usize) = (8, 11);

/// How many digits so many bytes take.
const DIGITS: [usize; BLOCK.0 + 1] = [0, 2, 3, 5, 6, 7, 9, 10, 11];

/// The bytes of a text; `None` where it is none that bytes are written as.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    for digits in text.as_bytes().chunks(BLOCK.1) {
        let size = DIGITS.iter().position(|count| *count == digits.len())?;
        let mut value = 0_u128;
        for digit in digits {
            let place = ALPHABET.iter().position(|letter| letter == digit)?;
            // 58^11 < 2^65.
            value = value * 58 + place as u128;
        }
        if value >> (8 * size) != 0 {
            return None;
        }
        bytes.extend(&value.to_be_bytes()[16 - size..]);
    }
    Some(bytes)
}

/// The text of bytes.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::new();
    for block in bytes.chunks(BLOCK.0) {
        let mut value = block.iter().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
        let mut digits = [b'1'; BLOCK.1];
        let digits = &mut digits[..DIGITS[block.len()]];
        for digit in digits.iter_mut().rev() {
            *digit = ALPHABET[(value % 58) as usize];
            value /= 58;
        }
        text.extend(digits.iter().map(|digit| char::from(*digit)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_any_length_come_back() {
        for length in 0..40 {
            for fill in [0, 1, 0xff] {
                let bytes = vec![fill; length];
                assert_eq!(decode(&encode(&bytes)), Some(bytes));
            }
        }
        assert_eq!(encode(&[0; 8]), "11111111111");
        // One digit, four, and eight stand for no bytes; too large for a block; no digits.
        for bad in ["1", "1111", "11111111", "zzzzzzzzzzz", "5R", "0O", "lI", "é1"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
