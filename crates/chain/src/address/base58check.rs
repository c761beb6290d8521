//! Base58Check: a version of one or two bytes, a hash, and the first four bytes of a double hash of
//! both.
//!
//! What the version and the hash stand for is left to the callers. Source: Bitcoin Core,
//! src/base58.cpp.

use crate::Hash32;

const SUM_BYTES: usize = 4;
/// The most bytes that are read: a version of two, 64 of an address of Sprout.
const MOST_BYTES: usize = 2 + 64 + SUM_BYTES;
/// The most bytes that are written: a version of two, a hash of 20.
const MOST_WRITTEN: usize = 2 + 20 + SUM_BYTES;

const DIGITS: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// So many digits make a group, whose value fits into 30 bits.
const GROUP_DIGITS: usize = 5;
const GROUP: u64 = 58u64.pow(GROUP_DIGITS as u32);
/// What is written is read as so many numbers of 32 bits, and becomes so many groups.
const LIMBS: usize = MOST_WRITTEN.div_ceil(4);
const GROUPS: usize = 8;
/// The groups of what the limb at each place stands for, the highest first.
const PLACES: [[u64; GROUPS]; LIMBS] = places();

const fn places() -> [[u64; GROUPS]; LIMBS] {
    let mut places = [[0; GROUPS]; LIMBS];
    places[LIMBS - 1][GROUPS - 1] = 1;
    let mut place = LIMBS - 1;
    while place > 0 {
        let (mut group, mut carry) = (GROUPS, 0);
        while group > 0 {
            group -= 1;
            let value = (places[place][group] << 32) + carry;
            places[place - 1][group] = value % GROUP;
            carry = value / GROUP;
        }
        place -= 1;
    }
    places
}

/// Which hash is taken twice for the sum.
#[derive(Clone, Copy)]
pub(super) enum Sum {
    Sha256,
    Blake256,
}

impl Sum {
    fn of(self, payload: &[u8]) -> [u8; SUM_BYTES] {
        let twice = match self {
            Sum::Sha256 => Hash32::sha256d(&[payload]),
            Sum::Blake256 => Hash32::blake256(&[Hash32::blake256(&[payload]).wire()]),
        };
        let [a, b, c, d, ..] = *twice.wire();
        [a, b, c, d]
    }
}

/// The text of a version and a hash.
pub(super) fn encode(version: &[u8], hash: &[u8; 20], sum: Sum) -> String {
    let mut bytes = [0; MOST_WRITTEN];
    let (start, end) = (version.len(), version.len() + hash.len());
    bytes[..start].copy_from_slice(version);
    bytes[start..end].copy_from_slice(hash);
    let sum = sum.of(&bytes[..end]);
    bytes[end..end + SUM_BYTES].copy_from_slice(&sum);
    base58(&bytes[..end + SUM_BYTES])
}

/// The digits of up to [`MOST_WRITTEN`] bytes: a page shows a hundred addresses, and digit by digit
/// they took a third of its time. What the limbs stand for is added up group by group, so that only
/// the sums are divided. A leading byte of zero is a leading digit 1.
fn base58(bytes: &[u8]) -> String {
    let mut padded = [0; 4 * LIMBS];
    padded[4 * LIMBS - bytes.len()..].copy_from_slice(bytes);
    let mut groups = [0u64; GROUPS];
    // The first limb has 16 bits, so a sum is below 6 * 2^32 * 58^5 + 2^47, which is below 2^64.
    for (limb, place) in padded.as_chunks().0.iter().zip(&PLACES) {
        let limb = u64::from(u32::from_be_bytes(*limb));
        for (group, value) in groups.iter_mut().zip(place) {
            *group += limb * value;
        }
    }
    let mut text = [DIGITS[0]; GROUPS * GROUP_DIGITS];
    let mut carry = 0;
    for (group, digits) in groups.iter().zip(text.as_chunks_mut::<GROUP_DIGITS>().0).rev() {
        let value = group + carry;
        carry = value / GROUP;
        let mut rest = (value % GROUP) as u32;
        for digit in digits.iter_mut().rev() {
            *digit = DIGITS[(rest % 58) as usize];
            rest /= 58;
        }
    }
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let unused = text.iter().take_while(|digit| **digit == DIGITS[0]).count();
    // A byte has more than one digit, so that there is always a digit left for a byte of zero.
    str::from_utf8(&text[unused - zeros..]).expect("the digits are ASCII").to_owned()
}

/// Version and hash of a text, and whether its sum is right.
pub(super) fn unchecked(text: &str, sum: Sum) -> Option<(Vec<u8>, bool)> {
    let mut bytes = [0; MOST_BYTES];
    let length = bs58::decode(text).onto(&mut bytes).ok()?.checked_sub(SUM_BYTES)?;
    let (payload, found) = bytes.split_at(length);
    Some((payload.to_vec(), found.get(..SUM_BYTES)? == sum.of(payload)))
}

/// Version and hash of a text whose sum is right.
pub(super) struct Payload {
    bytes: [u8; MOST_BYTES],
    length: usize,
}

impl Payload {
    /// Reads a text of at most 66 bytes of version and hash.
    pub(super) fn of(text: &str, sum: Sum) -> Option<Payload> {
        let mut bytes = [0; MOST_BYTES];
        let length = bs58::decode(text).onto(&mut bytes).ok()?.checked_sub(SUM_BYTES)?;
        let (payload, found) = bytes.split_at(length);
        (found.get(..SUM_BYTES)? == sum.of(payload)).then_some(Payload { bytes, length })
    }

    /// What stands behind a version of `N` bytes, and the version.
    pub(super) fn split<const N: usize>(&self) -> Option<([u8; N], &[u8])> {
        let (version, hash) = self.bytes[..self.length].split_first_chunk()?;
        Some((*version, hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_field() {
        for length in [0, 1, 25, MOST_WRITTEN] {
            let mut bytes = vec![0; length];
            assert_eq!(base58(&bytes), "1".repeat(length));
            assert_eq!(base58(&vec![0xff; length]), bs58::encode(vec![0xff; length]).into_string());
            for round in 0..2000u32 {
                let hash = Hash32::sha256d(&[&round.to_be_bytes()]);
                bytes.copy_from_slice(&hash.wire()[..length]);
                bytes[..round as usize % (length + 1)].fill(0);
                assert_eq!(base58(&bytes), bs58::encode(&bytes).into_string());
            }
        }
    }
}
